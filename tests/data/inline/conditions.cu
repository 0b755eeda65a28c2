// Conditions that exclude each other, however they are spelled. Nothing here is wrong.
__global__ void complements(int n, int a, int c) {
    int x;
    asm volatile("{"
#if A
                 ".reg .b32 q;"
#endif
#if !A
                 ".reg .b32 q;"
#endif
                 " mov.b32 q, %1; mov.b32 %0, q; }" : "=r"(x) : "r"(n));
    asm volatile("add.s32 %0, %1, %2;" : "=r"(x) : "r"(a)
#ifdef B
                 , "r"(a)
#endif
#ifndef B
                 , "r"(c)
#endif
    );
    asm volatile("mov.b32 %0, %1"
#if defined(B)
                 ";"
#endif
#ifndef B
                 "; // other\n"
#endif
                 : "=r"(x) : "r"(n));
}

#if defined(WIDE)
typedef unsigned long long T;
#define C "l"
#define NAME "u"
#endif
#if !defined(WIDE)
typedef unsigned T;
#define C "r"
#define NAME "v"
#endif
__global__ void macros(T n, unsigned a) {
    T x;
#ifdef WIDE
    asm volatile("mov.b64 %0, %1;" : "=" C (x) : C (n));
#else
    asm volatile("mov.b32 %0, %1;" : "=" C (x) : C (n));
#endif
    asm volatile("{ .reg .b32 " NAME "; mov.b32 " NAME ", %0; }" :: "r"(a));
}

// Conditions of which it is not known that they exclude each other.
__global__ void incomparable(int n, long long w) {
    int x;
    asm volatile(
#if (defined E) && (F > 3)
        "mov.b32 %0, %1;"
#else
        "cvt.u32.u64 %0, %1;"
#endif
        : "=r"(x) :
#if !defined(E) || F <= 3
        "l"(w)
#else
        "r"(n)
#endif
    );
}

// Parameters hide macros.
#define txt "mov.b64 %0, %1;"
#define OP(C, txt, x) asm volatile(txt : "=" C (x) : C (x))

// Macros that hold operands, clobbers, or colons.
#define OPT(z) , z
#define FIRST "r"(a),
#define NAMED(y) [y] "r"(y)
#define CLOBBERS : "memory"
__global__ void joined(int a, int b, int c) {
    int x;
    asm volatile("mad.lo.s32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b) OPT("r"(c)));
    asm volatile("mad.lo.s32 %0, %1, %2, %3;" : "=r"(x) : FIRST "r"(b), "r"(c));
    asm volatile("mad.lo.s32 %0, %1, %2, %3;" : "=r"(x) : "r"(a) HEADER(b) HEADER(c));
    asm volatile("mov.b32 %0, %[a];" : "=r"(x) : NAMED(a));
    asm volatile("cp.async.wait_all;" :: CLOBBERS);
}

// The name of a symbol is no statement.
extern int variable asm("add.s32.foo");
extern "C" int function(int) asm("mov.b32");
int another(int) asm("mbarrier.init");
