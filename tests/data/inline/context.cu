// What the conditions around a statement say of its target.
// check: guards=HAVE_TMA=sm_90,ONLY_90A=sm_90a
#include <cstdint>

__device__ void unguarded(uint32_t bar) {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
}

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
__device__ void hopper() {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%0], [%1];" //~ beyond-target:warning
                 :: "l"(0), "l"(0) : "memory");
}
#else
__device__ void before() {
    asm volatile("barrier.cluster.arrive;" ::: "memory"); //~ beyond-target
    asm volatile("cp.async.commit_group;" ::: "memory");
}
#endif

#if __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
__device__ void ampere() {
    asm volatile("barrier.cluster.arrive;" ::: "memory"); //~ beyond-target
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define MY_HOPPER 1
__device__ void all() { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }
#endif

#if defined(MY_HOPPER)
__device__ void derived() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); //~ beyond-target
}
#endif

#if HAVE_TMA
__device__ void named() {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%0], [%1];" //~ beyond-target:warning
                 :: "l"(0), "l"(0) : "memory");
}
#endif
#ifdef ONLY_90A
__device__ void exactly() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); } //~ beyond-target
#endif

__device__ void chosen() {
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (asm volatile("barrier.cluster.arrive;" ::: "memory");), //~ beyond-target:warning
                      (asm volatile("trap;");));
    NV_DISPATCH_TARGET(NV_PROVIDES_SM_90, (asm volatile("barrier.cluster.arrive;" ::: "memory");),
                       NV_IS_EXACTLY_SM_80, (asm volatile("barrier.cluster.arrive;" ::: "memory");)); //~ beyond-target
}

#if 0
__device__ void never() { asm volatile("mbarrier.nonsense;"); }
#endif
#if defined(__HIP_PLATFORM_AMD__)
__device__ void elsewhere() { asm volatile("mov.b32 v0, v1;"); }
#elif UNKNOWN
__device__ void perhaps() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
#endif

// A switch that somebody may turn: what stands behind it is checked all the same.
#define USE_EARLY_NAMES 0
#if USE_EARLY_NAMES
__device__ void switched() { asm volatile("mbarrier.inval.early.b64 [%0];" :: "l"(0) : "memory"); } //~ unknown-modifier
#endif
