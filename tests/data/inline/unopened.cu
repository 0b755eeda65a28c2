// A scope that nothing in the file opens.
__device__ void close(unsigned x) {
    asm volatile("mov.b32 %0, 1; }" : "+r"(x)); //~ unbalanced-scope
}
