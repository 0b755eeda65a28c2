// Tensor cores and ldmatrix.
#include "ref.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
// m16n8k16 with ldmatrix from shared memory
extern "C" __global__ void mm16(const __half *a, const __half *b, float *c) {
  __shared__ alignas(16) __half A[16][24], B[16][8];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += 32)
    A[i / 16][i % 16] = a[i];
  for (int i = t; i < 128; i += 32)
    B[i / 8][i % 8] = b[i];
  __syncwarp();
  u32 fa[4], fb[2];
  u32 p = __cvta_generic_to_shared(&A[t % 16][(t / 16) * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
               : "r"(p));
  p = __cvta_generic_to_shared(&B[t % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];"
               : "=r"(fb[0]), "=r"(fb[1])
               : "r"(p));
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  int g = t / 4, q = t % 4 * 2;
  c[g * 8 + q] = d[0];
  c[g * 8 + q + 1] = d[1];
  c[(g + 8) * 8 + q] = d[2];
  c[(g + 8) * 8 + q + 1] = d[3];
}
extern "C" __global__ void mi8(const u32 *a, const u32 *b, int *c) {
  int t = threadIdx.x, g = t / 4, q = t % 4;
  int d[4] = {1, 2, 3, 4};
  u32 a0 = a[g * 8 + q], a1 = a[(g + 8) * 8 + q], a2 = a[g * 8 + q + 4], a3 = a[(g + 8) * 8 + q + 4],
      b0 = b[g * 8 + q], b1 = b[g * 8 + q + 4];
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  c[g * 8 + q * 2] = d[0];
  c[g * 8 + q * 2 + 1] = d[1];
  c[(g + 8) * 8 + q * 2] = d[2];
  c[(g + 8) * 8 + q * 2 + 1] = d[3];
}
extern "C" __global__ void mtf(const float *a, const float *b, float *c) {
  int t = threadIdx.x, g = t / 4, q = t % 4;
  float d[4] = {0, 0, 0, 0};
  u32 x[4] = {__float_as_uint(a[g * 8 + q]), __float_as_uint(a[(g + 8) * 8 + q]),
              __float_as_uint(a[g * 8 + q + 4]), __float_as_uint(a[(g + 8) * 8 + q + 4])},
      y[2] = {__float_as_uint(b[q * 8 + g]), __float_as_uint(b[(q + 4) * 8 + g])};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  c[g * 8 + q * 2] = d[0];
  c[g * 8 + q * 2 + 1] = d[1];
  c[(g + 8) * 8 + q * 2] = d[2];
  c[(g + 8) * 8 + q * 2 + 1] = d[3];
}
#endif
#ifdef REF
#include <cuda_fp16.h>
static u16 hf(int x) { return __half_as_ushort(__float2half((float)x)); }
int main() {
  auto r = [](int i) { return (int)(mix(i) % 15) - 7; };
  vector<u16> a(512), b(512);
  vector<float> c(256);
  for (int i = 0; i < 512; i++) {
    a[i] = hf(r(i));
    b[i] = hf(r(i + 999));
  }
  a.resize(256);
  b.resize(128);
  c.assign(128, 0);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 16; k++)
        c[i * 8 + j] += r(i * 16 + k) * r(k * 8 + j + 999);
  launch("mm16", "block=32");
  arg(0, a);
  arg(1, b);
  args(2, "f32[128] fill 0");
  expect(2, c);
  vector<u32> x(128), y(64);
  auto by = [](const vector<u32> &v, int i) { return (int)(signed char)(v[i / 4] >> (8 * (i % 4))); };
  for (int i = 0; i < 128; i++)
    x[i] = mix(i);
  for (int i = 0; i < 64; i++)
    y[i] = mix(i + 500);
  vector<int> z(128);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      int s = 1 + (j & 1) + (i >= 8 ? 2 : 0);
      for (int k = 0; k < 32; k++)
        s += by(x, i * 32 + k) * by(y, j * 32 + k);
      z[i * 8 + j] = s;
    }
  launch("mi8", "block=32");
  arg(0, x);
  arg(1, y);
  args(2, "s32[128] fill 0");
  expect(2, z);
  vector<float> p(128), q(64), o(128, 0.f);
  for (int i = 0; i < 128; i++)
    p[i] = r(i) * 0.5f;
  for (int i = 0; i < 64; i++)
    q[i] = r(i + 77);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 8; k++)
        o[i * 8 + j] += p[i * 8 + k] * q[k * 8 + j];
  launch("mtf", "block=32");
  arg(0, p);
  arg(1, q);
  args(2, "f32[128] fill 0");
  expect(2, o);
}
#endif
