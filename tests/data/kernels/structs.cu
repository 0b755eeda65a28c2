// Structures as parameters of kernels and functions, and as results.
#include "ref.h"
struct V3 {
  float x, y, z;
};
struct Big {
  V3 a[3];
  int n;
  double d;
  char c[5];
  short s;
  u64 q;
};
struct Small {
  char c;
  short s;
};
struct Kp {
  int n;
  char tag;
  u64 w;
  int arr[6];
  V3 v;
};
HD NOINL V3 cross(V3 a, V3 b) {
  return V3{a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
HD NOINL Big mk(u32 t) {
  Big b;
  for (int i = 0; i < 3; i++)
    b.a[i] = V3{float(t + i), float(t * 2 + i), float(3 * i) - float(t)};
  b.n = t;
  b.d = t * 0.5;
  for (int i = 0; i < 5; i++)
    b.c[i] = char(t + i);
  b.s = short(-(int)t);
  b.q = (u64)t << 33;
  return b;
}
HD NOINL Big upd(Big b, Small s, int k) {
  b.a[k % 3] = cross(b.a[(k + 1) % 3], b.a[(k + 2) % 3]);
  b.c[k % 5] += s.c;
  b.s += s.s;
  b.d += k;
  b.q ^= k;
  return b;
}
HD NOINL Small sm(u32 t) {
  Small s;
  s.c = char(t * 3);
  s.s = short(t * 1000);
  return s;
}
HD NOINL u64 sum(const Big &b) {
  u64 r = b.q + b.n;
  for (int i = 0; i < 3; i++)
    r += (s64)(b.a[i].x + 2 * b.a[i].y + 3 * b.a[i].z);
  for (int i = 0; i < 5; i++)
    r = r * 3 + b.c[i];
  return r + b.s + (s64)(b.d * 4);
}
HD u64 body(u32 t, Kp k) {
  Big b = mk(t);
  for (int i = 0; i < k.n; i++)
    b = upd(b, sm(t + i), i + k.arr[i % 6]);
  return sum(b) + k.w + k.tag + (s64)k.v.z;
}
#ifdef __CUDACC__
extern "C" __global__ void structs(u64 *out, Kp k) {
  u32 t = threadIdx.x;
  out[t] = body(t, k);
}
#endif
#ifdef REF
int main() {
  launch("structs", "block=64");
  args(0, "u64[64] fill 0");
  Kp k;
  memset(&k, 0, sizeof k);
  k.n = 4;
  k.tag = 'x';
  k.w = 123456789012345ull;
  for (int i = 0; i < 6; i++)
    k.arr[i] = i * i;
  k.v = V3{1, 2, 3};
  vector<u8> b(sizeof k);
  memcpy(b.data(), &k, sizeof k);
  arg(1, b);
  vector<u64> e;
  for (u32 t = 0; t < 64; t++)
    e.push_back(body(t, k));
  expect(0, e);
}
#endif
