# Strings that hold C++ code, or a whole module.
CODE = '''
__device__ void wait(unsigned bar) {
    asm volatile("mbarrier.inval.shared::cat.b64 [%0];" :: "r"(bar) : "memory"); #~ unknown-modifier@33
    asm volatile("{\\n"
                 ".reg .pred p;\\n"
                 "mbarrier.try_wait.b6 p, [%0], %1;\\n" #~ unknown-modifier@36
                 "}\\n" :: "l"(bar), "l"(bar) : "memory");
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.bulk.commit_group;" ::: "memory"); #~ beyond-target:warning@19
#endif
}
'''

BODIES = {
    "one": 'asm("cp.async.wait_all;");', #~ not-volatile
    "two": "asm volatile(\"mbarrier.inval.b6 [%0];\" :: \"l\"(p) : \"memory\");", #~ unknown-modifier@42
}


def generated(name, scope, n):
    emit(f'asm volatile("fence.acq_rel.{scope};" ::: "memory");')
    emit(f'asm volatile("{{ .reg .b32 t; mov.b6 t, %0; }}" :: "r"({name}) : "memory");') #~ unknown-modifier@45
    emit(f'asm volatile("{name} %0;" :: "{n}"(x) : "memory");')
    emit('asm volatile("{{ .reg .b32 t; mov.b32 t, {value}; }}" ::: "memory");'.format(value=n))


# Formatted somewhere else, or filled in by other tools.
TEMPLATE = """
asm volatile("{{ mov.{type} {{%0, %1}}, {value}; }}" : "=r"(a), "=r"(b) : "l"({name}) : "memory");
"""
PERCENT = """
asm volatile("mov.%s %%0, %%1;" "cp.async.wait_al %%5;" : "=r"(a) : "l"(%(name)s) : "memory"); #~ unknown-modifier@42
"""
JINJA = """
asm volatile("ld.{{ space }}.b32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
"""

MODULE = """
// A module
.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %r1; //~ unknown-name@13
    // mbar: allow(unknown-name)
    mov.u32 %r3, %r1;
    ret;
}
"""

# mbar: allow(unknown-name) for the whole literal
ALLOWED = ".version 8.0\n.target sm_90\n.visible .entry kernel() {\n mov.u32 %r2, 0;\n ret;\n}\n"

PARTS = ".version 8.0\n.target sm_90\n.visible .entry kernel() {\n" + "mov.u32 %r2, 0;}"
HEADER = ".version 8.0\n.target sm_90\n.visible .entry kernel() {\n mov.u32 %r2, 0;"
PATTERN = ".version 8.0\n.target sm_90\n.visible .entry {name}() {{\n mov.u32 %r2, 0;\n}}\n"
SHORTENED = ".version 8.0\n.target sm_90\n.visible .entry kernel() {\n ...\n}\n"
FORMATTED = f".version 8.0\n.target {HEADER}\n.visible .entry kernel() {{\n mov.u32 %r2, 0;\n}}\n"
