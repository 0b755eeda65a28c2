// Elected lanes, multicast, bulk reductions, clusters, 128-bit atomics.
#include "ref.h"
#ifdef __CUDACC__
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;
// elect.sync, setmaxnreg, warp-group specialisation, multicast, cluster barrier split, dsmem reductions, bulk
// reduce, cp.async prefetch, 128-bit atomics
extern "C" __global__ void elect(u32 *out) {
  u32 p;
  asm volatile("{ .reg .pred P; elect.sync _|P, 0xffffffff; selp.u32 %0,1,0,P; }" : "=r"(p));
  u32 n = __popc(__ballot_sync(~0u, p));
  out[threadIdx.x] = n;
}
extern "C" __global__ void __launch_bounds__(256) regs(u32 *out) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    out[threadIdx.x] = 1;
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 80;");
    out[threadIdx.x] = 2;
  }
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) mcast(const int *in, int *out) {
  __shared__ alignas(128) int s[64];
  __shared__ u64 m;
  auto c = cg::this_cluster();
  u32 r = c.block_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&m, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &m, 256);
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0)
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s + 32 * r, in + 32 * r, 128, &m, (u16)3);
  while (!ptx::mbarrier_try_wait_parity(&m, 0))
    ;
  out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x] + r;
  c.sync();
}
extern "C" __global__ void bred(u32 *out, u32 *mx) {
  __shared__ alignas(16) u32 s[32];
  s[threadIdx.x] = threadIdx.x * (blockIdx.x + 1);
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, s, 128);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_max, mx, s, 128);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) dsred(const int *in, int *out) {
  __shared__ int s[32], tot;
  auto c = cg::this_cluster();
  int v = in[blockIdx.x * 32 + threadIdx.x];
  s[threadIdx.x] = v;
  if (threadIdx.x == 0)
    tot = 0;
  c.sync();
  int x = 0;
  for (int r = 0; r < 4; r++)
    x += *c.map_shared_rank(s + (threadIdx.x + r) % 32, (c.block_rank() + r) % 4);
  atomicMax(c.map_shared_rank(&tot, 0), x);
  c.sync();
  int q = *c.map_shared_rank(&tot, 0);
  out[blockIdx.x * 32 + threadIdx.x] = x * 100 + (q > 0);
  if (c.block_rank() == 0 && threadIdx.x == 0)
    out[128] = q;
  c.sync();
}
struct alignas(16) P2 {
  u64 a, b;
};
extern "C" __global__ void a128(P2 *p) {
  P2 o = *p, n;
  for (;;) {
    n.a = o.a + 1;
    n.b = o.b + threadIdx.x;
    u64 ra, rb;
    asm volatile("{ .reg .b128 c,n,r; mov.b128 c,{%3,%4}; mov.b128 n,{%5,%6}; atom.global.cas.b128 "
                 "r,[%2],c,n; mov.b128 {%0,%1},r; }"
                 : "=l"(ra), "=l"(rb)
                 : "l"(p), "l"(o.a), "l"(o.b), "l"(n.a), "l"(n.b)
                 : "memory");
    if (ra == o.a && rb == o.b)
      break;
    o.a = ra;
    o.b = rb;
  }
}
extern "C" __global__ void cpas(const int *in, int *out) {
  __shared__ alignas(16) int s[4][32];
  for (int i = 0; i < 4; i++) {
    asm volatile(
        "cp.async.ca.shared.global [%0],[%1],4,%2;" ::"r"((u32)__cvta_generic_to_shared(&s[i][threadIdx.x])),
        "l"(in + i * 32 + threadIdx.x), "r"((threadIdx.x + i) % 3 ? 4 : 0));
    asm volatile("cp.async.commit_group;");
  }
  int r = 0;
  asm volatile("cp.async.wait_group 2;" ::: "memory");
  r += s[0][threadIdx.x] + s[1][threadIdx.x] * 3;
  asm volatile("cp.async.wait_all;" ::: "memory");
  r += s[2][threadIdx.x] * 5 + s[3][threadIdx.x] * 7;
  out[threadIdx.x] = r;
}
extern "C" __global__ void vec(const float4 *in, float4 *out) {
  float4 v = in[threadIdx.x];
  atomicAdd(out, v);
}
#endif
#ifdef REF
int main() {
  launch("elect", "block=64");
  args(0, "u32[64] fill 0");
  expect(0, vector<u32>(64, 1));
  launch("regs", "block=256");
  args(0, "u32[256] fill 0");
  vector<u32> o(256, 1);
  fill(o.begin() + 128, o.end(), 2u);
  expect(0, o);
  vector<int> in(128), p(128);
  for (int i = 0; i < 128; i++)
    in[i] = mix(i) % 100;
  for (int b = 0; b < 2; b++)
    for (int t = 0; t < 64; t++)
      p[b * 64 + t] = in[t] + b;
  launch("mcast", "grid=2 block=64 cluster=2");
  arg(0, in);
  args(1, "s32[128] fill 0");
  expect(1, p);
  launch("bred", "grid=3 block=32");
  args(0, "u32[32] fill 0");
  args(1, "u32[32] fill 0");
  vector<u32> a, m;
  for (u32 t = 0; t < 32; t++) {
    a.push_back(t * 6);
    m.push_back(t * 3);
  }
  expect(0, a);
  expect(1, m);
  vector<int> q(129);
  int mx = 0;
  for (int b = 0; b < 4; b++)
    for (int t = 0; t < 32; t++) {
      int x = 0;
      for (int r = 0; r < 4; r++)
        x += in[((b + r) % 4) * 32 + (t + r) % 32];
      q[b * 32 + t] = x * 100 + 1;
      mx = max(mx, x);
    }
  q[128] = mx;
  launch("dsred", "grid=4 block=32 cluster=4");
  arg(0, in);
  args(1, "s32[129] fill 0");
  expect(1, q);
  launch("a128", "grid=2 block=32");
  args(0, "u64[2] fill 0");
  expect(0, vector<u64>{64, 2 * 31 * 16});
  vector<int> c;
  for (int t = 0; t < 32; t++) {
    int r = 0, k[4] = {1, 3, 5, 7};
    for (int i = 0; i < 4; i++)
      r += ((t + i) % 3 ? in[i * 32 + t] : 0) * k[i];
    c.push_back(r);
  }
  launch("cpas", "block=32");
  arg(0, in);
  args(1, "s32[32] fill 0");
  expect(1, c);
  vector<float> f(128), s(4, 0.f);
  for (int i = 0; i < 128; i++) {
    f[i] = i % 13;
    s[i % 4] += f[i];
  }
  launch("vec", "block=32");
  arg(0, f);
  args(1, "f32[4] fill 0");
  expect(1, s);
}
#endif
