// Bit fields, permutations, dot products, bytes in words.
#include "ref.h"
#ifdef __CUDACC__
__device__ u32 lop(u32 a, u32 b, u32 c) {
  u32 d;
  asm("lop3.b32 %0,%1,%2,%3,0xca;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ u32 bfe(u32 a, u32 p, u32 l) {
  u32 d;
  asm("bfe.u32 %0,%1,%2,%3;" : "=r"(d) : "r"(a), "r"(p), "r"(l));
  return d;
}
__device__ s32 bfes(s32 a, u32 p, u32 l) {
  s32 d;
  asm("bfe.s32 %0,%1,%2,%3;" : "=r"(d) : "r"(a), "r"(p), "r"(l));
  return d;
}
__device__ u32 bfi(u32 a, u32 b, u32 p, u32 l) {
  u32 d;
  asm("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(d) : "r"(a), "r"(b), "r"(p), "r"(l));
  return d;
}
__device__ u32 szx(u32 a, u32 n) {
  u32 d;
  asm("szext.wrap.u32 %0,%1,%2;" : "=r"(d) : "r"(a), "r"(n));
  return d;
}
__device__ u32 fns_(u32 m, u32 b, int o) { return __fns(m, b, o); }
extern "C" __global__ void bits(const u32 *in, u32 *out) {
  u32 t = threadIdx.x;
  u32 a = in[t * 3], b = in[t * 3 + 1], c = in[t * 3 + 2];
  u32 *o = out + t * 32;
  o[0] = __clz(a >> (b & 31));
  o[1] = __brev(a);
  o[2] = __popc(a);
  o[3] = __ffs(a & b & c);
  o[4] = __funnelshift_l(a, b, c);
  o[5] = __funnelshift_rc(a, b, c & 63);
  o[6] = __byte_perm(a, b, c & 0x7777);
  o[7] = __dp4a(a, b, c);
  o[8] = __dp4a((int)a, (int)b, (int)c);
  o[9] = __dp2a_lo((int)a, (int)b, (int)c);
  o[10] = lop(a, b, c);
  o[11] = bfe(a, b & 255, c & 63);
  o[12] = bfes(a, b & 31, c & 31);
  o[13] = bfi(a, b, c & 31, a & 31);
  o[14] = __umulhi(a, b);
  o[15] = __mulhi((int)a, (int)b);
  o[16] = __umul24(a, b);
  o[17] = __sad((int)a, (int)b, c);
  o[18] = __uhadd(a, b);
  o[19] = __rhadd((int)a, (int)b);
  o[20] = __vadd4(a, b);
  o[21] = __vabsdiffu4(a, b);
  o[22] = __vmaxs2(a, b);
  o[23] = __vcmpgtu4(a, b);
  o[24] = __vsadu4(a, b);
  o[25] = __vaddss2(a, b);
  o[26] = __vavgu4(a, b);
  o[27] = __vsubus4(a, b);
  o[28] = szx(a, b);
  o[29] = __byte_perm(a, 0, 0x0123);
  o[30] = (u32)__brevll(((u64)a << 32) | b) ^ (u32)__ffsll((u64)a << 20) ^
          (u32)(__umul64hi(((u64)a << 32) | b, ((u64)c << 32) | a) >> 7);
  o[31] = (u32)__vimax3_s32(a, b, c) ^ __viaddmin_u32(a, b, c);
}
#endif
#ifdef REF
static u32 B(u32 x, int i) { return (x >> (8 * i)) & 255; }
static int SB(u32 x, int i) { return (signed char)B(x, i); }
static int H(u32 x, int i) { return (short)(x >> (16 * i)); }
int main() {
  const int T = 64;
  launch("bits", "block=64");
  vector<u32> in(T * 3), out(T * 32);
  for (int i = 0; i < T * 3; i++) {
    in[i] = mix(i);
    if (i % 11 == 0)
      in[i] &= 0xff;
    if (i % 17 == 0)
      in[i] |= 0xfff00000;
  }
  arg(0, in);
  args(1, "u32[2048] fill 0");
  for (int t = 0; t < T; t++) {
    u32 a = in[t * 3], b = in[t * 3 + 1], c = in[t * 3 + 2];
    u32 *o = &out[t * 32];
    u32 x = a >> (b & 31);
    o[0] = x ? __builtin_clz(x) : 32;
    u32 r = 0;
    for (int i = 0; i < 32; i++)
      r |= ((a >> i) & 1) << (31 - i);
    o[1] = r;
    o[2] = __builtin_popcount(a);
    o[3] = __builtin_ffs(a & b & c);
    u64 ab = ((u64)b << 32) | a;
    o[4] = (u32)((ab << (c & 31)) >> 32);
    {
      int k = min(c & 63, 32u);
      o[5] = (u32)(ab >> k);
    }
    u32 pr = 0;
    for (int i = 0; i < 4; i++) {
      int n = (c >> (4 * i)) & 7;
      pr |= ((u32)(ab >> (8 * n)) & 255) << (8 * i);
    }
    o[6] = pr;
    u32 d = c;
    for (int i = 0; i < 4; i++)
      d += B(a, i) * B(b, i);
    o[7] = d;
    d = c;
    for (int i = 0; i < 4; i++)
      d += SB(a, i) * SB(b, i);
    o[8] = d;
    o[9] = c + H(a, 0) * SB(b, 0) + H(a, 1) * SB(b, 1);
    o[10] = (a & b) | (~a & c);
    {
      int p = b & 255, l = c & 63;
      u64 m = l >= 32 ? 0xffffffffull : ((1ull << l) - 1);
      o[11] = p >= 32 ? 0 : (u32)((a >> p) & m);
    }
    {
      int p = b & 31, l = c & 31;
      if (l == 0)
        o[12] = 0;
      else {
        int top = min(p + l - 1, 31);
        int sign = (a >> top) & 1;
        u32 v = 0;
        for (int i = 0; i < 32; i++) {
          int bit = (i < l && p + i < 32) ? (a >> (p + i)) & 1 : sign;
          v |= (u32)bit << i;
        }
        o[12] = v;
      }
    }
    {
      int p = c & 31, l = a & 31;
      u32 m = (u32)((((1ull << l) - 1)) << p);
      o[13] = (b & ~m) | ((a << p) & m);
    }
    o[14] = ((u64)a * b) >> 32;
    o[15] = (u32)(((s64)(int)a * (int)b) >> 32);
    o[16] = (a & 0xffffff) * (b & 0xffffff);
    o[17] = c + (u32)llabs((s64)(int)a - (int)b);
    o[18] = ((u64)a + b) >> 1;
    o[19] = (u32)(((s64)(int)a + (int)b + 1) >> 1);
    u32 z[8] = {0};
    for (int i = 0; i < 4; i++) {
      u32 x = B(a, i), y = B(b, i);
      z[0] |= ((x + y) & 255) << (8 * i);
      z[1] |= (u32)abs((int)x - (int)y) << (8 * i);
      z[2] |= (x > y ? 255u : 0) << (8 * i);
      z[3] += abs((int)x - (int)y);
      z[4] |= ((x + y + 1) >> 1) << (8 * i);
      z[5] |= (x > y ? x - y : 0) << (8 * i);
    }
    o[20] = z[0];
    o[21] = z[1];
    o[23] = z[2];
    o[24] = z[3];
    o[26] = z[4];
    o[27] = z[5];
    o[22] = 0;
    o[25] = 0;
    for (int i = 0; i < 2; i++) {
      int x = H(a, i), y = H(b, i);
      o[22] |= (u32)(u16)max(x, y) << (16 * i);
      o[25] |= (u32)(u16)max(-32768, min(32767, x + y)) << (16 * i);
    }
    {
      int n = b & 31;
      o[28] = n == 0 ? 0 : a & ((1u << n) - 1);
    }
    o[29] = __builtin_bswap32(a);
    u64 w = ((u64)a << 32) | b, y = ((u64)c << 32) | a, rw = 0;
    for (int i = 0; i < 64; i++)
      rw |= ((w >> i) & 1) << (63 - i);
    o[30] =
        (u32)rw ^ (u32)__builtin_ffsll((u64)a << 20) ^ (u32)((u64)(((unsigned __int128)w * y) >> 64) >> 7);
    o[31] = (u32)max(max((int)a, (int)b), (int)c) ^ min(a + b, c);
  }
  expect(1, out);
}
#endif
