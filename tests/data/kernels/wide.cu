// Arithmetic with 64 and 128 bits.
#include "ref.h"
typedef unsigned __int128 u128;
typedef __int128 s128;
HD void body(u64 a, u64 b, u64 *o) {
  u128 p = (u128)a * b;
  s128 s = (s128)(s64)a * (s64)b;
  o[0] = (u64)(p >> 64);
  o[1] = (u64)p;
  o[2] = (u64)((u128)s >> 61);
  u128 q = p / (b | 1);
  o[3] = (u64)q + (u64)(q >> 64);
  o[4] = (u64)(p % (a | 3));
  s128 z = s / ((s64)b | 1);
  o[5] = (u64)z;
  o[6] = (s64)a / ((s64)b | 1) + (s64)a % ((s64)b | 1);
  o[7] = a / (b >> 33 | 1) + a % (b >> 20 | 5);
  int k = a & 127;
  o[8] = (u64)(p << k) + (u64)(p >> k) + (u64)(s >> k);
  o[9] = (p < (u128)s) + 2 * (s < 0) + 4 * ((u128)a * a > p);
  u128 d = p - (u128)b;
  o[10] = (u64)(d >> 64);
  d = p + ~(u128)0;
  o[11] = (u64)(d >> 64);
  o[12] = ((u64)(u32)a * (u32)b) + (s64)((s32)a) * (s32)b;
  o[13] =
#ifdef __CUDA_ARCH__
      __popcll(a) + __clzll(a) * 3;
#else
      __builtin_popcountll(a) + (a ? __builtin_clzll(a) : 64) * 3;
#endif
  o[14] = (u64)(double)(a >> 1);
  o[15] = (u64)(s64)(float)((s64)b >> 1);
}
#ifdef __CUDACC__
extern "C" __global__ void wide(u64 *out, const u64 *a, const u64 *b) {
  u32 t = threadIdx.x;
  body(a[t], b[t], out + 16 * t);
}
#endif
#ifdef REF
int main() {
  launch("wide", "block=64");
  args(0, "u64[1024] fill 0");
  vector<u64> a, b, e(1024);
  for (u32 t = 0; t < 64; t++) {
    a.push_back(((u64)mix(t) << 32 | mix(t + 1000)) >> (t % 40 + 1));
    b.push_back(((u64)mix(t + 77) << 32 | mix(t + 2000)) >> ((t * 7) % 50 + 1));
    if (t % 3 == 0)
      a[t] = -a[t];
    if (t % 5 == 0)
      b[t] = -b[t];
    body(a[t], b[t], &e[16 * t]);
  }
  arg(1, a);
  arg(2, b);
  expect(0, e);
}
#endif
