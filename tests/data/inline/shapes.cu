// Every way in which real headers write a statement. Nothing here is wrong.
#include <cstdint>

__device__ void spellings(uint32_t bar, uint32_t tx) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(1) : "memory");
    asm("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(bar) : "memory");
    __asm__ __volatile__("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(tx) : "memory");
    __asm volatile ("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm   volatile
    (
        "cp.async.commit_group;"
        ::: "memory"
    );
}

__device__ uint64_t adjacent_literals(uint32_t bar) {
    uint64_t state;
    asm volatile(
        "mbarrier.arrive"
        ".release.cta"          // the modifiers on a line of their own
        ".shared::cta.b64 "     /* and a comment of the other kind */
        "%0, [%1];"
        : "=l"(state) : "r"(bar) : "memory");
    return state;
}

__device__ uint32_t raw_string(uint32_t bar, uint32_t parity) {
    uint32_t done;
    asm volatile(R"({
        .reg .pred complete;
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 complete, [%1], %2;
        selp.b32 %0, 1, 0, complete;
    })" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    asm volatile(R"ptx(fence.proxy.async.shared::cta; // the ")" of a comment ends nothing
        )ptx" ::: "memory");
    return done;
}

__device__ uint32_t block_with_percent(uint32_t bar, uint32_t parity) {
    uint32_t done;
    asm volatile("{\n\t.reg .pred %%complete;\n\t"
                 "mbarrier.test_wait.parity.shared::cta.b64 %%complete, [%1], %2;\n\t"
                 "selp.b32 %0, 1, 0, %%complete;\n\t}"
                 : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    asm volatile("{ .reg .pred %px; setp.ne.b32 %px, %1, 0; selp.b32 %0, 1, 0, %px; }" : "=r"(done) : "r"(parity));
    return done;
}

__device__ void loops(uint32_t bar, uint32_t parity, uint32_t hint) {
    asm volatile("{\n"
                 ".reg .pred P1;\n"
                 "LAB_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1, %2;\n"
                 "@P1 bra DONE;\n"
                 "bra LAB_WAIT;\n"
                 "DONE:\n"
                 "}" :: "r"(bar), "r"(parity), "r"(hint) : "memory");
    // The same names in another block of the same function.
    asm volatile("{\n"
                 ".reg .pred P1;\n"
                 "LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1, 0x989680;\n"
                 "@!P1 bra.uni LAB_WAIT;\n"
                 "DONE: }" :: "r"(bar), "r"(parity) : "memory");
    asm volatile("{ .reg .pred p; WAIT_%=: mbarrier.test_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE_%=; "
                 "nanosleep.u32 20; bra WAIT_%=; DONE_%=: }" :: "r"(bar), "r"(parity) : "memory");
    asm volatile("WAIT_%=:\n\t.reg .pred q%=;\n\tmbarrier.test_wait.parity.shared::cta.b64 q%=, [%0], %1;\n\t"
                 "@!q%= bra WAIT_%=;" :: "r"(bar), "r"(parity) : "memory");
}

__device__ void several_instructions(uint32_t bar, uint32_t bytes) {
    asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], %1; mbarrier.complete_tx.shared::cta.b64 [%0], %1;"
                 :: "r"(bar), "r"(bytes) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
    asm volatile("{\n\tcp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];\n\t}" :: "r"(bar) : "memory");
    asm volatile("{ .reg .b32 a; mov.b32 a, %0; .reg .b32 b; add.u32 b, a, 1; }" :: "r"(bytes));
}

__device__ uint32_t operands(uint32_t dst, const void *src, uint32_t bar, uint16_t mask, uint64_t hint, int x, int y) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(512) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;"
                 :: "r"(dst), "l"(src), "r"(x), "r"(y), "r"(bar), "h"(mask), "l"(hint) : "memory");
    uint32_t leader, lane;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xFFFFFFFF; selp.b32 %1, 1, 0, p; }" : "=r"(lane), "=r"(leader));
    asm volatile("{ .reg .pred p; elect.sync _|p, %1; @p mov.b32 %0, 1; }" : "+r"(leader) : "r"(~0u));
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2 + 8];" : "=r"(lane), "=r"(leader) : "r"(dst) : "memory");
    asm volatile("st.shared.b32 [%0+-4], %1;" :: "r"(dst), "r"(lane) : "memory");
    asm volatile("{ .reg .b128 q; mov.b128 q, {%0, %1}; }" :: "l"(hint), "l"(hint));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16; }"
                 :: "r"(x), "r"(dst), "l"(src) : "memory");
    return leader + lane;
}

template <int BYTES, int GROUPS>
__device__ void constants(uint32_t dst, const void *src, uint32_t n) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(dst), "l"(src), "n"(BYTES) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(dst), "l"(src), "n"(sizeof(int4)), "r"(n) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" :: "r"(dst), "l"(src), "n"(16) : "memory");
    asm volatile("cp.async.wait_group %0;" :: "n"(GROUPS) : "memory");
    asm volatile("ld.shared.b32 %0, [%1 + %2];" : "=r"(n) : "r"(dst), "n"(BYTES * 4) : "memory");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(GROUPS));
    asm volatile("bar.sync %0, %1;" :: "n"(1), "r"(n) : "memory");
}

__device__ void named(uint32_t bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%[bar]], %[count];" :: [bar] "r"(bar), [count] "r"(count) : "memory");
}

__device__ void comments_in_the_text(uint32_t bar) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; // 1. the only thread" :: "r"(bar) : "memory");
    asm volatile("// first\n\tmbarrier.inval.shared::cta.b64 [%0]; /* last */" :: "r"(bar) : "memory");
}

__device__ float types(float a, double b, uint16_t h, uint64_t l) {
    float f; double d; uint16_t s; uint64_t q; uint32_t r;
    asm("add.f32 %0, %1, %2;" : "=f"(f) : "f"(a), "f"(a));
    asm("add.f64 %0, %1, %1;" : "=d"(d) : "d"(b));
    asm("add.u16 %0, %1, 1;" : "=h"(s) : "h"(h));
    asm("add.u64 %0, %1, 1;" : "=l"(q) : "l"(l));
    asm("mov.b32 %0, %1;" : "=r"(r) : "f"(f));
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b16 %0, lo; }" : "=&h"(s) : "r"(r));
    asm("add.cc.u32 %0, %0, %1;" : "+r"(r) : "0"(r));
    return f;
}

// The compiler's own barriers, and statements that name a symbol, are no PTX.
extern "C" int renamed(int) __asm__("_ZN6renamedEi");
__device__ void nothing() {
    asm volatile("" ::: "memory");
    asm volatile("trap;");
    asm volatile("  ");
}

// Compilers take operands without the comma.
__device__ void no_comma(uint32_t bar) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar) "r"(1) : "memory");
}
