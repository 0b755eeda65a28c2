// Initialised variables, also with addresses of others.
#include "ref.h"
struct Node {
  int v;
  const Node *next;
};
__device__ int dat[5] = {10, 20, 30, 40, 50};
__device__ int *mid = &dat[2];
__device__ int **pmid = &mid;
__device__ const Node n3 = {3, nullptr};
__device__ const Node n2 = {2, &n3};
__device__ const Node n1 = {1, &n2};
__constant__ u32 tab[8] = {1, 1, 2, 3, 5, 8, 13, 21};
__constant__ double dc = 2.5;
__constant__ const char msg[] = "hello";
__constant__ const char *names[3] = {"a", "bcd", "ef"};
__device__ struct {
  u8 a;
  u64 b;
  float c[3];
  short d[2][2];
} rec = {7, 0x1122334455667788ull, {1.5f, -2, 3}, {{-1, 2}, {-3, 4}}};
__device__ u32 counter;
static __device__ float zero[4];
__device__ u8 bytes[3] = {1, 2, 3};
__device__ u64 mixv[2] = {1, ~0ull};
HD u32 body(u32 t) {
  u32 r = 0;
  for (const Node *p = &n1; p; p = p->next)
    r = r * 10 + p->v;
  r += mid[(int)(t % 5) - 2] + **pmid;
  r += tab[t & 7] * 3 + (u32)(dc * t);
  for (const char *p = names[t % 3]; *p; p++)
    r = r * 5 + *p;
  r += msg[t % 5];
  r += rec.a + (u32)(rec.b >> (t & 31)) + (s32)rec.c[t % 3] + rec.d[t & 1][(t >> 1) & 1];
  r += (u32)zero[t & 3] + bytes[t % 3] + (u32)mixv[t & 1];
  return r;
}
#ifdef __CUDACC__
extern "C" __global__ void globals(u32 *out) {
  u32 t = threadIdx.x;
  out[t] = body(t);
  atomicAdd(&counter, t);
  __syncthreads();
  if (t == 0)
    out[40] = counter;
}
#endif
#ifdef REF
int main() {
  launch("globals", "block=40");
  args(0, "u32[41] fill 0");
  vector<u32> e;
  for (u32 t = 0; t < 40; t++)
    e.push_back(body(t));
  e.push_back(780);
  expect(0, e);
}
#endif
