// Loops that lanes leave at many places, locks between lanes, numbered barriers.
#include "ref.h"
#ifdef __CUDACC__
// warp-specialised with raw mbarriers, consumers leave early; barriers by number; nested divergence around
// __syncwarp
__device__ __forceinline__ void bsync(int id, int n) {
  asm volatile("bar.sync %0,%1;" ::"r"(id), "r"(n) : "memory");
}
__device__ __forceinline__ void barrive(int id, int n) {
  asm volatile("bar.arrive %0,%1;" ::"r"(id), "r"(n) : "memory");
}
extern "C" __global__ void named(int *out) {
  __shared__ int buf[2][32];
  int w = threadIdx.x / 32, l = threadIdx.x % 32;
  if (w == 0) {
    for (int i = 0; i < 6; i++) {
      bsync(2 + i % 2, 64);
      buf[i % 2][l] = i * 100 + l;
      __threadfence_block();
      barrive(4 + i % 2, 64);
    }
  } else {
    int s = 0;
    barrive(2, 64);
    barrive(3, 64);
    for (int i = 0; i < 6; i++) {
      bsync(4 + i % 2, 64);
      s += buf[i % 2][31 - l];
      if (i < 4)
        barrive(2 + i % 2, 64);
    }
    out[l] = s;
  }
}
extern "C" __global__ void diverge(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  int r = 0;
  for (int i = 0; i < t % 6; i++) {
    if ((t + i) % 4 == 0)
      continue;
    for (int j = 0; j < 10; j++) {
      r += i * j;
      if (r > 40 + t)
        goto done;
      if (r % 7 == 3)
        break;
    }
    if (r % 5 == 4) {
      r += 100;
      break;
    }
    switch (r % 3) {
    case 0:
      r += 1;
    case 1:
      r += 2;
      break;
    default:
      if (t & 1)
        return;
    }
  }
done:
  __syncwarp(__activemask());
  out[t] = r;
}
__device__ NOINL int rec(int n, int *trail, int d) {
  if (n <= 1)
    return d;
  trail[d & 7] += n;
  return rec(n & 1 ? 3 * n + 1 : n / 2, trail, d + 1);
}
extern "C" __global__ void deep(int *out) {
  int trail[8] = {};
  int d = rec(threadIdx.x + 1, trail, 0);
  int s = d;
  for (int i = 0; i < 8; i++)
    s = s * 3 + trail[i];
  out[threadIdx.x] = s;
}
extern "C" __global__ void lanelock(int *out) {
  __shared__ int lock, cnt;
  if (threadIdx.x == 0)
    lock = cnt = 0;
  __syncthreads();
  bool go = true;
  while (go) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      (*(volatile int *)&cnt) += threadIdx.x;
      __threadfence_block();
      atomicExch(&lock, 0);
      go = false;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    *out = cnt;
  // lanes wait for another lane of their warp
  __shared__ volatile int flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncthreads();
  if (threadIdx.x == 31) {
    flag = 1;
  } else if (threadIdx.x < 31) {
    while (flag == 0)
      ;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    out[1] = flag;
  // ticket lock
  __shared__ int next, serving, acc;
  if (threadIdx.x == 0)
    next = serving = acc = 0;
  __syncthreads();
  int my = atomicAdd(&next, 1);
  while (*(volatile int *)&serving != my)
    ;
  __threadfence_block();
  acc = acc * 1 + my;
  __threadfence_block();
  atomicAdd(&serving, 1);
  __syncthreads();
  if (threadIdx.x == 0)
    out[2] = acc;
}
extern "C" __global__ void guarded(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  __shared__ int s[32];
  out[i] = in[i] >= 0 ? in[i] * 2 : -in[i];
  while (in[i] > 0 && out[i] < 1000)
    out[i] += in[i];
}
#endif
#ifdef REF
static int rec(int n, int *trail, int d) {
  if (n <= 1)
    return d;
  trail[d & 7] += n;
  return rec(n & 1 ? 3 * n + 1 : n / 2, trail, d + 1);
}
int main() {
  vector<int> o(32);
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 6; i++)
      o[l] += i * 100 + 31 - l;
  launch("named", "block=64");
  args(0, "s32[32] fill 0");
  expect(0, o);
  o.assign(64, -1);
  for (int t = 0; t < 64; t++) {
    int r = 0;
    bool ret = false;
    for (int i = 0; i < t % 6; i++) {
      if ((t + i) % 4 == 0)
        continue;
      for (int j = 0; j < 10; j++) {
        r += i * j;
        if (r > 40 + t)
          goto done;
        if (r % 7 == 3)
          break;
      }
      if (r % 5 == 4) {
        r += 100;
        break;
      }
      switch (r % 3) {
      case 0:
        r += 1;
      case 1:
        r += 2;
        break;
      default:
        if (t & 1) {
          ret = true;
          goto done;
        }
      }
    }
  done:
    if (!ret)
      o[t] = r;
  }
  launch("diverge", "block=64");
  args(0, "s32[64] fill -1");
  expect(0, o);
  o.clear();
  for (int t = 0; t < 64; t++) {
    int tr[8] = {};
    int d = rec(t + 1, tr, 0), s = d;
    for (int i = 0; i < 8; i++)
      s = s * 3 + tr[i];
    o.push_back(s);
  }
  launch("deep", "block=64");
  args(0, "s32[64] fill 0");
  expect(0, o);
  launch("lanelock", "block=64");
  args(0, "s32[3] fill 0");
  expect(0, vector<int>{2016, 1, 2016});
  vector<int> in(100), g(128, 0);
  for (int i = 0; i < 100; i++) {
    in[i] = (int)(mix(i) % 300) - 100;
    int v = in[i] >= 0 ? in[i] * 2 : -in[i];
    while (in[i] > 0 && v < 1000)
      v += in[i];
    g[i] = v;
  }
  launch("guarded", "grid=4 block=32");
  arg(0, in);
  args(1, "s32[128] fill 0");
  args(2, "s32 100");
  expect(1, g);
}
#endif
