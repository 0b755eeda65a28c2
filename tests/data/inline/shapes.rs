//! Shapes of `asm!` for GPUs of NVIDIA.
use core::arch::asm;

/* asm!("fence.proxy.asyn;") /* nested */ asm!("fence.proxy.asyn;") */
const NOT_CODE: &str = r#"asm!("fence.proxy.asyn;")"#;

unsafe fn right<'a>(bar: u32, p: &'a u64, c: char) {
    asm!("mbarrier.init.shared::cta.b64 [{0}], {1};", in(reg32) bar, const 128, options(nostack));
    asm!("{{ .reg .pred p; setp.eq.u32 p, {0}, 0; @p trap; }}", in(reg32) bar);
    core::arch::asm!("add.u32 {out}, {a}, {b:e};", out = out(reg32) _, a = in(reg32) bar, b = const 5);
    asm!(
        "ld.global.u64 {}, [{}];",
        "add.u64 {1}, {1}, 8;",
        lateout(reg64) _,
        inout(reg64) p => _,
    );
    asm!("fence.proxy.async;");
    asm!(concat!("mov.", stringify!($ty), " {}, {};"), out(reg32) _, in(reg32) bar);
    asm!("call {f}, (r);", f = sym function);
    let _ = ('"', '\'', b'"', c == 'a');
}

unsafe fn wrong(bar: u32, p: u64) {
    asm!("mbarrier.init.shared::cta.b64 [{0}], {1};", in(reg32) bar, in(reg64) p); //~ constraint-mismatch@48
    asm!("mbarrier.inval.shared::cat.b64 [{bar}];", bar = in(reg32) bar); //~ unknown-modifier@25
    asm!("mov.u64 {}, %clock64", out(reg64) _); //~ syntax-error
    asm!(r#"mbarrier.inval.b6 [{}];"#, in(reg64) p); //~ unknown-modifier@27
    asm!("fence.proxy.async;\n\
          fence.proxy.asyn;"); //~ unknown-modifier@22
    asm!(
        "fence.proxy.async;",
        "mbarrier.arrive.shared::cta.b64 [{0}];", //~ operand-mismatch@42
        in(reg32) bar,
    );
    asm!("add.u32 {0}, {0}, 1;", in(reg32) bar); //~ written-input@34
    asm!("st.global.u32 [{1}], 0;", out(reg32) _, in(reg64) p); //~ unwritten-output@37
    asm!("mov.b32 {0}, {1};", out(reg32) _, const 99999999999); //~ truncated-constant@24
    asm!(".reg .b32 t; mov.b32 t, {};", in(reg32) bar); //~ unscoped-register
    // mbar: allow(unknown-modifier) shown to readers
    asm!("fence.proxy.asyn;");
}

// Another processor.
unsafe fn elsewhere(x: u32) {
    asm!("mov.b3 {0}, {1};", out(reg) x, in(reg) x);
    asm!("fence.proxy.asyn {};", in("eax") x);
    asm!("cpuid; nop; b.eq 1f", out(xmm_reg) x);
}

global_asm!("fence.proxy.asyn;");

const MODULE: &str = r"
.version 8.0
.target sm_90
.visible .entry kernel()
{
    mov.u32 %r2, 0; //~ unknown-name@13
    ret;
}
";

fn pattern(name: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.visible .entry {name}() {{ mov.u32 %r2, 0; }}")
        + ".version 8.0\n.target sm_90\n.visible .entry {}() mov.u32 %r2, 0;"
}
