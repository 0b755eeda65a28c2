// Bit fields in memory, without optimisation.
#include "ref.h"
#ifdef __CUDACC__
struct P {
  u8 a : 3;
  u8 b : 1;
  u8 c : 2;
  u32 d : 11;
  u32 e : 20;
};
__device__ NOINL void set(P &p, u32 t) {
  p.b = t & 1;
  p.e = t * 3;
}
extern "C" __global__ void bf(u32 *out) {
  P p;
  set(p, threadIdx.x);
  out[threadIdx.x] = p.b ? p.e : 7;
}
#endif
#ifdef REF
int main() {
  vector<u32> o;
  for (u32 t = 0; t < 64; t++)
    o.push_back(t & 1 ? t * 3 : 7);
  launch("bf", "block=64");
  args(0, "u32[64] fill 0");
  expect(0, o);
}
#endif
