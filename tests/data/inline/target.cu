// With a target, a statement is judged by it, unless the condition around it says that it is not compiled.
// check: target=sm_80 ptx=7.0
__device__ void unguarded(unsigned bar) {
    asm volatile("barrier.cluster.arrive;" ::: "memory"); //~ beyond-target
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory"); //~ beyond-target
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar) : "memory");
}
#if __CUDA_ARCH__ >= 900
__device__ void guarded(unsigned bar) {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.arive;" ::: "memory"); //~ unknown-instruction
}
#endif
