// What the sources of this folder share: integers, a hash, and with -DREF the printing of launch comments.
#pragma once
#ifdef __CUDACC__
#define HD __host__ __device__
#define NOINL __noinline__
#else
#define HD
#define NOINL __attribute__((noinline))
#define __device__
#define __constant__
#endif
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
HD inline u32 mix(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}
#ifdef REF
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <numeric>
using namespace std;
static const char *K;
static void launch(const char *k, const char *s) {
  K = k;
  printf("// mbar: launch kernel=%s%s %s\n", k, strstr(s, "grid=") ? "" : " grid=1", s);
}
static const char *ty(u32) { return "u32"; }
static const char *ty(s32) { return "s32"; }
static const char *ty(u64) { return "u64"; }
static const char *ty(s64) { return "s64"; }
static const char *ty(float) { return "f32"; }
static const char *ty(double) { return "f64"; }
static const char *ty(u8) { return "u8"; }
static const char *ty(u16) { return "u16"; }
static void pv(u32 v) { printf("%u", v); }
static void pv(s32 v) { printf("%d", v); }
static void pv(u64 v) { printf("%llu", (unsigned long long)v); }
static void pv(s64 v) { printf("%lld", (long long)v); }
static void pv(u8 v) { printf("%u", v); }
static void pv(u16 v) { printf("%u", v); }
static void pv(float v) { printf("%.9g", v); }
static void pv(double v) { printf("%.17g", v); }
template <class T> void list(const vector<T> &v) {
  printf("%s[%zu] [", ty(T()), v.size());
  for (size_t i = 0; i < v.size(); i++) {
    if (i)
      printf(",");
    pv(v[i]);
  }
  printf("]\n");
}
template <class T> void arg(int i, const vector<T> &v) {
  printf("// mbar: arg %s_param_%d = ", K, i);
  list(v);
}
static void args(int i, const char *s) { printf("// mbar: arg %s_param_%d = %s\n", K, i, s); }
template <class T> void expect(int i, const vector<T> &v) {
  printf("// mbar: expect %s_param_%d = ", K, i);
  list(v);
}
template <class T> void expecta(const char *eps, int i, const vector<T> &v) {
  printf("// mbar: expect~ %s %s_param_%d = ", eps, K, i);
  list(v);
}
template <class T> vector<u32> bits(const vector<T> &v) {
  vector<u32> r(v.size() * sizeof(T) / 4);
  memcpy(r.data(), v.data(), v.size() * sizeof(T));
  return r;
}
#endif
