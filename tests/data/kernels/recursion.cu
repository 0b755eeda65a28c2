// Recursive functions, also of each other.
#include "ref.h"
HD NOINL u32 ack(u32 m, u32 n) {
  if (!m)
    return n + 1;
  if (!n)
    return ack(m - 1, 1);
  return ack(m - 1, ack(m, n - 1));
}
HD NOINL u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
HD NOINL void qs(int *a, int lo, int hi) {
  if (lo >= hi)
    return;
  int p = a[(lo + hi) / 2], i = lo, j = hi;
  while (i <= j) {
    while (a[i] < p)
      i++;
    while (a[j] > p)
      j--;
    if (i <= j) {
      int t = a[i];
      a[i] = a[j];
      a[j] = t;
      i++;
      j--;
    }
  }
  qs(a, lo, j);
  qs(a, i, hi);
}
HD NOINL int isodd(int);
HD NOINL int iseven(int n) { return n == 0 ? 1 : isodd(n - 1); }
HD NOINL int isodd(int n) { return n == 0 ? 0 : iseven(n - 1); }
HD u32 body(u32 t) {
  int a[24];
  for (int i = 0; i < 24; i++)
    a[i] = mix(t * 24 + i) % 1000;
  qs(a, 0, 23);
  u32 h = 0;
  for (int i = 0; i < 24; i++)
    h = h * 31 + a[i];
  return h + ack(2, t % 4) * 3 + fib(t % 12) + iseven(t) * 7;
}
#ifdef __CUDACC__
extern "C" __global__ void recursion(u32 *out) {
  u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = body(t);
}
#endif
#ifdef REF
int main() {
  launch("recursion", "grid=2 block=48");
  args(0, "u32[96] fill 0");
  vector<u32> e;
  for (u32 t = 0; t < 96; t++)
    e.push_back(body(t));
  expect(0, e);
}
#endif
