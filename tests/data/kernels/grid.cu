// Blocks that wait for each other: a barrier of the grid, locks, a scan with look-back.
#include "ref.h"
#ifdef __CUDACC__
// A barrier of the grid: the last one turns the sense.
__device__ unsigned arrived;
__device__ volatile unsigned sense;
__device__ void gsync(unsigned n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned s = sense;
    __threadfence();
    if (atomicAdd(&arrived, 1) == n - 1) {
      arrived = 0;
      __threadfence();
      sense = s + 1;
    } else
      while (sense == s)
        __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void gridsync(u32 *a, u32 *b, int steps) {
  u32 n = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < steps; i++) {
    u32 l = __ldcg(a + (t + n - 1) % n), r = __ldcg(a + (t + 1) % n);
    __stcg(b + t, l * 3 + r + i);
    gsync(gridDim.x);
    u32 *x = a;
    a = b;
    b = x;
  }
}
__device__ int lock;
extern "C" __global__ void spin(u32 *c, u32 *order) {
  for (int lane = 0; lane < 32; lane++)
    if (lane == (threadIdx.x & 31)) {
      while (atomicCAS(&lock, 0, 1) != 0)
        ;
      __threadfence();
      u32 k = *(volatile u32 *)c;
      *(volatile u32 *)c = k + 1;
      order[k] = 1;
      __threadfence();
      atomicExch(&lock, 0);
    }
}
extern "C" __global__ void spin2(u32 *c) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *(volatile u32 *)c = *(volatile u32 *)c + threadIdx.x;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
// Each block adds up what those before it have published.
__device__ u64 state[8];
extern "C" __global__ void lookback(const u32 *in, u32 *out) {
  __shared__ u32 s[64];
  __shared__ u32 pre;
  u32 t = threadIdx.x, bid = blockIdx.x;
  s[t] = in[bid * 64 + t];
  __syncthreads();
  for (int o = 1; o < 64; o <<= 1) {
    u32 x = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += x;
    __syncthreads();
  }
  if (t == 0) {
    u64 agg = s[63];
    u32 p = 0;
    if (bid == 0)
      atomicExch((unsigned long long *)&state[0], agg << 2 | 2);
    else {
      atomicExch((unsigned long long *)&state[bid], agg << 2 | 1);
      int k = bid - 1;
      for (;;) {
        u64 v = *(volatile u64 *)&state[k];
        if ((v & 3) == 0)
          continue;
        p += v >> 2;
        if ((v & 3) == 2)
          break;
        k--;
      }
      atomicExch((unsigned long long *)&state[bid], (agg + p) << 2 | 2);
    }
    pre = p;
  }
  __syncthreads();
  out[bid * 64 + t] = s[t] + pre;
}
extern "C" __global__ void lastblock(const u32 *in, u32 *part, u32 *out, u32 *ctr) {
  __shared__ u32 s[64];
  __shared__ bool last;
  u32 t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int o = 32; o; o >>= 1) {
    if (t < o)
      s[t] += s[t + o];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(ctr, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    u32 r = 0;
    for (int i = 0; i < gridDim.x; i++)
      r += ((volatile u32 *)part)[i];
    *out = r;
  }
}
#endif
#ifdef REF
int main() {
  launch("gridsync", "grid=4 block=40");
  args(0, "u32[160] iota*1");
  args(1, "u32[160] fill 0");
  args(2, "s32 4");
  vector<u32> a(160), b(160);
  iota(a.begin(), a.end(), 0u);
  for (int i = 0; i < 4; i++) {
    for (int t = 0; t < 160; t++)
      b[t] = a[(t + 159) % 160] * 3 + a[(t + 1) % 160] + i;
    swap(a, b);
  }
  expect(0, a);
  launch("spin", "grid=2 block=64");
  args(0, "u32[1] fill 0");
  args(1, "u32[128] fill 0");
  expect(0, vector<u32>{128});
  expect(1, vector<u32>(128, 1));
  launch("spin2", "grid=2 block=48");
  args(0, "u32[1] fill 0");
  expect(0, vector<u32>{2 * 47 * 48 / 2});
  vector<u32> in(512), o(512);
  u32 s = 0;
  for (int i = 0; i < 512; i++) {
    in[i] = mix(i) % 100;
    s += in[i];
    o[i] = s;
  }
  launch("lookback", "grid=8 block=64");
  arg(0, in);
  args(1, "u32[512] fill 0");
  expect(1, o);
  launch("lastblock", "grid=8 block=64");
  arg(0, in);
  args(1, "u32[8] fill 0");
  args(2, "u32[1] fill 0");
  args(3, "u32[1] fill 0");
  expect(2, vector<u32>{s});
  expect(3, vector<u32>{0});
}
#endif
