// A scope that nothing in the file closes.
__device__ void open(unsigned x) {
    asm volatile("{ .reg .b32 a; mov.b32 a, %0;" :: "r"(x)); //~ unbalanced-scope
    asm volatile("{ { .reg .b32 a; mov.b32 a, %0; }" :: "r"(x)); //~ unbalanced-scope
}
