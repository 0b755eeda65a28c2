// A finding points at the character inside the string, whatever stands before it.
__device__ void places(unsigned bar, unsigned x) {
    asm volatile("é\t\"" ::: "memory"); // no PTX
    asm volatile("{\n\t" /* é */ "mbarrier.int.shared::cta.b64 [%0], 1;\n\t}" :: "r"(bar) : "memory"); //~ unknown-instruction@35
    asm volatile(R"(add.u32 %0, %0, 1;
        mbarrier.inval.shard.b64 [%1];)" //~ unknown-modifier@23
                 : "+r"(x) : "r"(bar) : "memory");
    asm volatile("add.u32 %0,\
 %9, 1;" : "+r"(x)); //~ no-such-operand@2
    asm volatile("add.u32 \x25" "0, %0, \x25\x39;" : "+r"(x)); //~ no-such-operand@41
}
