// printf; what it prints is in prints.out.
#include "ref.h"
#ifdef __CUDACC__
#include <cstdio>
extern "C" __global__ void prints(int n) {
#else
#define prints main2
static void prints(int n) {
#endif
  printf("plain\n");
  printf("%d %i %u %x %X %o %c|\n", -5, n, 4000000000u, 0xbeef, 0xBEEF, 8, 'z');
  printf("%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", 42, 42, 42, 42, 42, 255, 8);
  printf("%ld %lld %lu %llu %llx\n", -1L, -(1ll << 40), 1ul << 50, ~0ull, 0x123456789abcdefull);
  printf("%hd %hhd %hu\n", (short)-3, (char)-4, (unsigned short)65535);
  printf("%f %.2f %10.3f %-10.1f| %e %E %g %G %.10g\n", 3.14159, 2.5, -1.5, 9.96, 12345.678, 0.00012, 1e-5,
         1e20, 1.0 / 3);
  printf("%a\n", 1.5);
  printf("%f %f %f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0);
  printf("%s and %10s|%-6s|%.2s\n", "str", "right", "l", "cut");
  printf("100%%\n");
  printf("%*d|%-*d|%.*f\n", 6, 7, 6, 7, 2, 3.14159);
  float f = n * 0.25f;
  printf("%f %g\n", f, f);
  printf("%5c|%-3c|\n", 'a', 'b');
  printf("%zu %td\n", sizeof(int), (ptrdiff_t)-9);
  printf("no args %d\n", (int)printf("x\n") >= 0);
  printf("%.0f %#.0f %.3e\n", 2.5, 3.0, 0.0);
}
#ifdef REF
int main(int c, char **) {
  if (c > 1)
    prints(7);
  else {
    launch("prints", "block=1");
    args(0, "u32 7");
  }
}
#endif
