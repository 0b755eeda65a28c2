// Comments allow findings: on the line before, on a line of the statement, or in the whole file.
// mbar: allow-file(unscoped-register) the register is meant to be shared
__device__ void allowed(unsigned bar, unsigned x) {
    // mbar: allow(missing-memory-clobber) nothing in memory depends on it
    asm volatile("cp.async.wait_all;");
    asm volatile("cp.async.wait_all;"); // mbar: allow(missing-memory-clobber)
    // mbar: allow(no-such-operand, unknown-modifier) shown to readers
    asm volatile("{\n"
                 "mbarrier.init.shared::cta.b64 [%5], 1;\n"
                 "mbarrier.inval.shared::cat.b64 [%0];\n"
                 "}" :: "r"(bar) : "memory");
    asm volatile("cp.async.wait_all;"); //~ missing-memory-clobber
    asm volatile(".reg .b32 shared_register;" ::: "memory");
    asm volatile("mov.b32 shared_register, %0;" :: "r"(x) : "memory");
    // mbar: allow(no-such-rule) reason //~ unknown-directive
}
