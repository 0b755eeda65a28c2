// Generic addresses into every space, assertions, clocks.
#include "ref.h"
#ifdef __CUDACC__
__device__ int gv[32];
__constant__ int cv[4] = {5, 6, 7, 8};
__device__ NOINL int kind(const void *p) {
  return (__isGlobal(p) ? 1 : 0) + (__isShared(p) ? 2 : 0) + (__isLocal(p) ? 4 : 0) +
         (__isConstant(p) ? 8 : 0) + (__isGridConstant(p) ? 16 : 0);
}
__device__ NOINL int sum(const int *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += p[i];
  return s;
}
struct Par {
  int a[4];
};
extern "C" __global__ void __launch_bounds__(64, 2)
    spaces(int *out, const int4 *__restrict__ in, const __grid_constant__ Par par) {
  __shared__ int sv[32];
  int lv[8];
  int t = threadIdx.x;
  for (int i = 0; i < 8; i++)
    lv[i] = t * i;
  if (t < 32) {
    sv[t] = t * t;
    gv[t] = t + 1;
  }
  __syncthreads();
  const int *ps[5] = {gv, sv, lv, cv, par.a};
  const int *p = ps[t % 5];
  int4 v = __ldg(in + t);
  int4 w = __ldcs(in + (t ^ 1));
  out[t] = kind(p) * 1000 + sum(p, 4) + v.x + v.y * 2 + w.z + w.w;
  short4 s4 = ((const short4 *)in)[t];
  out[64 + t] = s4.x + s4.y * 3 + s4.w;
  *(volatile int *)&lv[t & 7] = 9;
  out[128 + t] = sum(lv, 8);
}
#include <cassert>
extern "C" __global__ void asserts(int *out, int bad) {
  int t = threadIdx.x;
  assert(t < 64);
  assert(t != bad && "the bad one");
  out[t] = t;
}
extern "C" __global__ void timers(int *out) {
  long long a = clock64();
  u32 c = clock();
  __nanosleep(100);
  long long b = clock64();
  u64 g;
  asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(g));
  out[threadIdx.x] = (b > a) + (g > 0) * 2 + (clock() - c < 1000000) * 4;
  u32 sm;
  asm("mov.u32 %0,%%smid;" : "=r"(sm));
  if (sm > 1000)
    out[0] = 0;
}
#endif
#ifdef REF
int main() {
  launch("spaces", "block=64");
  vector<int> in(256), o(192);
  for (int i = 0; i < 256; i++)
    in[i] = mix(i) % 1000;
  for (int t = 0; t < 64; t++) {
    int k[5] = {1000, 2000, 4000, 8000, 16000}, s = 0;
    for (int i = 0; i < 4; i++) {
      int q[5] = {i + 1, i * i, t * i, 5 + i, i * 11};
      s += q[t % 5];
    }
    o[t] = k[t % 5] + s + in[4 * t] + in[4 * t + 1] * 2 + in[4 * (t ^ 1) + 2] + in[4 * (t ^ 1) + 3];
    const short *h = (const short *)in.data() + 4 * t;
    o[64 + t] = h[0] + h[1] * 3 + h[3];
    int z = 0;
    for (int i = 0; i < 8; i++)
      z += i == (t & 7) ? 9 : t * i;
    o[128 + t] = z;
  }
  args(0, "s32[192] fill 0");
  arg(1, in);
  arg(2, vector<int>{0, 11, 22, 33});
  expect(0, o);
  launch("asserts", "block=64");
  args(0, "s32[64] fill 0");
  args(1, "s32 100");
  expect(0, [] {
    vector<int> v(64);
    iota(v.begin(), v.end(), 0);
    return v;
  }());
  launch("timers", "block=64");
  args(0, "s32[64] fill 0");
  expect(0, vector<int>(64, 7));
}
#endif
