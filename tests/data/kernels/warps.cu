// Shuffles, votes, matches, reductions of a warp.
#include "ref.h"
#ifdef __CUDACC__
__device__ u32 red(u32 v) {
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ u32 scan(u32 v) {
  for (int o = 1; o < 32; o <<= 1) {
    u32 n = __shfl_up_sync(~0u, v, o);
    if ((threadIdx.x & 31) >= o)
      v += n;
  }
  return v;
}
extern "C" __global__ void warps(const u32 *in, u32 *out) {
  u32 t = threadIdx.x, l = t & 31;
  u32 v = in[t];
  u32 *o = out + t * 18;
  o[0] = red(v);
  o[1] = scan(v);
  o[2] = __ballot_sync(~0u, v & 1);
  o[3] = __any_sync(~0u, v == 7) + 2 * __all_sync(~0u, v < 1000);
  o[4] = __match_any_sync(~0u, v & 3);
  int pr;
  o[5] = __match_all_sync(~0u, t >> 5, &pr) + pr;
  o[6] = __reduce_add_sync(~0u, v);
  o[7] = __reduce_max_sync(~0u, v) - __reduce_min_sync(~0u, (int)v - 500);
  o[8] = __reduce_xor_sync(~0u, v) ^ __reduce_or_sync(~0u, v) ^ __reduce_and_sync(~0u, v | 256);
  o[9] = __shfl_down_sync(~0u, v, 3, 8);
  o[10] = __shfl_sync(~0u, v, (l * 7) & 31);
  o[11] = __shfl_sync(~0u, v, 5, 16);
  u64 w = ((u64)v << 32) | l;
  w = __shfl_xor_sync(~0u, w, 9);
  o[12] = (u32)(w >> 32) * 33 + (u32)w;
  double d = v * 0.5;
  d = __shfl_up_sync(~0u, d, 2);
  o[13] = (u32)(d * 2);
  if (l % 3 == 0) {
    u32 m = __activemask();
    m = 0x49249249;
    o[14] = __shfl_sync(m, v, 27) + __popc(__ballot_sync(m, v & 2));
  } else {
    u32 m = ~0x49249249u;
    o[14] = __reduce_add_sync(m, v);
  }
  __syncwarp();
  o[15] = __shfl_up_sync(~0u, (unsigned short)v, 1) + __syncthreads_count(v & 1) * 7 +
          __syncthreads_or(v == in[3]) * 3 + __syncthreads_and(v < 2000);
  u32 mv = __match_any_sync(~0u, v % 5);
  int leader = __ffs(mv) - 1;
  u32 base = 0;
  if (l == leader)
    base = __popc(mv) * 100 + leader;
  base = __shfl_sync(~0u, base, leader);
  o[16] = base + __popc(mv & ((1u << l) - 1));
  o[17] = __shfl_sync(~0u, v, 40);
}
#endif
#ifdef REF
int main() {
  const int T = 96;
  launch("warps", "block=96");
  vector<u32> v(T), o(T * 18);
  for (int i = 0; i < T; i++)
    v[i] = mix(i) % 1000;
  arg(0, v);
  args(1, "u32[1728] fill 0");
  int cnt = 0;
  for (int i = 0; i < T; i++)
    cnt += v[i] & 1;
  for (int t = 0; t < T; t++) {
    int l = t & 31, w = t & ~31;
    u32 *q = &o[t * 18];
    const u32 *x = &v[w];
    u32 s = 0, sc = 0, bal = 0, any = 0, all = 1, ma = 0, mx = 0, xo = 0, orr = 0, an = ~0u;
    int mn = 1 << 30;
    for (int i = 0; i < 32; i++) {
      s += x[i];
      if (i <= l)
        sc += x[i];
      bal |= (x[i] & 1) << i;
      any |= x[i] == 7;
      all &= x[i] < 1000;
      if ((x[i] & 3) == (x[l] & 3))
        ma |= 1u << i;
      mx = max(mx, x[i]);
      mn = min(mn, (int)x[i] - 500);
      xo ^= x[i];
      orr |= x[i];
      an &= x[i] | 256;
    }
    q[0] = s;
    q[1] = sc;
    q[2] = bal;
    q[3] = any + 2 * all;
    q[4] = ma;
    q[5] = ~0u + 1;
    q[6] = s;
    q[7] = mx - mn;
    q[8] = xo ^ orr ^ an;
    q[9] = (l % 8) + 3 < 8 ? x[l + 3] : x[l];
    q[10] = x[(l * 7) & 31];
    q[11] = x[(l & 16) + 5];
    q[12] = x[l ^ 9] * 33 + (l ^ 9);
    q[13] = l >= 2 ? x[l - 2] : x[l];
    u32 m = 0x49249249;
    u32 pc = 0, ra = 0;
    for (int i = 0; i < 32; i++)
      if (i % 3 == 0)
        pc += (x[i] >> 1) & 1;
      else
        ra += x[i];
    q[14] = l % 3 == 0 ? x[27] + pc : ra;
    q[15] = (l ? x[l - 1] : x[l]) + cnt * 7 + 3 + 1;
    int first = -1, n = 0, before = 0;
    for (int i = 0; i < 32; i++)
      if (x[i] % 5 == x[l] % 5) {
        if (first < 0)
          first = i;
        n++;
        if (i < l)
          before++;
      }
    q[16] = n * 100 + first + before;
    q[17] = x[8];
  }
  expect(1, o);
}
#endif
