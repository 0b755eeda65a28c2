// Halves, bfloat16, and 8-bit floats.
#include "ref.h"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#ifdef __CUDACC__
#define HDF __host__ __device__
#else
#define HDF
#endif
HDF inline u32 hb(__half h) { return __half_as_ushort(h); }
// conversions only: host and device have them both
HDF void conv(float f, double d, u32 *o) {
  o[0] = __half_as_ushort(__float2half_rn(f));
  o[1] = __half_as_ushort(__float2half_rz(f));
  o[2] = __bfloat16_as_ushort(__float2bfloat16_rn(f));
  o[3] = __bfloat16_as_ushort(__float2bfloat16_rz(f));
  o[4] = __half_as_ushort(__float2half_ru(f));
  o[5] = __half_as_ushort(__double2half(d));
  o[6] = __bfloat16_as_ushort(__double2bfloat16(d));
  o[7] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3);
  o[8] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
  __nv_fp8_e4m3 e;
  e.__x = o[7];
  float g = float(e);
  __nv_fp8_e5m2 k;
  k.__x = o[8];
  float h = float(k);
  o[9] = (u32)(s32)(g * 16);
  o[10] = (u32)(s32)h;
  o[11] = (u32)(s32)(__half2float(__float2half_rn(f)) * 8);
  o[12] = __nv_cvt_halfraw_to_fp8(__half_raw(__float2half_rn(f)), __NV_NOSAT, __NV_E5M2);
  __half2 q = __floats2half2_rn(f, -f);
  o[13] = hb(__low2half(q)) | hb(__high2half(q)) << 16;
  o[14] = __half2int_rz(__float2half_rn(f));
  o[15] = __half_as_ushort(__int2half_rn((int)f * 7));
}
#ifdef __CUDACC__
extern "C" __global__ void narrow(u32 *o, const double *d) {
  u32 t = threadIdx.x;
  conv((float)d[t], d[t], o + 16 * t);
}
extern "C" __global__ void halfs(float *o, const float *a, const float *b) {
  u32 t = threadIdx.x;
  float *r = o + t * 12;
  __half x = __float2half(a[t]), y = __float2half(b[t]);
  __nv_bfloat16 u = __float2bfloat16(a[t]), v = __float2bfloat16(b[t]);
  r[0] = __half2float(x + y);
  r[1] = __half2float(x * y);
  r[2] = __half2float(__hfma(x, y, x));
  r[3] = __half2float(x / y);
  r[4] = __bfloat162float(u + v);
  r[5] = __bfloat162float(__hfma(u, v, u));
  r[6] = __half2float(hsqrt(__habs(x))) + __half2float(hexp(__float2half(0.f)));
  r[7] = __half2float(__hmax(x, y)) + (x < y ? 100 : 0) + (__hisnan(x) ? 1000 : 0);
  __half2 p = __halves2half2(x, y), q = __halves2half2(y, x);
  p = __hfma2(p, q, __float2half2_rn(1));
  r[8] = __low2float(p);
  r[9] = __high2float(p);
  r[10] = __bfloat162float(__hmin(u, v));
  r[11] = __half2float(hrcp(y)) + __half2float(htrunc(x));
}
#endif
#ifdef REF
static float rh(double x) { return __half2float(__double2half(x)); }
static float rb(double x) { return __bfloat162float(__double2bfloat16(x)); }
int main() {
  vector<double> d;
  for (int i = 0; i < 64; i++) {
    double x = ((s32)mix(i) / 2147483648.0) * pow(2, (int)(mix(i + 7) % 30) - 12);
    if (i == 0)
      x = 0;
    if (i == 1)
      x = 6e4;
    if (i == 2)
      x = -INFINITY;
    if (i == 3)
      x = 65519.99;
    if (i == 4)
      x = 6e-8;
    d.push_back(x);
  }
  d[2] = -40000;
  vector<u32> o(16 * 64);
  for (int i = 0; i < 64; i++)
    conv((float)d[i], d[i], &o[16 * i]);
  launch("narrow", "block=64");
  args(0, "u32[1024] fill 0");
  arg(1, d);
  expect(0, o);
  vector<float> a, b, r;
  for (int i = 0; i < 64; i++) {
    float x = rh(((s32)mix(i) / 2147483648.0) * 8), y = rh(((s32)mix(i + 7) / 2147483648.0) * 8);
    x = ((int)(x * 8)) / 8.f;
    y = ((int)(y * 8)) / 8.f;
    if (y == 0)
      y = 1;
    a.push_back(x);
    b.push_back(y);
    double X = x, Y = y;
    r.push_back(rh(X + Y));
    r.push_back(rh(X * Y));
    r.push_back(rh(X * Y + X));
    r.push_back(rh(X / Y));
    r.push_back(rb(X + Y));
    r.push_back(rb(X * Y + X));
    r.push_back(rh(sqrt(fabs(X))) + 1);
    r.push_back(max(x, y) + (x < y ? 100 : 0));
    r.push_back(rh(X * Y + 1));
    r.push_back(rh(X * Y + 1));
    r.push_back(min(x, y));
    r.push_back(rh(1 / Y) + (float)trunc(X));
  }
  launch("halfs", "block=64");
  args(0, "f32[768] fill 0");
  arg(1, a);
  arg(2, b);
  expecta("1e-3", 0, r);
}
#endif
