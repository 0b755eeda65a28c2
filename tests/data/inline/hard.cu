// The ten hard cases. What is wrong has a tag.
#include <cstdint>

// 1. A scope that one statement opens and others use and close.
__device__ int scope_across_statements(uint64_t lo, uint64_t hi) {
    int first, x;
    asm volatile("{ .reg .b128 query;\n\t.reg .pred canceled;" ::: "memory");
    asm volatile("mov.b128 query, {%0, %1};" :: "l"(lo), "l"(hi) : "memory");
    asm volatile("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, query;\n\t"
                 "selp.b32 %0, 1, 0, canceled;" : "=r"(first) :: "memory");
    asm volatile("clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, query;" : "=r"(x) :: "memory");
    asm volatile("}" ::: "memory");
    return first + x;
}

// 2. Two lists of operands: see macros.cuh. Here one arm is wrong.
__device__ void two_lists(uint32_t dst, const void *src, uint32_t n) {
    asm volatile(
#if defined(ZFILL)
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n" :: "r"(dst), "l"(src), "r"(n)
#else
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n" :: "r"(dst), "l"(src) //~ no-such-operand
#endif
        : "memory");
}

// 3. An operand in the opcode: one of its values fits, or none does.
template <int CTAS>
__device__ void pasted(uint32_t bar, uint32_t addr) {
    asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(bar), "n"(CTAS) : "memory");
    asm volatile("mbarrier.arrive.cta_group::%1.shared::cta.b64 _, [%0];" :: "r"(bar), "n"(CTAS) : "memory"); //~ unknown-modifier
    // The same operand is the same text each time.
    asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 "tcgen05.relinquish_alloc_permit.cta_group::%1.sync.aligned;"
                 "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(bar), "n"(CTAS) : "memory");
    asm volatile("%2 %0, %1;" : "=r"(addr) : "r"(bar), "C"(opcode));
    asm volatile("%2.u32 %0, %1, 1;" : "=r"(addr) : "r"(bar), "C"(opcode));
    asm volatile("mma.%4.sync.aligned {%0}, {%1}, {%2}, {%3};" : "=r"(addr) : "r"(bar), "r"(bar), "r"(bar), "C"(shape));
}

// 4. Dialects of `%`: here only that of C. A `$` is part of a name.
__device__ uint32_t dialect() {
    uint32_t x;
    asm("{ .reg .u32 $a, _b, %%c; mov.u32 %%c, %%tid.x; mov.u32 $a, %%c; mov.u32 _b, $a; mov.u32 %0, _b; }" : "=r"(x));
    return x;
}

// 5. The same label in several blocks; last in a block; a block in the middle of a line; a declaration
// behind a branch.
__device__ void labels(uint32_t bar, uint32_t parity) {
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; } "
                 "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }"
                 :: "r"(bar), "r"(parity) : "memory");
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %1, 0; @q bra skip; .reg .pred c; "
                 "again: mbarrier.try_wait.parity.shared::cta.b64 c, [%0], %1; @!c bra.uni again; skip: }"
                 :: "r"(bar), "r"(parity) : "memory");
}

// 6. Blanks: before a modifier they are allowed, within the name and around `::` they are not.
__device__ void blanks(uint32_t bar) {
    asm volatile("{ .reg.b32 x; mov .s32 x, -1; mov.u32 x , %0 ; }" :: "r"(bar));
    asm volatile("cp.async.commit_group ;" ::: "memory");
    asm volatile("mbarrier .init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory"); //~ unknown-instruction
    asm volatile("mbarrier.init.shared :: cta.b64 [%0], 1;" :: "r"(bar) : "memory"); //~ syntax-error
}

// 7. Superfluous `;`, and a guard before a block.
__device__ void semicolons(uint32_t bar) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;;" :: "r"(bar) : "memory"); //~ syntax-error
    asm volatile("{ mbarrier.init.shared::cta.b64 [%0], 1; };" :: "r"(bar) : "memory"); //~ syntax-error
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 0; @p { trap; } }" :: "r"(bar)); //~ syntax-error
}

// 8. Modifiers in another order: allowed behind the name, not within it.
__device__ void orders(uint32_t dst, const void *map, uint32_t bar, uint32_t parity) {
    asm volatile("cp.async.bulk.tensor.1d.cta_group::1.shared::cluster.global.mbarrier::complete_tx::bytes.tile [%0], [%1, {%2}], [%3];"
                 :: "r"(dst), "l"(map), "r"(0), "r"(bar) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.b64.shared::cta.cta.acquire p, [%0], %1; }"
                 :: "r"(bar), "r"(parity) : "memory");
    asm volatile("cp.async.shared.global.ca [%0], [%1], 4;" :: "r"(dst), "l"(map) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.parity.b64 p, [%0], %1; }" //~ unknown-modifier
                 :: "r"(bar), "r"(parity) : "memory");
    asm volatile("barrier.cluster.aligned.wait;" ::: "memory"); //~ unknown-instruction
}

// A misspelt name is told although nothing else says that this is PTX.
__device__ void slips() {
    asm volatile("cp.async.comit_group;" ::: "memory"); //~ unknown-modifier
    asm volatile("cp.asinc.commit_group;" ::: "memory"); //~ unknown-instruction
    asm volatile("barier.cluster.arive;" ::: "memory"); //~ unknown-instruction
    // A constraint that CUDA does not have, around what is surely PTX.
    asm volatile("mbarrier.arrive.shared.b64 [%0];" :: "m"(slips) : "memory"); //~ operand-mismatch
}

__global__ void slips_of_one_word(int x) {
    asm volatile("mov.b33 %0, %1;" : "=r"(x) : "r"(x)); //~ unknown-modifier
    asm volatile("add.s33 %0, %1, 1;" : "=r"(x) : "r"(x)); //~ unknown-modifier
    asm volatile("trap"); //~ syntax-error
    asm volatile("{ .reg .b32 %%q; }" ::: "memory"); //~ unexpanded-escape
}

// 9. The fourth operand of a copy: a predicate, a register, a constant.
__device__ void fourth(uint32_t dst, const void *src, uint32_t n) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                 :: "r"(dst), "l"(src), "r"(n) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(n) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" :: "r"(dst), "l"(src) : "memory");
}

// 10. Near copies: each has a finding of its own.
template <int KIND>
__device__ void copies(uint32_t bar) {
    if constexpr (KIND == 0) {
        asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 [%0];" :: "r"(bar) : "memory"); //~ operand-mismatch
    } else if constexpr (KIND == 1) {
        asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 [%0];" :: "r"(bar) : "memory"); //~ operand-mismatch
    } else {
        asm volatile("mbarrier.arrive.relaxed.cluster.shared::cta.b64 [%0];" :: "r"(bar) : "memory"); //~ operand-mismatch
    }
}
