// Sort, histogram, matrix product, transposition, random numbers.
#include "ref.h"
#ifdef __CUDACC__
extern __shared__ u8 dyn[];
extern "C" __global__ void bitonic(u32 *a, int n) {
  u32 *s = (u32 *)dyn;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s[i] = a[i];
  __syncthreads();
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j; j >>= 1) {
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int x = i ^ j;
        if (x > i) {
          bool up = (i & k) == 0;
          if ((s[i] > s[x]) == up) {
            u32 t = s[i];
            s[i] = s[x];
            s[x] = t;
          }
        }
      }
      __syncthreads();
    }
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    a[i] = s[i];
}
extern "C" __global__ void histo(const u8 *in, u32 *h, int n) {
  __shared__ u32 s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (s[i])
      atomicAdd(h + i, s[i]);
}
template <int TS> __device__ void mm(const float *a, const float *b, float *c, int n, int m, int k) {
  __shared__ float A[TS][TS], B[TS][TS + 1];
  int r = blockIdx.y * TS + threadIdx.y, q = blockIdx.x * TS + threadIdx.x;
  float s = 0;
  for (int i = 0; i < (k + TS - 1) / TS; i++) {
    A[threadIdx.y][threadIdx.x] = (r < n && i * TS + threadIdx.x < k) ? a[r * k + i * TS + threadIdx.x] : 0;
    B[threadIdx.y][threadIdx.x] = (q < m && i * TS + threadIdx.y < k) ? b[(i * TS + threadIdx.y) * m + q] : 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TS; j++)
      s += A[threadIdx.y][j] * B[j][threadIdx.x];
    __syncthreads();
  }
  if (r < n && q < m)
    c[r * m + q] = s;
}
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n, int m, int k) {
  mm<8>(a, b, c, n, m, k);
}
extern "C" __global__ void transpose(const float4 *a, float *b) {
  __shared__ float s[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  float4 v = a[y * 8 + x];
  s[y][4 * x] = v.x;
  s[y][4 * x + 1] = v.y;
  s[y][4 * x + 2] = v.z;
  s[y][4 * x + 3] = v.w;
  __syncthreads();
  for (int i = 0; i < 4; i++)
    b[(4 * x + i) * 32 + y] = s[y][4 * x + i];
}
struct Rng {
  u64 s, inc;
  __device__ u32 next() {
    u64 o = s;
    s = o * 6364136223846793005ull + inc;
    u32 x = ((o >> 18) ^ o) >> 27, r = o >> 59;
    return (x >> r) | (x << ((-r) & 31));
  }
};
extern "C" __global__ void pcg(u32 *o, u64 seed) {
  Rng r{seed + threadIdx.x, threadIdx.x * 2 + 1};
  u32 in = 0;
  for (int i = 0; i < 50; i++) {
    float x = r.next() * 0x1p-32f, y = r.next() * 0x1p-32f;
    if (x * x + y * y < 1)
      in++;
  }
  o[threadIdx.x] = in * 1000003 + r.next();
}
extern "C" __global__ void collatz(u32 *o) {
  u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  u32 n = t + 1, c = 0;
  while (n != 1) {
    if (n & 1) {
      n = 3 * n + 1;
      if (c > 100)
        break;
    } else {
      do {
        n >>= 1;
        c++;
      } while (!(n & 1));
      continue;
    }
    c++;
  }
  for (u32 i = 0; i < t % 7; i++) {
    for (u32 j = 0;; j++) {
      if (j > i * t % 5)
        break;
      if ((i + j) % 3 == 2)
        goto out;
      c += j;
    }
    c *= 3;
  }
out:
  if (t % 5 == 0)
    return;
  o[t] = c;
}
#endif
#ifdef REF
int main() {
  vector<u32> a(256);
  for (int i = 0; i < 256; i++)
    a[i] = mix(i) % 5000;
  launch("bitonic", "block=64 smem=1024");
  arg(0, a);
  args(1, "s32 256");
  sort(a.begin(), a.end());
  expect(0, a);
  vector<u8> in(1000);
  vector<u32> h(256, 0);
  for (int i = 0; i < 1000; i++) {
    in[i] = mix(i) & (mix(i + 5) >> 3);
    h[in[i]]++;
  }
  launch("histo", "grid=3 block=96");
  arg(0, in);
  args(1, "u32[256] fill 0");
  args(2, "s32 1000");
  expect(1, h);
  int n = 19, m = 13, k = 21;
  vector<float> A(n * k), B(k * m), C(n * m, 0.f);
  for (int i = 0; i < n * k; i++)
    A[i] = (int)(mix(i) % 17) - 8;
  for (int i = 0; i < k * m; i++)
    B[i] = (int)(mix(i + 99) % 13) - 6;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int l = 0; l < k; l++)
        C[i * m + j] += A[i * k + l] * B[l * m + j];
  launch("matmul", "grid=2,3 block=8,8");
  arg(0, A);
  arg(1, B);
  args(2, "f32[247] fill 0");
  args(3, "s32 19");
  args(4, "s32 13");
  args(5, "s32 21");
  expect(2, C);
  vector<float> x(1024), y(1024);
  for (int i = 0; i < 1024; i++) {
    x[i] = i;
    y[(i % 32) * 32 + i / 32] = i;
  }
  launch("transpose", "block=8,32");
  arg(0, x);
  args(1, "f32[1024] fill 0");
  expect(1, y);
  vector<u32> p(64);
  for (int t = 0; t < 64; t++) {
    u64 s = 12345 + t, inc = t * 2 + 1;
    auto next = [&] {
      u64 o = s;
      s = o * 6364136223846793005ull + inc;
      u32 x = ((o >> 18) ^ o) >> 27, r = o >> 59;
      return (x >> r) | (x << ((-r) & 31));
    };
    u32 c = 0;
    for (int i = 0; i < 50; i++) {
      float X = next() * 0x1p-32f, Y = next() * 0x1p-32f;
      if (fmaf(X, X, Y * Y) < 1)
        c++;
    }
    p[t] = c * 1000003 + next();
  }
  launch("pcg", "block=64");
  args(0, "u32[64] fill 0");
  args(1, "u64 12345");
  expect(0, p);
  vector<u32> z(150, 9);
  for (u32 t = 0; t < 150; t++) {
    u32 n = t + 1, c = 0;
    while (n != 1) {
      if (n & 1) {
        n = 3 * n + 1;
        if (c > 100)
          break;
      } else {
        do {
          n >>= 1;
          c++;
        } while (!(n & 1));
        continue;
      }
      c++;
    }
    for (u32 i = 0; i < t % 7; i++) {
      for (u32 j = 0;; j++) {
        if (j > i * t % 5)
          break;
        if ((i + j) % 3 == 2)
          goto out;
        c += j;
      }
      c *= 3;
    }
  out:
    if (t % 5 == 0)
      continue;
    z[t] = c;
  }
  launch("collatz", "grid=3 block=50");
  args(0, "u32[150] fill 9");
  expect(0, z);
}
#endif
