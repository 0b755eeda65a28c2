// The rules that speak of the statement and not of PTX.
#include <cstdint>

__device__ uint32_t widths(uint32_t bar, uint64_t *p, float f) {
    uint32_t state; uint64_t wide; uint16_t narrow;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=r"(state) : "r"(bar) : "memory"); //~ constraint-mismatch
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "l"(wide) : "memory"); //~ constraint-mismatch
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=h"(narrow) : "l"(wide)); //~ constraint-mismatch
    asm volatile("cp.async.wait_group %0;" :: "r"(bar) : "memory"); //~ constraint-mismatch
    asm volatile("add.u32 %0, %1, 1;" : "=r"(state) : "f"(f)); //~ constraint-mismatch
    asm volatile("mov.u32 %0, 1;" :: "n"(4)); //~ constraint-mismatch
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 %0, [%1], 0; }" : "=r"(state) : "r"(bar) : "memory"); //~ constraint-mismatch
    return state;
}

__device__ uint32_t directions(uint32_t a, uint32_t b) {
    uint32_t x, y;
    asm("add.u32 %0, %2, %3;" : "=r"(x), "=r"(y) : "r"(a), "r"(b)); //~ unwritten-output
    asm("add.u32 %1, %1, 1; mov.u32 %0, %1;" : "=r"(x) : "r"(a)); //~ written-input
    asm("add.u32 %1, %1, 1; mov.u32 %0, %1;" : "=r"(x), "+r"(a));
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p mov.u32 %0, 1; }" : "=r"(x) : "r"(a));
    asm("add.s32 %1, %1, 1;" : "=r"(x) : "0"(x));
    return x + y;
}

__device__ void clobbers(uint32_t bar, uint32_t dst, const void *src) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar)); //~ missing-memory-clobber
    asm volatile("cp.async.wait_all;"); //~ missing-memory-clobber
    asm volatile("fence.proxy.async.shared::cta;" : : ); //~ missing-memory-clobber
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(dst), "l"(src)); //~ missing-memory-clobber:note
    asm("cp.async.commit_group;"); //~ not-volatile
    asm("barrier.cluster.wait;" ::: ); //~ not-volatile
    asm("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_all;" ::: CLOBBERS);
}

__device__ void outside_of_braces(uint32_t bar, uint32_t parity) {
    asm volatile(".reg .pred done;\n" //~ unscoped-register
                 "SPIN:\n" //~ fixed-label
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra SPIN;" :: "r"(bar), "r"(parity) : "memory");
}

__device__ void numbers(uint32_t bar) {
    asm volatile("mbarrier.init.shared::cta.b64 [%1], 1;" :: "r"(bar) : "memory"); //~ no-such-operand
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"); //~ no-such-operand missing-memory-clobber
}

__device__ void joined(uint32_t bar, uint32_t x) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1" //~ missing-separator
                 "fence.mbarrier_init.release.cluster;" :: "r"(bar) : "memory");
    asm volatile("add.u32 %0, %0, 1" //~ missing-separator
                 "add.u32 %0, %0, 1;" : "+r"(x));
    asm volatile("cp.async.commit_group" //~ missing-separator
                 "cp.async.wait_all;" ::: "memory");
    // A blank or an end of the line does not hide it.
    asm volatile("add.u32 %0, %0, 1\n" //~ syntax-error
                 "add.u32 %0, %0, 1;" : "+r"(x));
}

__device__ void targets(uint32_t a) {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n\t"
                 "wgmma.commit_group.sync.aligned;" ::: "memory"); //~ no-common-target
}
