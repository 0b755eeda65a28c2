// What is compiled for the target that was asked for.
// check: target=sm_80 guards=MAYBE=sm_90,SURE=sm_80
#ifndef ASKED_CU
#define ASKED_CU
#if __CUDA_ARCH__ >= 900
#define HAS90 1
#else
#define HAS90 0
#endif
#define ARCH __CUDA_ARCH__
#define IS90 (__CUDA_ARCH__ >= 900)
__device__ void values() {
#if HAS90
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
#if ARCH >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
#if IS90
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
#if !HAS90
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target
#endif
#if MAYBE
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}
// A condition that is not known may exclude the target.
__device__ void open() {
#if SOMETHING
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target:warning
#endif
#if SURE
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target
#endif
#ifndef NDEBUG
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target
#endif
#if not (__CUDA_ARCH__ < 900)
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target:warning
#endif
    asm volatile("fence.proxy.async;" ::: "memory"); //~ beyond-target
}
#endif
