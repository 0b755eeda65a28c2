// Atomics of all kinds and types.
#include "ref.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__device__ float casAdd(float *p, float v) {
  int *q = (int *)p;
  int old = *q, as;
  do {
    as = old;
    old = atomicCAS(q, as, __float_as_int(v + __int_as_float(as)));
  } while (as != old);
  return __int_as_float(old);
}
__device__ void casMax8(u8 *p, u8 v) {
  u32 *w = (u32 *)((size_t)p & ~3ull);
  int sh = ((size_t)p & 3) * 8;
  u32 old = *w;
  for (;;) {
    u8 c = old >> sh;
    if (c >= v)
      return;
    u32 nw = (old & ~(255u << sh)) | ((u32)v << sh);
    u32 r = atomicCAS(w, old, nw);
    if (r == old)
      return;
    old = r;
  }
}
// o32: results; each exact whatever the order
extern "C" __global__ void atomics(u32 *o, u64 *p, double *d, float *f, u32 *h, u8 *b, u32 *ticket) {
  u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ u32 s[8];
  __shared__ u64 s64;
  __shared__ double sd;
  if (threadIdx.x < 8)
    s[threadIdx.x] = threadIdx.x == 2 ? ~0u : 0;
  if (threadIdx.x == 0) {
    s64 = 0;
    sd = 0;
  }
  __syncthreads();
  atomicAdd(o, t);
  atomicSub(o + 1, t);
  atomicMin(o + 2, mix(t));
  atomicMax(o + 3, mix(t));
  atomicMin((int *)o + 4, (int)mix(t));
  atomicMax((int *)o + 5, (int)mix(t));
  atomicAnd(o + 6, ~(1u << (t & 15)));
  atomicOr(o + 7, 1u << (t % 21));
  atomicXor(o + 8, mix(t));
  u32 i = atomicInc(o + 9, 49);
  ticket[64 + i] = 1;
  atomicDec(o + 10, 99);
  atomicAdd((unsigned long long *)p, (u64)t << 33);
  atomicMin((long long *)p + 1, -(long long)t * (1ll << 40));
  atomicMax((unsigned long long *)p + 2, (u64)mix(t) << 16);
  atomicXor((unsigned long long *)p + 3, (u64)mix(t) * 3);
  atomicAnd((unsigned long long *)p + 4, ~(1ull << (t & 63)));
  atomicOr((unsigned long long *)p + 5, 1ull << (t % 50));
  atomicAdd(d, t * 0.5);
  atomicAdd(f, (float)t);
  casAdd(f + 1, (float)t);
  atomicAdd((__half2 *)h, __floats2half2_rn(1, -1));
  atomicAdd((__nv_bfloat162 *)(h + 1), __floats2bfloat162_rn(0, 1));
  atomicAdd((__half *)(h + 2), __float2half(2.f));
  casMax8(b + t % 5, (u8)mix(t));
  atomicAdd(&s[0], 1u);
  atomicMax(&s[1], t);
  atomicMin(&s[2], t);
  atomicXor(&s[3], t);
  atomicInc(&s[4], 6);
  atomicAdd((unsigned long long *)&s64, (u64)t);
  atomicAdd(&sd, 0.25);
  atomicAdd_block(&s[5], 2u);
  atomicCAS(&s[6], 0u, 5u);
  u32 e = atomicExch(&s[7], 1u);
  if (!e)
    atomicAdd(o + 11, 1u);
  atomicAdd(o + 12, 3u);
  atomicMax(o + 13, mix(t));
  u32 my = atomicAdd(ticket + 62, 1u);
  atomicAdd_system(ticket + 63, my);
  __syncthreads();
  if (threadIdx.x < 8)
    o[16 + blockIdx.x * 12 + threadIdx.x] = s[threadIdx.x];
  if (threadIdx.x == 0) {
    o[16 + blockIdx.x * 12 + 8] = (u32)s64;
    o[16 + blockIdx.x * 12 + 9] = (u32)(sd * 4);
  }
}
#endif
#ifdef REF
int main() {
  const int B = 3, T = 64, N = B * T;
  launch("atomics", "grid=3 block=64");
  vector<u32> o(16 + 12 * B, 0), oi;
  o[2] = ~0u;
  o[4] = 0x7fffffff;
  o[5] = 0x80000000u;
  o[6] = ~0u;
  oi = o;
  arg(0, o);
  vector<u64> p(6, 0);
  p[1] = 0;
  p[4] = ~0ull;
  arg(1, p);
  args(2, "f64[1] fill 0");
  args(3, "f32[2] fill 0");
  args(4, "u32[3] fill 0");
  args(5, "u8[8] fill 0");
  args(6, "u32[128] fill 0");
  vector<u8> b(8, 0);
  double d = 0;
  float f = 0;
  vector<u32> tk(128, 0);
  for (u32 t = 0; t < N; t++) {
    u32 m = mix(t);
    o[0] += t;
    o[1] -= t;
    o[2] = min(o[2], m);
    o[3] = max(o[3], m);
    o[4] = min((int)o[4], (int)m);
    o[5] = max((int)o[5], (int)m);
    o[6] &= ~(1u << (t & 15));
    o[7] |= 1u << (t % 21);
    o[8] ^= m;
    tk[64 + o[9]] = 1;
    o[9] = o[9] >= 49 ? 0 : o[9] + 1;
    o[10] = (o[10] == 0 || o[10] > 99) ? 99 : o[10] - 1;
    o[12] += 3;
    o[13] = max(o[13], m);
    p[0] += (u64)t << 33;
    p[1] = min((s64)p[1], (s64)(-(s64)t * (1ll << 40)));
    p[2] = max(p[2], (u64)(u64(m) << 16));
    p[3] ^= (u64)m * 3;
    p[4] &= ~(1ull << (t & 63));
    p[5] |= 1ull << (t % 50);
    d += t * 0.5;
    f += t;
    b[t % 5] = max(b[t % 5], (u8)m);
    tk[62]++;
    tk[63] += t;
  }
  o[11] = B;
  for (int k = 0; k < B; k++) {
    u32 *q = &o[16 + 12 * k];
    q[2] = ~0u;
    for (u32 t = k * T; t < (u32)(k + 1) * T; t++) {
      q[0]++;
      q[1] = max(q[1], t);
      q[2] = min(q[2], t);
      q[3] ^= t;
      q[4] = q[4] >= 6 ? 0 : q[4] + 1;
      q[8] += t;
      q[9]++;
    }
    q[5] = 2 * T;
    q[6] = 5;
    q[7] = 1;
  }
  expect(0, o);
  expect(1, p);
  expect(2, vector<double>{d});
  expect(3, vector<float>{f, f}); // half2 (192,-192) bf16 (0,192), half 384
  auto h = [](float x) -> u32 {
    int e;
    float m = frexp(fabs(x), &e);
    return x == 0 ? 0 : ((x < 0) << 15) | ((e - 1 + 15) << 10) | ((u32)(m * 2048) & 1023);
  };
  auto bf = [](float x) -> u32 {
    u32 u;
    memcpy(&u, &x, 4);
    return u >> 16;
  };
  expect(4, vector<u32>{h(192) | h(-192) << 16, 0u | bf(192) << 16, h(384)});
  expect(5, b);
  expect(6, tk);
}
#endif
