// A macro that is not defined guarantees nothing.
// check: guards=USE_G=sm_90,USE_GA=sm_90a
#if USE_G
#else
__device__ void f() { asm volatile("fence.proxy.async;" ::: "memory"); }
#endif
#ifdef USE_GA
#else
__device__ void g() { asm volatile("fence.proxy.async;" ::: "memory"); }
#endif
