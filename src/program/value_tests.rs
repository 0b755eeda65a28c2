//! Text in, value out, for each form that values are computed of.

use super::flow::Flow;
use super::lanes::{Threads, Variation};
use super::value::{Known, Place, wrapped};
use super::{Options, Program, RegisterId, VariableId};
use crate::source::SourceFile;
use crate::syntax::parse;
use crate::types::Type;

fn program(directives: &str, body: &str) -> Program {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b64 bar[4];\n\
         .shared .align 8 .b64 other;\n.entry k(.param .u64 g) {directives} {{\n\
         .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;\n{body}\nret;\n}}\n"
    );
    let parsed = parse(SourceFile::new("t", text));
    assert!(parsed.diagnostics.is_empty(), "{body}: {:?}", parsed.diagnostics);
    let program = Program::new(parsed.module, Options::default());
    assert!(program.problems.is_empty(), "{body}: {:?}", program.problems);
    let flow = Flow::new(&program, &program.routines[0]);
    assert!(!flow.meanings.contains(&None), "{body} does not fit the table");
    program
}

fn register(program: &Program, name: &str) -> RegisterId {
    let registers = &program.routines[0].registers;
    let index = registers.iter().position(|r| program.module.name(r.symbol) == name);
    RegisterId(index.unwrap_or_else(|| panic!("{name} is not used")) as u32)
}

/// The value of `name` at the end of `body`.
fn known(body: &str, name: &str) -> Known {
    let program = program("", body);
    let flow = Flow::new(&program, &program.routines[0]);
    let end = program.routines[0].instructions.len() - 1;
    flow.register(end, register(&program, name), super::value::DEPTH)
}

fn bar(offset: i64) -> Known {
    Known::Place(Place { variable: VariableId(0), offset, remote: false })
}

const WITHIN: Known = Known::Within { variable: VariableId(0), remote: false };

#[test]
fn sums_and_products_are_cut_to_their_type() {
    for (body, name, expected) in [
        ("mov.u32 %r1, -1;", "%r1", 4_294_967_295),
        ("mov.s32 %r1, 4294967295;", "%r1", -1),
        ("mov.u64 %d1, 18446744073709551615;", "%d1", -1),
        ("add.u32 %r1, 4294967295, 17;", "%r1", 16),
        ("add.s32 %r1, 2147483647, 1;", "%r1", -2_147_483_648),
        ("add.s64 %d1, 9223372036854775807, 1;", "%d1", i64::MIN),
        ("add.u16 %h1, 65535, 2;", "%h1", 1),
        ("sub.u32 %r1, 3, 4;", "%r1", 4_294_967_295),
        ("sub.s32 %r1, 3, 4;", "%r1", -1),
        ("mul.lo.u32 %r1, 65536, 65537;", "%r1", 65536),
        ("mul.wide.u32 %d1, 4294967295, 4294967295;", "%d1", -8_589_934_591),
        ("mul.wide.s32 %d1, 4294967295, 5;", "%d1", -5),
        ("mul.wide.s16 %r1, 65535, 5;", "%r1", -5),
        ("mad.lo.u32 %r1, 65536, 65536, 7;", "%r1", 7),
        ("mad.wide.u32 %d1, 65536, 65536, 7;", "%d1", 4_294_967_303),
        ("mov.s32 %r0, -8; add.u32 %r1, %r0, 9;", "%r1", 1),
    ] {
        assert_eq!(known(body, name), Known::Number(expected), "{body}");
    }
}

#[test]
fn bits_and_shifts_follow_the_width() {
    for (body, name, expected) in [
        ("and.b32 %r1, 12, 10;", "%r1", 8),
        ("or.b32 %r1, 12, 10;", "%r1", 14),
        ("xor.b32 %r1, 12, 10;", "%r1", 6),
        ("xor.b32 %r1, -1, 1;", "%r1", 4_294_967_294),
        ("shl.b32 %r1, 3, 31;", "%r1", 2_147_483_648),
        ("shl.b32 %r1, 1, 32;", "%r1", 0),
        ("shl.b64 %d1, 1, 32;", "%d1", 4_294_967_296),
        ("shl.b64 %d1, 1, 64;", "%d1", 0),
        ("shl.b32 %r1, 1, -1;", "%r1", 0),
        ("shr.u32 %r1, -1, 28;", "%r1", 15),
        ("shr.b32 %r1, -1, 40;", "%r1", 0),
        ("shr.s32 %r1, -16, 2;", "%r1", -4),
        ("shr.s32 %r1, -16, 99;", "%r1", -1),
        ("shr.u64 %d1, -1, 60;", "%d1", 15),
    ] {
        assert_eq!(known(body, name), Known::Number(expected), "{body}");
    }
}

#[test]
fn conversions_read_one_type_and_write_another() {
    for (body, name, expected) in [
        ("mov.u32 %r0, 264; cvt.u8.u32 %r1, %r0;", "%r1", 8),
        ("mov.u32 %r0, 240; cvt.s32.s8 %r1, %r0;", "%r1", -16),
        ("mov.u32 %r0, 240; cvt.u32.s8 %r1, %r0;", "%r1", 4_294_967_280),
        ("mov.u32 %r0, 240; cvt.u32.u8 %r1, %r0;", "%r1", 240),
        ("mov.s32 %r0, -1; cvt.u64.u32 %d1, %r0;", "%d1", 4_294_967_295),
        ("mov.s32 %r0, -1; cvt.s64.s32 %d1, %r0;", "%d1", -1),
        ("mov.u64 %d0, 4294967297; cvt.u32.u64 %r1, %d0;", "%r1", 1),
    ] {
        assert_eq!(known(body, name), Known::Number(expected), "{body}");
    }
}

#[test]
fn addresses_keep_their_variable_and_offset() {
    for (body, name, expected) in [
        ("mov.u32 %r1, bar;", "%r1", bar(0)),
        ("mov.u64 %d1, bar+8;", "%d1", bar(8)),
        ("mov.u32 %r0, bar; add.s32 %r1, %r0, 8;", "%r1", bar(8)),
        ("mov.u32 %r0, bar; add.s32 %r1, 8, %r0;", "%r1", bar(8)),
        ("mov.u32 %r0, bar; add.u32 %r1, %r0, 4294967288;", "%r1", bar(-8)),
        ("mov.u64 %d0, bar; sub.s64 %d1, %d0, 8;", "%d1", bar(-8)),
        ("mov.u32 %r0, bar; mad.lo.u32 %r1, 3, 8, %r0;", "%r1", bar(24)),
        ("mov.u64 %d0, bar; cvta.shared.u64 %d1, %d0;", "%d1", bar(0)),
        ("mov.u64 %d0, bar; cvta.to.shared.u64 %d1, %d0;", "%d1", bar(0)),
        ("mov.u64 %d0, bar; cvt.u32.u64 %r1, %d0;", "%r1", bar(0)),
        ("mov.u32 %r0, bar; mov.u32 %r2, %clock; add.s32 %r1, %r0, %r2;", "%r1", WITHIN),
        ("mov.u32 %r2, %clock; mov.u32 %r0, bar; mad.lo.u32 %r1, %r2, 8, %r0;", "%r1", WITHIN),
        ("mov.u32 %r1, bar; @%p1 bra L; mov.u32 %r1, bar+8; L:", "%r1", WITHIN),
    ] {
        assert_eq!(known(body, name), expected, "{body}");
    }
}

#[test]
fn mapa_leads_to_another_cta_unless_the_rank_is_the_own() {
    let remote = |offset| Known::Place(Place { variable: VariableId(0), offset, remote: true });
    let map = |before: &str, rank: &str| {
        let body = format!("{before} mov.u32 %r0, bar+8; mapa.shared::cluster.u32 %r1, %r0, {rank};");
        known(&body, "%r1")
    };
    assert_eq!(map("", "1"), remote(8));
    assert_eq!(map("mov.u32 %r5, %cluster_ctarank;", "%r5"), bar(8));
    assert_eq!(map("mov.u32 %r5, %cluster_ctaid.x;", "%r5"), Known::No);
    assert_eq!(map("mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1;", "%r5"), remote(8));
    let unknown = "mov.u32 %r0, %clock; mapa.shared::cluster.u32 %r1, %r0, 1; add.u32 %r2, %r1, 8;";
    assert_eq!(known(unknown, "%r2"), Known::Remote);
}

#[test]
fn what_is_not_followed_is_not_known() {
    for (body, name) in [
        ("mul.hi.u32 %r1, 65536, 65536;", "%r1"),
        ("mad.hi.u32 %r1, 65536, 65536, 1;", "%r1"),
        ("add.sat.s32 %r1, 2147483647, 1;", "%r1"),
        ("cvt.sat.u8.u32 %r1, %r2;", "%r1"),
        ("mul24.lo.u32 %r1, 3, 4;", "%r1"),
        ("mov.u32 %r1, %tid.x;", "%r1"),
        ("mov.u32 %r0, bar; cvt.u16.u32 %h1, %r0;", "%h1"),
        ("mov.u32 %r0, bar; and.b32 %r1, %r0, -8;", "%r1"),
        ("mov.u32 %r1, bar; @%p1 mov.u32 %r1, other;", "%r1"),
        ("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2;", "%r1"),
        ("mov.u32 %r1, 1; L: add.u32 %r1, %r1, 1; @%p1 bra L;", "%r1"),
    ] {
        assert_eq!(known(body, name), Known::No, "{body}");
    }
}

#[test]
fn a_number_is_held_in_the_bits_of_its_type() {
    assert_eq!(wrapped(-1, Type::U8), 255);
    assert_eq!(wrapped(255, Type::S8), -1);
    assert_eq!(wrapped(-1, Type::U64), u64::MAX.into());
    assert_eq!(wrapped(-1, Type::S64), -1);
    assert_eq!(wrapped(1 << 32, Type::B32), 0);
}

#[test]
fn the_distance_from_a_given_address_is_known_while_constants_are_added() {
    for (body, expected) in [
        ("ld.param.u64 %d1, [g];", Some(0)),
        ("ld.param.u64 %d0, [g]; add.s64 %d1, %d0, -8;", Some(-8)),
        ("ld.param.u64 %d0, [g]; cvta.to.global.u64 %d2, %d0; sub.s64 %d1, %d2, 24;", Some(-24)),
        ("ld.param.u64 %d0, [g]; mov.u64 %d2, %clock64; add.s64 %d1, %d0, %d2;", None),
        ("mov.u64 %d1, %clock64;", None),
        ("add.s64 %d0, %d1, 1;", Some(0)),
    ] {
        let program = program("", body);
        let flow = Flow::new(&program, &program.routines[0]);
        let end = program.routines[0].instructions.len() - 1;
        assert_eq!(flow.behind_given(end, register(&program, "%d1")), expected, "{body}");
    }
}

#[test]
fn predicates_of_the_thread_part_warps_or_not() {
    use Variation::{Uniform, Unknown, Varies};
    for (directives, body, expected) in [
        ("", "setp.eq.u32 %p1, %r0, 0;", Varies),
        ("", "setp.lt.u32 %p1, %r0, 64;", Uniform),
        ("", "setp.le.u32 %p1, %r0, 64;", Varies),
        ("", "setp.le.u32 %p1, 64, %r0;", Uniform),
        ("", "setp.gt.u32 %p1, 64, %r0;", Uniform),
        ("", "setp.ge.u32 %p1, 64, %r0;", Varies),
        ("", "setp.lt.u32 %p1, %r0, 48;", Varies),
        ("", "setp.lt.u32 %p1, %r0, 2000;", Uniform),
        ("", "setp.lo.u32 %p1, %r0, 33;", Varies),
        ("", "setp.lt.s32 %p1, %r0, -1;", Uniform),
        (".reqntid 32", "setp.lt.u32 %p1, %r0, 48;", Uniform),
        (".maxntid 1", "setp.eq.u32 %p1, %r0, 0;", Uniform),
        (".reqntid 16, 2", "setp.eq.u32 %p1, %r0, 15;", Varies),
        (".reqntid 16, 2", "setp.lt.u32 %p1, %r0, 16;", Uniform),
        ("", "and.b32 %r1, %r0, 63; setp.lt.u32 %p1, %r1, 32;", Uniform),
        ("", "and.b32 %r1, %r0, 31; setp.eq.u32 %p1, %r1, 0;", Varies),
        ("", "and.b32 %r1, %r0, 96; setp.eq.u32 %p1, %r1, 0;", Uniform),
        ("", "shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0;", Uniform),
        ("", "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 0;", Varies),
        ("", "mov.u32 %r1, %ctaid.x; or.b32 %r2, %r0, %r1; setp.eq.u32 %p1, %r2, 0;", Varies),
        ("", "mov.u32 %r1, %ctaid.x; or.b32 %r2, %r0, %r1; setp.eq.u32 %p1, %r2, 5;", Unknown),
        ("", "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;", Unknown),
        ("", "setp.eq.u32 %p2, %r0, 0; setp.eq.and.u32 %p1, 1, 1, %p2;", Varies),
        ("", "setp.eq.u32 %p2, %r0, 0; not.pred %p1, %p2;", Varies),
    ] {
        let program = program(directives, &format!("mov.u32 %r0, %tid.x; {body}"));
        let flow = Flow::new(&program, &program.routines[0]);
        let end = program.routines[0].instructions.len() - 1;
        assert_eq!(flow.variation(end, register(&program, "%p1")), expected, "{directives} {body}");
    }
}

#[test]
fn the_threads_of_a_cta_are_declared() {
    for (directives, width, count) in [
        ("", 1024, 1024),
        (".reqntid 64", 64, 64),
        (".reqntid 16, 4", 16, 64),
        (".maxntid 16, 4", 64, 64),
        (".maxntid 2048", 1024, 1024),
    ] {
        let program = program(directives, "");
        let flow = Flow::new(&program, &program.routines[0]);
        assert_eq!(flow.threads(), Threads { width, count }, "{directives}");
    }
}

#[test]
fn the_last_writers_of_a_register_are_found() {
    // The instructions that write %r1, of those whose numbers stand before them.
    for (body, expected) in [
        ("mov.u32 %r1, 0;", Some(vec![0])),
        ("mov.u32 %r1, 0; mov.u32 %r1, 1;", Some(vec![1])),
        ("mov.u32 %r1, 0; @%p1 mov.u32 %r1, 1;", Some(vec![0, 1])),
        ("mov.u32 %r1, 0; @%p1 bra L; mov.u32 %r1, 1; L:", Some(vec![0, 2])),
        ("mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; @%p1 bra L;", Some(vec![1])),
        ("@%p1 bra L; mov.u32 %r1, 1; bra M; L: mov.u32 %r1, 2; M:", Some(vec![1, 3])),
        ("@%p1 bra L; mov.u32 %r1, 1; bra M; L: @%p2 mov.u32 %r1, 2; M:", None),
        ("add.u32 %r2, %r1, 1;", None),
    ] {
        let program = program("", body);
        let flow = Flow::new(&program, &program.routines[0]);
        let end = program.routines[0].instructions.len() - 1;
        let mut found = flow
            .reaching(end, register(&program, "%r1"))
            .map(|all| all.iter().map(|definition| definition.at).collect::<Vec<_>>());
        found.iter_mut().for_each(|all| all.sort_unstable());
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn what_every_path_passes_is_inevitable() {
    // The first instructions of the blocks that a thread passes from the start to the end.
    for (body, expected) in [
        ("", vec![0]),
        ("@%p1 bra L; membar.cta; L:", vec![0, 2]),
        ("@%p1 bra L; membar.cta; ret; L:", vec![0]),
        ("L: @%p1 bra L;", vec![0, 1]),
    ] {
        let program = program("", body);
        let flow = Flow::new(&program, &program.routines[0]);
        let mut found: Vec<usize> =
            flow.inevitable_from(0).into_iter().map(|block| flow.blocks[block].start).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn instructions_run_together_under_one_value_of_their_guard() {
    for (body, expected) in [
        ("membar.cta; membar.gl;", true),
        ("@%p1 membar.cta; @%p1 membar.gl;", true),
        ("@%p1 membar.cta; @!%p1 membar.gl;", false),
        ("@%p1 membar.cta; membar.gl;", false),
        ("membar.cta; @%p1 membar.gl;", false),
        ("@%p1 membar.cta; setp.eq.u32 %p1, %r1, 0; @%p1 membar.gl;", false),
        ("membar.cta; L: membar.gl;", false),
    ] {
        let program = program("", body);
        let flow = Flow::new(&program, &program.routines[0]);
        let last = program.routines[0].instructions.len() - 2;
        assert_eq!(flow.run_together(0, last), expected, "{body}");
    }
}
