//! Tests of the whole way from text to tree, messages and text again.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::ast::{ConstValue, Item, Module, Operand, OperandKind, Statement, StatementKind};
use super::print::{print, print_with, token_texts};
use super::{Parsed, parse};
use crate::diagnostic::Diagnostic;
use crate::source::SourceFile;

fn read(text: &str) -> Parsed {
    parse(SourceFile::new("test.ptx", text))
}

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A kernel whose fifth line is `statement`, beginning in column 1.
fn kernel(statement: &str) -> String {
    format!("{HEADER}.visible .entry k() {{\n{statement}\nret;\n}}\n")
}

fn good(text: &str) -> Module {
    let parsed = read(text);
    assert_eq!(messages(&parsed), Vec::<String>::new(), "{text}");
    parsed.module
}

fn place(parsed: &Parsed, diagnostic: &Diagnostic) -> String {
    let at = parsed.module.source.line_column(diagnostic.span.start);
    format!("{}:{} {}", at.line, at.column, diagnostic.message)
}

fn messages(parsed: &Parsed) -> Vec<String> {
    parsed.diagnostics.iter().map(|diagnostic| place(parsed, diagnostic)).collect()
}

/// `text` with the first fix of each diagnostic applied.
fn fixed(parsed: &Parsed) -> String {
    let mut text = parsed.module.source.text().to_string();
    let fixes = parsed.diagnostics.iter().filter_map(|diagnostic| diagnostic.fixes.first());
    let mut edits: Vec<_> = fixes.flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    text
}

fn statements(module: &Module) -> &[Statement] {
    let function = module.functions().next().expect("a function");
    &function.body.as_ref().expect("a body").statements
}

fn operands(module: &Module) -> &[Operand] {
    match &statements(module)[0].kind {
        StatementKind::Instruction(instruction) => module.operands(instruction),
        other => panic!("no instruction: {other:?}"),
    }
}

/// The value of a constant expression, as an operand.
fn value(text: &str) -> ConstValue {
    let module = good(&kernel(&format!("mov.b64 x, {text};")));
    match operands(&module)[1].kind {
        OperandKind::Const(value) => value,
        ref other => panic!("{text} is {other:?}"),
    }
}

fn signed(value: i64) -> ConstValue {
    ConstValue::Int { bits: value as u64, unsigned: false }
}

fn unsigned(bits: u64) -> ConstValue {
    ConstValue::Int { bits, unsigned: true }
}

#[test]
fn literals() {
    let table = [
        ("0", signed(0)),
        ("00", signed(0)),
        ("42", signed(42)),
        ("052", signed(42)),
        ("0x2a", signed(42)),
        ("0X2A", signed(42)),
        ("0b101010", signed(42)),
        ("42U", unsigned(42)),
        ("0xffU", unsigned(255)),
        ("0x7fffffffffffffff", signed(i64::MAX)),
        ("0x8000000000000000", unsigned(1 << 63)),
        ("18446744073709551615", unsigned(u64::MAX)),
        ("1.", ConstValue::F64(1.0)),
        (".5", ConstValue::F64(0.5)),
        ("1e3", ConstValue::F64(1000.0)),
        ("1.5e-3", ConstValue::F64(0.0015)),
        ("09.5", ConstValue::F64(9.5)),
        ("0f3F800000", ConstValue::F32(0x3f80_0000)),
        ("0F3f800000", ConstValue::F32(0x3f80_0000)),
        ("0d3FF0000000000000", ConstValue::F64(1.0)),
        ("WARP_SZ", signed(32)),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn expressions() {
    let table = [
        ("1+2*3", signed(7)),
        ("(1+2)*3", signed(9)),
        ("7 % 3", signed(1)),
        ("-8", signed(-8)),
        ("-9223372036854775808", signed(i64::MIN)),
        ("- - 8", signed(8)),
        ("~0", unsigned(u64::MAX)),
        ("!0", signed(1)),
        ("!5", signed(0)),
        ("1<<4|1", unsigned(17)),
        ("-16>>2", signed(-4)),
        ("(.u64)-16>>60", unsigned(15)),
        ("-1 < 1", signed(1)),
        ("-1 < 1U", signed(0)),
        ("-7/2", signed(-3)),
        ("6&3^1", unsigned(3)),
        ("1==1&&2!=2||3>=3", signed(1)),
        ("1 ? 2 : 3", signed(2)),
        ("0 ? 2 : 0 ? 3 : 4", signed(4)),
        ("1.5+1", ConstValue::F64(2.5)),
        ("1.0/4", ConstValue::F64(0.25)),
        ("1.5>1", signed(1)),
        ("(.s64)2.9", signed(2)),
        ("WARP_SZ*2-1", signed(63)),
        ("1<<64", signed(0)),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// A statement that is refused: where, with what message, and what it is after the fix ("" where
/// none is certain).
fn refused(statement: &str, column: u32, message: &str, repaired: &str) {
    let parsed = read(&kernel(statement));
    assert_eq!(messages(&parsed), [format!("5:{column} {message}")], "{statement}");
    if repaired.is_empty() {
        assert!(parsed.diagnostics[0].fixes.is_empty(), "{statement}: unexpected fix");
    } else {
        assert_eq!(fixed(&parsed), kernel(repaired), "{statement}");
        good(&kernel(repaired));
    }
    let diagnostic = &parsed.diagnostics[0];
    let explained = !diagnostic.helps.is_empty() || !diagnostic.label.is_empty();
    assert!(explained || !diagnostic.notes.is_empty(), "{statement}: no help");
}

#[test]
fn refused_literals() {
    for (literal, message, repaired) in [
        ("08", "`08` is no octal number", "8"),
        ("0xffu", "`0xffu` has the suffix `u`", "0xffU"),
        ("1UL", "`1UL` has the suffix `UL`", "1U"),
        ("1_000", "`1_000` has `_` between its digits", "1000"),
        ("1.0f", "`1.0f` has the suffix `f`", "1.0"),
        ("0f3F80000", "`0f3F80000` is no single-precision constant", ""),
        ("0d3F8", "`0d3F8` is no double-precision constant", ""),
        ("'a'", "PTX has no character literals", "97"),
        ("0x", "`0x` is no number", ""),
    ] {
        let repaired = if repaired.is_empty() { "".into() } else { format!("mov.b32 x, {repaired};") };
        refused(&format!("mov.b32 x, {literal};"), 12, message, &repaired);
    }
}

#[test]
fn refused_characters() {
    refused("mov.b32 x,\x0c1;", 11, "a form feed is no blank in PTX", "mov.b32 x, 1;");
    refused("mov.b32 x,\x0b1;", 11, "a vertical tab is no blank in PTX", "mov.b32 x, 1;");
    refused("mov.b32 x, 1; # one", 15, "`#` does not start a comment", "mov.b32 x, 1; // one");
    refused("#define X 1", 1, "`#define` is not PTX", "");
    refused("mov.b32 é, 1;", 9, "`é` is not ASCII", "");
    refused("mov.b32 x, 1;\\", 14, "`\\` is nothing in PTX", "");
    refused("mov.b32 x, $;", 12, "a lone `$` is no identifier", "");
    refused("exit;\0", 6, "a NUL byte stands inside the file", "exit;");
    refused(".pragma \"a\\\"b\";", 11, "a string in PTX has no escapes", "");
    let parsed = read(&kernel(".pragma \"abc"));
    assert_eq!(messages(&parsed)[0], "5:9 this string has no closing `\"`");
}

#[test]
fn byte_order_mark_and_final_nul() {
    let text = kernel("exit;");
    let parsed = read(&format!("\u{feff}{text}"));
    assert_eq!(messages(&parsed), ["1:1 the file starts with a byte order mark"]);
    assert_eq!(fixed(&parsed), text);
    good(&format!("{text}\0"));
}

#[test]
fn refused_addresses() {
    let ld = |address: &str| format!("ld.b32 x, {address};");
    for (address, column, message, repaired) in [
        ("[r-8]", 13, "`r-8`: an offset can only be added", "[r+-8]"),
        ("[8+r]", 12, "`[8+r]` has its parts in the wrong order", "[r+8]"),
        ("[a+b]", 14, "`b` cannot be added to `a` inside an operand", ""),
        ("[(s)]", 12, "`s` cannot stand in parentheses", "[s]"),
        ("[s[2]]", 13, "expected `]`, found `[`", ""),
        ("[]", 11, "`[]` holds no address", ""),
        ("[%tid.x]", 16, "expected `]`, found `.x`", ""),
        ("[r*8]", 13, "expected `]`, found `*`", ""),
        ("[_]", 12, "expected a register, a variable or a number, found `_`", ""),
        ("[1.5]", 12, "`1.5` is no address", ""),
        ("[r+1.5]", 14, "`1.5` is no byte offset", ""),
        ("[r", 13, "expected `]`, found `;`", ""),
        ("[r, 1", 16, "expected `]`, found `;`", ""),
        ("[r+8, {a}]", 12, "`r+8` cannot stand before `,` in an address", ""),
    ] {
        let repaired = if repaired.is_empty() { String::new() } else { ld(repaired) };
        refused(&ld(address), column, message, &repaired);
    }
}

/// A statement that is refused, with a fix that is no exact text or with none.
fn reported(statement: &str, column: u32, message: &str) {
    let parsed = read(&kernel(statement));
    assert_eq!(messages(&parsed), [format!("5:{column} {message}")], "{statement}");
}

#[test]
fn refused_statements() {
    for (statement, column, message, repaired) in [
        ("exit", 5, "expected `;` after `exit`", "exit;"),
        ("bar.sync   1, 64", 17, "expected `;` after `bar.sync 1, 64`", "bar.sync   1, 64;"),
        (".reg .b32 a", 12, "expected `;` after `.reg .b32 a`", ".reg .b32 a;"),
        ("exit;;", 6, "a second `;` stands here", "exit;"),
        ("{ exit; };", 10, "a `;` stands behind `}`", "{ exit; }"),
        ("add.u32 a,, b;", 11, "an operand is missing before `,`", ""),
        ("add.u32 ,a;", 9, "an operand is missing before `,`", ""),
        ("add.u32 a, b,;", 13, "an operand is missing behind this `,`", "add.u32 a, b;"),
        ("add.u32 a b;", 11, "expected `,` or `;`, found `b`", "add.u32 a, b;"),
        ("mov.u32 a, 7%3;", 13, "expected `,` or `;`, found `%3`", "mov.u32 a, 7 % 3;"),
        ("mov.u32 a, 7/0;", 12, "`7/0` divides by zero", ""),
        ("mov.u32 a, s-4;", 13, "`s-4`: an offset can only be added", "mov.u32 a, s+-4;"),
        ("mov. u32 a, 1;", 4, "a word must follow `.` at once", "mov.u32 a, 1;"),
        ("@p { exit; }", 1, "the guard `@p` cannot stand before a block", ""),
        ("@1 exit;", 2, "expected a predicate register, found `1`", ""),
        ("@!!p exit;", 3, "expected a predicate register, found `!`", ""),
        ("@p @q exit;", 4, "expected an instruction, found `@`", ""),
        ("%p0 add.u32 a, b;", 8, "expected `,` or `;`, found `.u32`", "@%p0 add.u32 a, b;"),
        (".shared::cta .b32 a;", 1, "`.shared::cta` is no word of a declaration", ".shared .b32 a;"),
        (".shared .b32 a[4*4];", 16, "`4*4` is no single number", ".shared .b32 a[16];"),
        (".shared .b32 a[-1];", 16, "`-1` is no single number", ""),
        (".extern .shared .b8 d[];", 1, "`.extern` cannot stand in a function's body", ""),
        (".maxntid 1;", 1, "`.maxntid` cannot stand in a body", ""),
    ] {
        refused(statement, column, message, repaired);
    }
    reported(";", 1, "a `;` ends nothing here");
    reported("add.u32 a,\nmov.u32 a, b;", 10, "an operand is missing behind this `,`");
    reported("mov.u32 a, 1.5|1;", 12, "`1.5|1` uses an integer operator on a floating-point constant");
    reported("ld.shared: :cta.u32 a, [b];", 10, "expected an operand, found `:`");
    reported("@p .reg .b32 x;", 1, "a guard cannot stand before `.reg`");
    reported("mov.b64 {a, {b}}, c;", 13, "expected an element, found `{`");
    reported(".shared .b32 a, ;", 15, "a `,` stands behind the last name");
    reported(".shared .b31 a;", 9, "`.b31` is no word of a declaration");
    reported(".shared .b64 m.x;", 15, "expected `,` or `;`, found `.x`");
    reported("mov.b64 {a, b, c;", 17, "expected `}`, found `;`");
}

/// What is wrong once is told once, by the whole program.
#[test]
fn one_mistake_gives_one_finding() {
    for (statements, message) in [
        ("bra L;\nL\nret;", "a label needs `:`"),
        ("bra loop;\nloop\nexit;", "a label needs `:`"),
        ("bra.uni $L1; $L1 ret;", "a label needs `:`"),
        ("mbarrier.init.shared.b64 [mb, 1;", "expected `]`, found `;`"),
        ("mov.u32 r,, 1;", "an operand is missing before `,`"),
        ("mov.u32 r, 1,;", "an operand is missing behind this `,`"),
        ("mov.u32 %%r, 1;", "`%%r` is spelt as in inline assembly"),
        ("mov.u32 r, %tid.w1;", "expected `,` or `;`, found `.w1`"),
        ("mov.u32 r, %tid . x;", "a word must follow `.` at once"),
        ("mov.u32 ä, 0;", "`ä` is not ASCII"),
        (".pragma \"nounroll;", "this string has no closing `\"`"),
        ("mov.u32 r, 1;\\n", "`\\n` is no blank in PTX"),
        ("mov.u32 r, 1; /* open", "this comment never ends"),
        ("if (r == 0) { mov.u32 r, 1; }", "`if` is C, not PTX"),
        ("for (i = 0; i < 4; ++i) mov.u32 r, 1;", "`for` is C, not PTX"),
        ("ld.volatile.shared:cta.u32 r, [mb];", "`.shared:cta` has one `:`"),
        ("mbarrier.init.shared:cta.b64 [mb], 1, 2;", "`.shared:cta` has one `:`"),
        ("mov.u32 r, 1:", "expected `,` or `;`, found `:`"),
        ("mov.u32 %0, 1;", "`%0` is not declared"),
    ] {
        let text = kernel(&format!(".shared .b64 mb; .reg .b32 r;\n{statements}"));
        let file = SourceFile::new("test.ptx", text);
        let checked = crate::check::check(file, &crate::check::Settings::default());
        let found: Vec<&str> = checked.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(found, [message], "{statements}");
    }
}

#[test]
fn cuda_sources_are_told_from_ptx() {
    for text in [
        "#include <cuda/barrier>\n__global__ void k() { int x = 08; }\n",
        "// a kernel\n\n  # include \"a.h\"\nint main() { }",
        "/* c */ template <int N> __global__ void k(char c = 'x') { }",
    ] {
        let file = SourceFile::new("test.cu", text);
        let checked = crate::check::check(file, &crate::check::Settings::default());
        let found: Vec<&str> = checked.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(found, ["this file is CUDA C++, not PTX"], "{text}");
    }
    let parsed = read(&format!("#include <x>\n{}", kernel("exit;")));
    assert_eq!(messages(&parsed), ["1:1 `#include` is not PTX"]);
}

#[test]
fn refused_items() {
    for (item, message) in [
        (".global .u32 g", "4:15 expected `;` after `.global .u32 g`"),
        (".extern .visible .global .u32 g;", "4:9 `.visible` is a second linkage word"),
        (".global .visible .u32 g;", "4:9 `.visible` must come first"),
        (".global .u32 .align 8 g;", "4:14 `.align 8` stands behind the type"),
        (".global .u32 g[2] = {1, 2,};", "4:26 a `,` stands behind the last value"),
        (".global .u64 g = s-4;", "4:19 `s-4`: an offset can only be added"),
        (".global .u32;", "4:13 expected a name to declare, found `;`"),
        (".b32 x;", "4:6 expected a state space such as `.reg` or `.shared`, found `x`"),
        (".entry k(.param .u32 a,) { }", "4:23 a `,` stands behind the last parameter"),
        (".entry .visible k() { }", "4:8 `.visible` cannot stand here"),
        (".entry k() { };", "4:15 a `;` stands behind `}`"),
        (".entry k() .maxntid 1; { }", "4:22 a `;` stands in the function's header"),
        (".entry k() { } }", "4:16 this `}` closes nothing"),
        (".entry () { }", "4:8 expected the function's name, found `(`"),
        (".maxntid 1", "4:1 `.maxntid` cannot stand at module level"),
        ("exit;", "4:1 `exit` stands outside of every function"),
        ("@@DWARF .4byte 1", "4:1 `@@` directives ended with PTX 1.x"),
        (".section \"x\" { }", "4:10 expected the section's name, found `\"x\"`"),
        (".func f", "4:8 this function has neither a body nor a `;`"),
        (".version 8", "4:10 `8` is no version"),
        (".address_size x", "4:15 expected `32` or `64`, found `x`"),
    ] {
        let parsed = read(&format!("{HEADER}{item}\n.global .u32 last;\n"));
        assert_eq!(messages(&parsed), [message], "{item}");
        let last = parsed.module.items.last();
        assert!(matches!(last, Some(Item::Variable(_))), "{item}: does not recover");
    }
}

#[test]
fn one_run_shows_every_error() {
    let parsed = read(&kernel(
        "mov.u32 a, 1\nmov.u32 b, 08;\nld.u32 c, [d-4];\nadd.u32 a, b c;\n@p { exit; }\nbad..x y;\nL: exit",
    ));
    assert_eq!(
        messages(&parsed),
        [
            "5:13 expected `;` after `mov.u32 a, 1`",
            "6:12 `08` is no octal number",
            "7:13 `d-4`: an offset can only be added",
            "8:14 expected `,` or `;`, found `c`",
            "9:1 the guard `@p` cannot stand before a block",
            "10:4 a word must follow `.` at once",
            "11:8 expected `;` after `exit`",
        ]
    );
    // Everything that could be read is in the tree.
    let count = statements(&parsed.module)
        .iter()
        .filter(|statement| matches!(statement.kind, StatementKind::Instruction(_)))
        .count();
    assert_eq!(count, 8);
}

#[test]
fn a_broken_function_does_not_hide_the_next() {
    let parsed = read(&format!("{HEADER}.entry a() {{\n{{ exit;\n.entry b() {{ exit; }}\n"));
    assert_eq!(messages(&parsed), ["6:1 expected 2 `}`, found `.entry`"]);
    assert_eq!(parsed.module.functions().count(), 2);
}

/// A module that has everything.
const EVERYTHING: &str = r#"// first
.version 9.05 /* v */
.target sm_90a, debug
.address_size 64
# 1 "x.cu"
.file 1 "a.cu", 12, 34
.pragma "a", "b";
.extern .shared .align 16 .b8 smem[];
.visible .global .align 8 .v4 .u32 g[2][3] = {{1, 2}, {3}}, h;
.align 4 .global .f32 f[2] = {0f3F800000, 1.5};
.const .u64 c = generic(g)+4;
.const .u64 e[2] = {g, g+8};
.global .u8 m[2] = {0xFF(g), 0xFF00(g)};
.global .attribute(.managed) .s32 managed;
.common .global .b32 common[4];
.func (.param .b32 r) f(.param .b64 a, .reg .u32 b) .noreturn .abi_preserve 3;
.weak .func .attribute(.unified(1, 2)) w()
.language "cuda c++", 4
{
}
.alias f, w;
.visible .entry k(
	.param .u64 .ptr .global .align 16 a, // the first
	.param .align 64 .b8 map[128]
)
.maxntid 128, 1, 1
.explicitcluster .reqnctapercluster 2
.pragma "x";
{
	.reg .pred p, q;
	.reg .b32 %r<8>, x;
	.loc 1 2 3
	.loc 1 2 3, function_name $L_s+4, inlined_at 1 2 3
	mov .u32	%r1, %tid.x;
	@p mbarrier.init.shared::cta.b64 [smem+8], 4*(2+1); // init
	@ ! q bra /* c */ L;
A: B: { .reg .b32 y; C: }
	cp.async.bulk.tensor.1d.shared::cluster.global [smem], [%rd1, {%r1}], [smem+-8];
	mov.v4.u32 {%r1, _, %r2, x}, v;
	elect.sync _|p, 0xffffffff;
	setp.lt.u32 p|q, %r1, 7 % 3, !p;
	vadd.s32.s32.s32 %r1, -%r2.b0, x.h1;
	mov.u64 %r1, g+4; mov.u64 %r1, g[1]; ld.local.u32 %r1, [16];
	st.f32 [x], .5; selp.u32 x, 1 ? 2 : 3, (4), p;
proto : .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;
	call (r), f, (%r1, 4), proto;
	call.uni w;
ts: .branchtargets L, N<5>;
tc: .calltargets f, w;
	// before the label
L:
	ret;
	// the end
}
	.section .debug_info
	{
start:
.b8 1, -2 // two
.b32 .debug_abbrev
.b64 start+4, start-end
	}
// last"#;

#[test]
fn everything_is_read_and_printed() {
    let module = good(EVERYTHING);
    let printed = print(&module);
    assert_eq!(token_texts(&printed), token_texts(EVERYTHING));
    assert_eq!(print(&good(&printed)), printed);
    for comment in &module.comments {
        assert!(printed.contains(module.text(*comment).trim_end()));
    }
}

#[test]
fn layout() {
    let source = "// top\n.version 8.0\n.target sm_90 , debug\n\n\n.visible .entry k(.param .u64 a,.param .u32 b) .maxntid 1,2\n{ .reg .b32 %r<4>; // regs\nmov .u32 %r1 , /* in */ 7 % 3; // behind\n{L: @ ! p ld.u32 %r1,[a + -8];\n// own\n} ret; }";
    let expected = "\
// top
.version 8.0
.target sm_90, debug

.visible .entry k(
    .param .u64 a,
    .param .u32 b
)
.maxntid 1, 2
{
    .reg .b32 %r<4>; // regs
    mov.u32 %r1, 7 % 3; /* in */ // behind
    {
    L:
        @!p ld.u32 %r1, [a+-8];
        // own
    }
    ret;
}
";
    assert_eq!(print(&good(source)), expected);
}

#[test]
fn instructions_can_be_rewritten() {
    let module = good(&kernel("@p mov.u32 a, 1; // c\nexit;"));
    let printed = print_with(&module, &mut |_, _, instruction| {
        let is_mov = module.opcode(instruction).text == "mov.u32";
        is_mov.then(|| "mov.b32 a, 2".to_string())
    });
    assert!(printed.contains("    @p mov.b32 a, 2; // c\n    exit;\n"), "{printed}");
}

#[test]
fn blanks_are_left_out_of_opcodes() {
    let module = good(&kernel("mov /* c */ .u32\n .x a, b;\nmov.u32.x a, b;"));
    let texts: Vec<&str> = module.opcodes.iter().map(|opcode| &*opcode.text).collect();
    assert_eq!(texts, ["mov.u32.x", "ret"]);
}

#[test]
fn blocks_know_their_partners() {
    let module = good(&kernel("{ { } exit; }"));
    let kinds: Vec<String> = statements(&module)
        .iter()
        .map(|statement| match statement.kind {
            StatementKind::Open { close } => format!("open {close}"),
            StatementKind::Close { open } => format!("close {open}"),
            _ => "-".to_string(),
        })
        .collect();
    assert_eq!(kinds, ["open 4", "open 2", "close 1", "-", "close 0", "-"]);
}

/// Reads and prints `text`, a pile of `piece`.
fn survive(piece: &str, text: &str) {
    let start = Instant::now();
    let parsed = read(text);
    let printed = print(&parsed.module);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{piece:?} took {took:?}");
    assert!(printed.len() <= 200 * text.len(), "{piece:?}");
}

#[test]
fn nothing_overflows_or_takes_long() {
    let pieces = [
        "{",
        "}",
        "(",
        "[",
        ";",
        ",",
        "@",
        "-",
        "!",
        "~",
        "a",
        "a\n",
        "a;",
        ".x",
        ".",
        ":",
        "a:",
        "\"",
        "#",
        "\n#",
        "/*",
        "/**/",
        "//\n",
        "'",
        "\\",
        "\0",
        "é",
        "08 ",
        "{a,",
        "[a,",
        "1+",
        "(1",
        "1?",
        "a[",
        "@p{",
        ".reg ",
        ".entry ",
        ".func f(",
        "\n.entry a() {",
    ];
    for piece in pieces {
        survive(piece, &kernel(&piece.repeat(1_000_000 / piece.len())));
        let pile = piece.repeat(100_000 / piece.len());
        survive(piece, &pile);
        survive(piece, &kernel(&format!("mov.u32 x, {pile}")));
        survive(piece, &format!("{HEADER}.global .u32 x = {pile}"));
        survive(piece, &format!("{HEADER}.section .x {{ {pile}"));
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("mov.u32 x, {}1{};", "(".repeat(depth), ")".repeat(depth));
    good(&kernel(&nested(64)));
    let parsed = read(&kernel(&nested(65)));
    assert_eq!(messages(&parsed), ["5:76 this expression is nested more than 64 deep"]);
    let parsed = read(&format!("{HEADER}.global .u32 x = {}1{};", "{".repeat(70), "}".repeat(70)));
    assert_eq!(messages(&parsed), ["4:82 this initialiser is nested more than 64 deep"]);
}

#[test]
fn truncated_anywhere() {
    for end in 0..EVERYTHING.len() {
        let parsed = read(&EVERYTHING[..end]);
        print(&parsed.module);
    }
}

/// One line of a body.
fn any_statement() -> impl Strategy<Value = String> {
    let lines: Vec<&'static str> = EVERYTHING
        .lines()
        .skip_while(|line| !line.starts_with("\t.reg"))
        .take_while(|line| *line != "L:")
        .collect();
    prop::sample::select(lines).prop_map(str::to_string)
}

fn any_module() -> impl Strategy<Value = String> {
    prop::collection::vec(any_statement(), 0..12).prop_map(|lines| kernel(&lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn printing_keeps_the_tokens(text in any_module()) {
        let module = good(&text);
        let printed = print(&module);
        prop_assert_eq!(token_texts(&printed), token_texts(&text));
        prop_assert_eq!(print(&good(&printed)), printed);
    }

    #[test]
    fn mutated_text_never_panics(
        at in 0..EVERYTHING.len(),
        length in 0..40usize,
        insert in "[ -~\n\u{e9}]{0,6}",
    ) {
        let end = (at + length).min(EVERYTHING.len());
        let text = format!("{}{}{}", &EVERYTHING[..at], insert, &EVERYTHING[end..]);
        let parsed = read(&text);
        let printed = print(&parsed.module);
        if parsed.diagnostics.is_empty() {
            prop_assert_eq!(token_texts(&printed), token_texts(&text));
        }
    }

    #[test]
    fn random_text_never_panics(text in "[ -~\n\t\u{e9}]{0,200}") {
        let parsed = read(&kernel(&text));
        print(&parsed.module);
    }
}
