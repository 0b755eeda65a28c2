// RUN: something | FileCheck %s
// CHECK: llvm.inline_asm has_side_effects "fence.proxy.asyn;", "" : () -> ()
func.func @right(%a: i32, %p: i64) {
  %0 = llvm.inline_asm has_side_effects asm_dialect = att operand_attrs = [] "mov.u32 $0, %clock;", "=r"  : () -> i32
  %1 = llvm.inline_asm "add.f32x2 $0, $1, $2;", "=l,l,l" %p, %p : (i64, i64) -> i64
  llvm.inline_asm has_side_effects tail_call_kind = <none> "fence.proxy.async;\0A\09mbarrier.inval.b64 [$0];", "l,~{memory}" %p : (i64) -> ()
  %2 = llvm.inline_asm "s_getreg_b32 $0, hwreg(HW_REG_XCC_ID, 0, 4)", "=s"  : () -> i32
  %3 = tt.elementwise_inline_asm "shl.b32 $0, $1, 3;" {constraints = "=r,r", packed_element = 4 : i32, pure = true} %a : i32 -> i32
  %4 = tt.elementwise_inline_asm "" {constraints = "=r,r"} %a : i32 -> i32
  %5 = "llvm.inline_asm"(%a) <{asm_string = "mov.b32 $0, $1;", constraints = "=r,r"}> : (i32) -> i32
  nvvm.inline_ptx "mbarrier.init.b64 [{$r0}], {$r1};" ro (%p, %a : i64, i32)
  %6 = nvvm.inline_ptx "ex2.approx.ftz.f32 {$w0}, {$r0};" ro (%a : f32) -> f32
  %7 = tt.elementwise_inline_asm "asm" {constraints = "=r,r"} %a : i32 -> i32
  return
}

func.func @wrong(%a: i32, %p: i64) {
  llvm.inline_asm has_side_effects asm_dialect = att "mbarrier.init.shared::cta.b64 [$0], $2;", "r,r" %a, %a : (i32, i32) -> () //~ no-such-operand@91
  llvm.inline_asm "fence.proxy.async;\0A\09mbarrier.inval.b6 [$0];", "l" %p : (i64) -> () //~ unknown-modifier@58
  %0 = llvm.inline_asm
    "mov.b64 $0, $1;", "=l,r" %a : (i32) -> i64 //~ constraint-mismatch@18
  %1 = tt.elementwise_inline_asm "shl.b32 $0, $1, $2;" //~ no-such-operand@51
    {constraints = "=r,r", packed_element = 4 : i32, pure = true} %a : i32 -> i32
  %2 = "llvm.inline_asm"(%a) <{asm_string = "ld.global.b3 $0, [$1];", constraints = "=r,l"}> : (i32) -> i32 //~ unknown-modifier@55
  nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 [{$r0}];" ro (%p : i64) //~ operand-mismatch@52
  // mbar: allow(unknown-modifier) shown to readers
  llvm.inline_asm "fence.proxy.asyn;", "" : () -> ()
  return
}
