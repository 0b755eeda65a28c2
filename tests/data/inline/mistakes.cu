// Mistakes of the kinds that were found in shipped headers, which nobody had instantiated.
#include <cstdint>

__device__ void off_by_one(const void *map, uint32_t src, int a, int b, int c, int d, uint64_t hint) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, %4, %5}], [%1], %7;" //~ no-such-operand
                 :: "l"(map), "r"(src), "r"(a), "r"(b), "r"(c), "r"(d), "l"(hint) : "memory");
}

__device__ void three_coordinates(const void *map, uint32_t src, int a, int b, int c) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile [%0, {%1, %2, %3}], [%4];" //~ operand-mismatch
                 :: "l"(map), "r"(a), "r"(b), "r"(c), "r"(src) : "memory");
}

__device__ void four_coordinates(const void *map, uint32_t src, int a, int b, int c, int d) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile [%0, {%1, %2, %3, %4}], [%5];" //~ operand-mismatch
                 :: "l"(map), "r"(a), "r"(b), "r"(c), "r"(d), "r"(src) : "memory");
}

__device__ void five_coordinates(const void *map, uint32_t src, int a, int b, int c, int d, int e) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile [%0, {%1, %2, %3, %4, %5}], [%6];" //~ operand-mismatch
                 :: "l"(map), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(src) : "memory");
}

__device__ void early_names(uint32_t bar, uint32_t parity) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.nosleep.shared.b64 p, [%0], %1; }" //~ unknown-modifier
                 :: "r"(bar), "r"(parity) : "memory");
    asm volatile("cp.async.arrive.shared.b64 [%0];" :: "r"(bar) : "memory"); //~ unknown-modifier
    asm volatile("mbarrier.arrive.expect_copy.shared.b64 _, [%0], %1;" :: "r"(bar), "r"(parity) : "memory"); //~ unknown-modifier
}

__device__ void arrive_and_wait_in_one() {
    asm volatile("barrier.cluster.sync.aligned;" ::: "memory"); //~ unknown-instruction
}

__device__ void narrow_generic_address(uint32_t bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes) : "memory"); //~ narrow-address
}

__device__ void words_of_the_other_copy(uint32_t dst, const void *src, uint32_t bar) {
    asm volatile("cp.async.bulk.wait_all;" ::: "memory"); //~ unknown-modifier
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::128B [%0], [%1], 16;" :: "l"(src), "r"(dst) : "memory"); //~ unknown-modifier
}

__device__ void no_such_space() {
    asm volatile("fence.proxy.async.global::cta;" ::: "memory"); //~ unknown-modifier
}

__device__ void no_instruction(uint32_t bar) {
    asm volatile("setctarank.shared::cluster.u32 %0, %0, 1;" : "+r"(bar)); //~ unknown-instruction
}
