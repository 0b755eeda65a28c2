// Tensor copies both ways, plain and swizzled.
#include "ref.h"
#ifdef __CUDACC__
#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
// 2D tile in, transposed element-wise work, tile out; edge tiles hang over
extern "C" __global__ void tma2d(const __grid_constant__ CUtensorMap mi,
                                 const __grid_constant__ CUtensorMap mo, float *src, float *dst) {
  __shared__ alignas(128) float s[8][16], o[8][16];
  __shared__ u64 m;
  int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&m, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  int c[2] = {(int)blockIdx.x * 16, (int)blockIdx.y * 8};
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &s, &mi, c, &m);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &m, sizeof s);
  }
  while (!ptx::mbarrier_try_wait_parity(&m, 0))
    ;
  o[t / 16][t % 16] = s[t / 16][15 - t % 16] * 2 + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &mo, c, &o);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
// swizzled tile, read through the pattern; and a reduction out
extern "C" __global__ void tmasw(const __grid_constant__ CUtensorMap mi,
                                 const __grid_constant__ CUtensorMap mo, int *out, int *src, int *dst) {
  __shared__ alignas(1024) int s[8 * 32];
  __shared__ u64 m;
  int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&m, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  int c[2] = {0, 8};
  if (t == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, &mi, c, &m);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &m, sizeof s);
  }
  while (!ptx::mbarrier_try_wait_parity(&m, 0))
    ;
  for (int i = t; i < 256; i += 64) {
    int r = i / 32, k = i % 32;
    out[i] = s[r * 32 + (((k / 4) ^ r) * 4) + k % 4];
  }
  __syncthreads();
  if (t == 0) {
    c[1] = 4;
    ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &mo, c, s);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
#endif
#ifdef REF
int main() {
  launch("tma2d", "grid=2,5 block=128");
  vector<float> in(20 * 40), o(20 * 40);
  for (int i = 0; i < 800; i++)
    in[i] = i;
  // rows of 20, 40 of them; tiles of 16x8; columns from 20 on read as zero
  for (int r = 0; r < 40; r++)
    for (int c = 0; c < 20; c++) {
      int b = c / 16 * 16, k = b + 15 - c % 16;
      o[r * 20 + c] = (k < 20 ? in[r * 20 + k] : 0) * 2 + 1;
    }
  printf("// mbar: tensormap tma2d_param_0 = f32[20,40] strides=[80] box=[16,8] data=tma2d_param_2\n// mbar: "
         "tensormap tma2d_param_1 = f32[20,40] strides=[80] box=[16,8] data=tma2d_param_3\n");
  arg(2, in);
  args(3, "f32[800] fill 0");
  expect(3, o);
  launch("tmasw", "block=64");
  vector<int> a(32 * 20), d(32 * 20), q(256);
  for (int i = 0; i < 640; i++) {
    a[i] = mix(i) % 1000;
    d[i] = i;
  }
  printf("// mbar: tensormap tmasw_param_0 = s32[32,20] strides=[128] box=[32,8] swizzle=128B "
         "data=tmasw_param_3\n// mbar: tensormap tmasw_param_1 = s32[32,20] strides=[128] box=[32,8] "
         "swizzle=128B data=tmasw_param_4\n");
  args(2, "s32[256] fill 0");
  arg(3, a);
  arg(4, d);
  for (int i = 0; i < 256; i++) {
    q[i] = a[256 + i];
    d[128 + i] += a[256 + i];
  }
  expect(2, q);
  expect(4, d);
}
#endif
