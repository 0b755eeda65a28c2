"""Shapes of calls that take inline assembly: asm volatile("mbarrier.init [%0];") in a text for readers is none."""
import textwrap


def positional(x, ptr):
    # Right.
    tl.inline_asm_elementwise("add.u32 $0, $1, $2;", "=r,r,r", [x, x], dtype=tl.int32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("{ .reg .pred p; setp.eq.u32 p, $1, 0; selp.b32 $0, 1, 0, p; }", "=r, r", [x])
    tl.inline_asm_elementwise("bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise("griddepcontrol.wait; // dummy $0", "=r", [], dtype=tl.int32)
    # Wrong.
    tl.inline_asm_elementwise("mbarrier.init.shared::cta.b64 [$0], $2;", "r,r", [x]) #~ no-such-operand@68
    tl.inline_asm_elementwise("mbarrier.init.shared::cta.b64 [$0], $1;", "r,l", [x]) #~ constraint-mismatch@68
    tl.inline_asm_elementwise("mbarrier.inval.shared::cat.b64 [$0];", "r", [x]) #~ unknown-modifier@46
    tl.inline_asm_elementwise("add.u32 $1, $1, 1; mov.u32 $0, $1;", "=r,r", [x]) #~ written-input@73
    tl.inline_asm_elementwise("add.u32 $1, $0, 1;", "=&r,=r", [x]) #~ unwritten-output@54
    # Tied, and clobbers.
    tl.inline_asm_elementwise("add.u32 $0, $0, $2;", "=r,0,r,~{memory}", [x])
    tl.inline_asm_elementwise("add.u64 $0, $0, $2;", "=l,0,r,~{memory}", [x]) #~ constraint-mismatch@48
    # Another processor.
    llvm.inline_asm(T.i32(), [x], "s_waitcnt vmcnt(0); s_barrier", "=s,v", has_side_effects=True)
    llvm.inline_asm(T.i32(), [x], "mov.b32 $0, $9;", "=r,~{dirflag},~{fpsr},~{flags}")


def keywords(x):
    tl.inline_asm_elementwise(asm="mov.b32 $0, $1;", constraints="=r,r", args=[x], dtype=tl.int32)
    tl.inline_asm_elementwise(asm="mov.b64 $0, $1;", constraints=("=r," "l"), args=[x]) #~ constraint-mismatch@44
    tl.inline_asm_elementwise(constraints="=r,l", args=[x], asm="mov.b64 $0, $1;") #~ constraint-mismatch@74
    llvm.inline_asm(
        T.i32(),
        [Int32(x).ir_value(loc=loc, ip=ip)],
        "mbarrier.arrive.release.cta.shared::cta.b64 "
        "[$0];", #~ operand-mismatch@10
        "r",
        has_side_effects=True,
        asm_dialect=llvm.AsmDialect.AD_ATT,
    )
    mlir_llvm.inline_asm(res=None, operands_=[x], asm_string="mbarrier.inval.b6 [$0];", constraints="l") #~ unknown-modifier@77
    return Int32(llvm.inline_asm(T.i32(), [], "mov.u32 $0, %clock;", "=r"))


def variables(x, wide):
    # What a variable is set to in the function is looked at, in each of its ways.
    asm = """
    {
        .reg .b32 t;
        add.u32 t, $1, 1;
        mov.b64 $0, t; //~ operand-mismatch@21
    }
    """
    llvm.inline_asm(T.i64(), [x], asm, "=l,r")
    if wide:
        ptx = "mov.b32 $0, $1;"
    else:
        ptx = "ld.global.b3 $0, [$1];" #~ unknown-modifier@25
    llvm.inline_asm(T.i32(), [x], ptx, "=r,r")
    text = "mov.b32 "
    text += "$0, 0;"
    llvm.inline_asm(T.i32(), [x], text, "=r")
    llvm.inline_asm(T.i32(), [x], elsewhere, "=r")


def without_constraints(x, constraints):
    cute.arch.inline_ptx("mbarrier.init.shared::cta.b64 [{$r0}], {$r1};", read_only_args=[x, 1])
    cute.arch.inline_ptx("mbarrier.init.shared::cat.b64 [{$r0}], {$r1};", read_only_args=[x, 1]) #~ unknown-modifier@40
    cute.arch.inline_ptx("mbarrier.arrive.shared::cta.b64 [{$r0}];", read_only_args=[x]) #~ operand-mismatch@59
    nvvm.inline_ptx([i32], [x], [], "max.s32 {$w0}, {$r0}, {$rw1};")
    llvm.inline_asm(T.i32(), [x], "ld.global.b32 $0, [$1];", constraints)
    ll.asm("ld.shared.u64 %0, [%1];", ["=l", "l"], [x, x])
    ll.asm("popc.u32 %0, %1;", ["=r", "r"], [x, x]) #~ unknown-modifier@17
    # Of a function that may be anything, what may be meant otherwise is not reported.
    parse_asm("add.s32 %r1, %r2, %r3; ld.shared.u6 %r1, [x]")
    run_asm("a file.s", "no PTX")


def literals(x):
    f('mov', asm('mbarrier.inval.b6 [$0];', 'l')) #~ unknown-modifier@33
    tl.inline_asm_elementwise(r'mbarrier.inval.b6 [$0];', 'l', [x]) #~ unknown-modifier@47
    tl.inline_asm_elementwise(b'fence.proxy.async;\tmbarrier.inval.b6 [$0];', 'l', [x]) #~ unknown-modifier@67
    tl.inline_asm_elementwise('it\'s' '', 'l', [x])
    tl.inline_asm_elementwise("fence.proxy.async;\x0afence.proxy.asyn;\u000a", "", []) #~ unknown-modifier@65
    tl.inline_asm_elementwise('''fence.proxy.async; \
        fence.proxy.asyn;''', "", []) #~ unknown-modifier@20
    tl.inline_asm_elementwise(("fence.proxy.async;" + "fence.proxy.asyn;"), "", []) #~ unknown-modifier@67
    tl.inline_asm_elementwise(textwrap.dedent("""
        mbarrier.inval.b6 [$0]; //~ unknown-modifier@23
        """), "l", [x])
    tl.inline_asm_elementwise("add.u32 $0, $1, 1" #~ missing-separator@49
                              "add.u32 $0, $0, 1;", "=r,r", [x])
    tl.inline_asm_elementwise("mov.b32 $0, $1;" if x else "mov.b6 $0;", "=r,r", [x])


def spliced(x, scope, i, body):
    tl.inline_asm_elementwise(f"""{{
        mov.u32 $0, %tid.x;
        red.release.{scope.value}.global.add.s32 [$1], $2;
        mbarrier.inval.b6 [$1]; //~ unknown-modifier@23
    }}""", "=r,l,r", [x])
    tl.inline_asm_elementwise(f"{body} mov.b32 $0, unknown;", f"=r,{i}", [x])
    tl.inline_asm_elementwise("mov.b32 ${}, 0; mbarrier.inval.b6 [$0];".format(i), "l", [x]) #~ unknown-modifier@62
    tl.inline_asm_elementwise("{{ {0} }} mbarrier.inval.b6 [$0];".format(i), "l", []) #~ unknown-modifier@56
    tl.inline_asm_elementwise("mov.%s $0, 0; mbarrier.inval.b6 [%(x)d];" % i, "=r", [x])
    tl.inline_asm_elementwise("mov.b32 $0, 0; " + body + "; mbarrier.inval.b6 [$1];", "=r,l", [x]) #~ unknown-modifier@75
    tl.inline_asm_elementwise(body + f"mov.b32 ${{{i}}}, 0;", "=r", [x])
    tl.inline_asm_elementwise("mov.b32 $0, 0;" * 2, "=r", [x])
    tl.inline_asm_elementwise("mov.b3 $0, 0;".replace("b3", "b32"), "=r", [x])


def labels(x):
    tl.inline_asm_elementwise("LOOP: mbarrier.try_wait.b64 $0, [$1], $2; @!$0 bra LOOP;", "=b,l,l", [x]) #~ fixed-label
    tl.inline_asm_elementwise("L${:uid}: mbarrier.try_wait.b64 $0, [$1], $2; @!$0 bra L${:uid};", "=b,l,l", [x])
    # mbar: allow(unknown-modifier) shown to readers
    tl.inline_asm_elementwise("mbarrier.inval.b6 [$0];", "l", [x])
    tl.inline_asm_elementwise("mbarrier.inval.b6 [$0];", "l", [x])  # mbar: allow(unknown-modifier)
    tl.inline_asm_elementwise("mbarrier.inval.b6 [$0];", "l", [x])  # mbar: allow(no-such-rule) #~ unknown-modifier unknown-directive
