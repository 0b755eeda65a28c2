// Memory that the kernel allocates.
#include "ref.h"
#ifdef __CUDACC__
#include <cstdlib>
struct N {
  int v;
  N *next;
};
extern "C" __global__ void heap(int *out) {
  N *h = nullptr;
  for (int i = 0; i < int(threadIdx.x % 7); i++) {
    N *n = new N{int(i * threadIdx.x), h};
    h = n;
  }
  int s = 0;
  while (h) {
    s = s * 3 + h->v;
    N *n = h->next;
    delete h;
    h = n;
  }
  int *a = (int *)malloc(40);
  for (int i = 0; i < 10; i++)
    a[i] = i;
  memset(a + 2, 0xff, 8);
  memcpy(a, a + 5, 12);
  for (int i = 0; i < 10; i++)
    s += a[i] * (i + 1);
  free(a);
  out[threadIdx.x] = s;
}
#endif
#ifdef REF
int main() {
  vector<int> o;
  for (u32 t = 0; t < 64; t++) {
    vector<int> l;
    for (int i = 0; i < int(t % 7); i++)
      l.push_back(i * t);
    int s = 0;
    while (l.size()) {
      s = s * 3 + l.back();
      l.pop_back();
    }
    int a[10];
    for (int i = 0; i < 10; i++)
      a[i] = i;
    memset(a + 2, 0xff, 8);
    memcpy(a, a + 5, 12);
    for (int i = 0; i < 10; i++)
      s += a[i] * (i + 1);
    o.push_back(s);
  }
  launch("heap", "block=64");
  args(0, "s32[64] fill 0");
  expect(0, o);
}
#endif
