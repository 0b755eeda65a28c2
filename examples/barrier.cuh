// Wrappers around an mbarrier object, as kernels carry them about. Three of them are wrong.
#pragma once
#include <cstdint>

__device__ inline void barrier_init(uint32_t bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}

// The state has 64 bits.
__device__ inline uint32_t barrier_arrive(uint32_t bar) {
    uint32_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=r"(state) : "r"(bar) : "memory");
    return state;
}

// An operand was taken out, and the numbers were not changed.
__device__ inline void barrier_expect(uint32_t bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], %2;" :: "r"(bar), "r"(bytes) : "memory");
}

#if __CUDA_ARCH__ >= 900
__device__ inline bool barrier_try_wait(uint32_t bar, uint32_t parity) {
    uint32_t done;
    asm volatile("{\n\t"
                 ".reg .pred complete;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, complete;\n\t"
                 "}" : "=r"(done) : "r"(bar), "r"(parity));
    return done != 0;
}
#endif
