// A switch that becomes a jump through a table.
#include "ref.h"
HD NOINL u32 step(u32 op, u32 a, u32 *st, int &sp) {
  switch (op) {
  case 0:
    st[sp++ & 7] = a;
    break;
  case 1:
    a += st[(sp - 1) & 7];
  case 2:
    a ^= 0x5a5a;
    break;
  case 3:
    if (sp > 0)
      a = st[--sp & 7];
    else
      return 99;
    break;
  case 4:
    a = a * a + 1;
    break;
  case 5:
    for (int i = 0; i < int(a % 7); i++) {
      if (i == 5)
        break;
      a += i;
      if (a & 8)
        continue;
      a ^= i << 4;
    }
    break;
  case 6:
    a = ~a;
    break;
  case 7:
    a = (a << 7) | (a >> 25);
    break;
  case 8:
    a /= 3;
    break;
  case 9:
    a %= 1000003;
    break;
  case 10:
    a -= sp;
    break;
  case 11:
    a = __builtin_popcount(a) * 0x01010101u;
    break;
  default:
    a += op;
  }
  return a;
}
HD u32 body(u32 t) {
  u32 st[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int sp = 0;
  u32 a = t;
  for (int i = 0; i < 40; i++)
    a = step(mix(t * 40 + i) % 14, a, st, sp);
  for (int i = 0; i < 8; i++)
    a = a * 31 + st[i];
  return a + sp;
}
#ifdef __CUDACC__
extern "C" __global__ void switches(u32 *out) {
  u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  out[t] = body(t);
}
#endif
#ifdef REF
int main() {
  launch("switches", "grid=3 block=33");
  args(0, "u32[99] fill 0");
  vector<u32> e;
  for (u32 t = 0; t < 99; t++)
    e.push_back(body(t));
  expect(0, e);
}
#endif
