// Function pointers in memory, virtual functions.
#include "ref.h"
typedef int (*F)(int, int);
HD NOINL int fadd(int a, int b) { return a + b; }
HD NOINL int fsub(int a, int b) { return a - b; }
HD NOINL int fmul(int a, int b) { return a * b; }
HD NOINL int fxor(int a, int b) { return a ^ (b << 3); }
__device__ F table[4] = {fadd, fsub, fmul, fxor};
struct Shape {
  int k;
  HD Shape(int k) : k(k) {}
  HD virtual int area(int s) const = 0;
  HD virtual int twice(int s) const { return 2 * area(s); }
};
struct Sq : Shape {
  HD Sq(int k) : Shape(k) {}
  HD int area(int s) const override { return s * s + k; }
};
struct Re : Shape {
  int w;
  HD Re(int k, int w) : Shape(k), w(w) {}
  HD int area(int s) const override { return s * w + k; }
  HD int twice(int s) const override { return 3 * area(s) + w; }
};
struct Tr : Re {
  HD Tr(int k, int w) : Re(k, w) {}
  HD int area(int s) const override { return s * w / 2 - k; }
};
HD NOINL int use(const Shape &s, int x) { return s.area(x) + s.twice(x + 1); }
HD NOINL int apply(F f, int n, int x) {
  for (int i = 0; i < n; i++)
    x = f(x, i + 1);
  return x;
}
HD int body(u32 t, F *tab) {
  Sq a(t);
  Re b(t, 5);
  Tr c(3, t);
  const Shape *p[3] = {&a, &b, &c};
  int r = apply(tab[t & 3], t % 5 + 1, t + 7);
  r = r * 31 + tab[(t >> 2) & 3](r, t);
  return r * 3 + use(*p[t % 3], t) + use(*p[(t + 1) % 3], 2);
}
#ifdef __CUDACC__
extern "C" __global__ void fnptr(int *out) {
  u32 t = threadIdx.x;
  out[t] = body(t, table);
}
#endif
#ifdef REF
int main() {
  launch("fnptr", "block=64");
  args(0, "s32[64] fill 0");
  vector<int> e;
  for (u32 t = 0; t < 64; t++)
    e.push_back(body(t, table));
  expect(0, e);
}
#endif
