// Macros and conditions in and around statements. Nothing here is wrong.
#pragma once

#define INIT(bar, count) \
    do { \
        asm volatile( \
            "mbarrier.init.shared::cta.b64 [%0], %1;\n" /* one line \
            and another */ \
            "fence.mbarrier_init.release.cluster;" \
            :: "r"(bar), "r"(count) : "memory"); \
    } while (0)

#define ARRIVE asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory")

#ifdef WITH_HINT
#define PREFETCH ".L2::128B"
#else
#define PREFETCH
#endif
#define HINT(size) ".L2::" #size "B"
#define TEXT(x) #x

__device__ void spliced(unsigned dst, const void *src) {
    asm volatile("cp.async.cg.shared.global" PREFETCH " [%0], [%1], %2;" :: "r"(dst), "l"(src), "n"(16) : "memory");
    // Only the compiler knows what these stand for.
    asm volatile("cp.async.cg.shared.global" HINT(128) " [%0], [%1], %2;" :: "r"(dst), "l"(src), "n"(16) : "memory");
    asm volatile("cp.async.wait_group " TEXT(N) ";" ::: "memory");
    asm volatile(ELSEWHERE "add.u32 sum, sum, 1; }" ::: "memory");
    asm volatile("{ .reg .b32 a; " SETUP(a) " add.u32 a, a, 1; st.shared.b32 [%0], a; }" :: "r"(dst) : "memory");
}

// The arms of a condition between the literals, around the whole statement, and around the operands.
__device__ void conditional(unsigned dst, const void *src, unsigned n) {
    asm volatile("cp.async.cg.shared.global"
#if ENABLE_PREFETCH
                 ".L2::128B"
#elif ENABLE_SMALL_PREFETCH
                 ".L2::64B"
#endif
                 " [%0], [%1], 16;" :: "r"(dst), "l"(src) : "memory");
    asm volatile(
#if ENABLE_ZFILL
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(n)
#else
        "cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(dst), "l"(src)
#endif
        : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16"
#if ENABLE_ZFILL
                 ", %2"
#endif
                 ";" :: "r"(dst), "l"(src)
#if ENABLE_ZFILL
                 , "r"(n)
#endif
                 : "memory");
#if ENABLE_ZFILL
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
#endif
                 :: "r"(dst), "l"(src), "r"(n) : "memory");
    asm volatile(
#ifdef ENABLE_ZFILL
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(n) : "memory");
#else
        "cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(dst), "l"(src) : "memory");
#endif
}

// A macro of which no definition is in force here is defined elsewhere.
#if !A
#define PRE "wrong"
#endif
__device__ void defined_elsewhere(unsigned x) {
    asm volatile(
#if A
        "mov.b32 %0, %1" PRE "add.s32 %0, %0, 1;"
#else
        "mov.b32 %0, %1;"
#endif
        : "+r"(x) : "r"(x));
}

// The statement ends in each arm; what follows in an arm does not belong to it.
__device__ void ends_in_arms(unsigned x, unsigned y) {
    asm volatile("mov.b32 %0, %1;"
#if X
        : "+r"(x) : "r"(x));
    foo(
#if Y
        x
#else
        y
#endif
    );
#else
        : "+r"(y) : "r"(y));
#endif
}

#if defined(_WIN64) || defined(__LP64__)
#define POINTER "l"
#else
#define POINTER "r"
#endif
#define OPERAND(x) POINTER(x)

__device__ unsigned constraints(const unsigned *p, unsigned *out) {
    unsigned x;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : POINTER (p));
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : OPERAND(p));
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : A_CONSTRAINT(p));
    return x;
}
