// Assembly of other processors, and names of symbols.
#include <cstdint>
static inline void x86(uint32_t *p, uint32_t v) {
    __asm__ __volatile__("lock; addl $0, 0(%%rsp)" ::: "memory", "cc");
    __asm__ __volatile__("pause\n\tnop");
    asm volatile("rdtsc" : "=a"(v) :: "edx");
    asm volatile("xchgl %0, %1" : "=r"(v), "=m"(*p) : "0"(v));
    asm volatile("movq %0, %%xmm0; paddd %%xmm0, %%xmm1;" :: "r"(p));
    asm volatile("cpuid" : "=a"(v), "=b"(v), "=c"(v), "=d"(v) : "a"(1));
    asm volatile("mfence" ::: "memory");
    asm goto("jmp %l0" :::: out);
out:;
}
static inline void arm(uint32_t v, void *p) {
    asm volatile("dmb ish" ::: "memory");
    asm volatile("ldxr %w0, [%1]" : "=r"(v) : "r"(p));
    asm volatile("fmla v0.4s, v1.4s, v2.s[0]\n\tb.eq 1f\n1:" ::: "v0");
    asm volatile("sub sp, sp, #16; mrs %0, cntvct_el0;" : "=r"(v));
}
static inline void riscv(float *p) {
    __asm__ volatile("fence.i");
    __asm__ volatile("amoadd.w.aq %0, %1, (%2)\nfcvt.s.f16 f1, f2\n" : "=r"(p) : "r"(p), "r"(p));
    __asm__ volatile("mova.x.m %[t]\nmov.m.x m0, x0, 1\n" : [t] "=r"(p));
}
static inline void amd(uint32_t v) {
    asm volatile("s_waitcnt vmcnt(0) & lgkmcnt(0)" ::: "memory");
    asm volatile("v_mov_b32 %0, %1; s_nop 0;" : "=v"(v) : "v"(v));
}
extern float load(int) __asm("llvm.amdgcn.raw.buffer.load.f32");
extern int other(void) asm("other_symbol");
static inline void hexagon(void *p) { asm volatile("{ r1 = memw_locked(%0); }" :: "r"(p)); }
// Words that PTX has, too, among words that it has not.
static inline void mixed(uint32_t v, void *p) {
    asm volatile("pushq %rbx; popq %rbx; ret;");
    asm volatile("ldxr %w0, [%1]; cmp %w0, #0; b.ne 1b;" : "=&r"(v) : "r"(p));
    asm volatile("vadd.f32 q0, q0, q1;" ::: "q0");
    asm volatile("mov " REGISTER ", %0; ret;" :: "r"(v) : "eax");
}
#define DEVICE __device__
DEVICE half load_half(int4 resource, int offset)
    __asm("llvm.amdgcn.raw.buffer.load.f16");
