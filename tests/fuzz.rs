//! Broken input: whatever the text, checking ends soon, without a panic, with findings that lie in the
//! text and stand in order. A failure names its seed: `MBAR_SEED=n cargo test --test fuzz -- --nocapture`.

mod support;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mbar::check::{self, Settings};
use mbar::diagnostic::Diagnostic;
use mbar::extract::Language;
use mbar::isa::target::Toolkit;
use mbar::report::human::Renderer;
use mbar::report::json::Document;
use mbar::source::SourceFile;
use mbar::syntax::{self, print};
use rayon::prelude::*;
use support::{Failures, Random, files, read, source};

/// Fragments of real programs, mutated.
const FRAGMENTS: Range<u64> = 0..100_000;
/// Whole programs, mutated.
const WHOLE_FILES: Range<u64> = 1_000_000..1_001_000;
/// Fragments of C++ texts, and whole ones.
const CXX_FRAGMENTS: Range<u64> = 2_000_000..2_020_000;
const CXX_FILES: Range<u64> = 3_000_000..3_001_000;
/// The longest fragment, in bytes.
const FRAGMENT: usize = 2048;
/// One text of so many is also rendered in every format.
const RENDERED: u64 = 50;

/// Texts to start from: real programs, and every instruction form once.
fn corpus() -> Vec<String> {
    let folders = ["guide", "real", "hw", "cases"];
    let mut texts: Vec<String> =
        folders.iter().flat_map(|f| files(f, "ptx")).map(|path| read(&path)).collect();
    let mut forms: Vec<String> = Vec::new();
    for rows in support::rows("oracle/forms.tsv").chunks(40) {
        let lines: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        forms.push(support::frame(&lines.join("\n"), "9.5", "sm_107a").1);
    }
    texts.append(&mut forms);
    texts
}

/// What mutations insert: pieces that mean something, and some that must not.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ";",
    ",",
    ":",
    "|",
    "@",
    "!",
    "_",
    ".",
    "..",
    "::",
    "%",
    "%%",
    "<",
    ">",
    "\"",
    "\\",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{b}",
    "ä",
    "→",
    "🙂",
    "\u{feff}",
    "\u{202e}",
    "0",
    "-1",
    "0x",
    "0f3F80",
    "0f3F800000",
    "0d",
    "1.5",
    "1e9",
    "18446744073709551616",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "0x8000000000000000",
    "08",
    "0b2",
    ".version 9.5",
    ".target sm_90a",
    ".address_size 64",
    ".entry k(",
    ".func (.reg .b32 r) f",
    ".reg .b32 %r<",
    ".shared",
    ".align 8",
    ".b64 bar[",
    "= {1, {2",
    ".param .b64 p",
    ".section .debug_str {",
    ".pragma \"",
    ".loc 1 2 3",
    ".callprototype",
    ".branchtargets",
    "ret;",
    "bra L;",
    "L:",
    "@%p0",
    "@!p",
    "mbarrier.init.shared.b64 [bar], 1;",
    "cp.async.bulk",
    ".shared::cta",
    ".mbarrier::complete_tx::bytes",
    "[smem+",
    "[bar+9223372036854775807]",
    "[%r0+-9223372036854775808]",
    ".reg .b32 %r<9223372036854775807>;",
    ".align 9223372036854775807",
    "{%r0, %r1}",
    "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16}",
    "{0, {1, {2, {3, {4, {5, {6, {7}}}}}}}}",
    "{ { { { { { { { { { { { bra L; } } } } } }",
    "} } } } } } } }",
    "A: B: C: D: E: F: G: A:",
    "@%p0 bra A; @!%p0 bra B; bra C;",
    "%p0|%p1",
    "generic(",
    "// mbar: allow(",
    "// mbar: allow-file(syntax-error) x",
    "// mbar: arg p = u32[",
    "// mbar: launch grid=",
    "asm volatile(\"",
    "asm(",
    "\" ::: \"memory\");",
    "\\\n",
    "R\"(",
    ")\"",
    "#if __CUDA_ARCH__ >= 900\n",
    "#else\n",
    "#endif\n",
    "#define M \"",
    "%0",
    "%[bar]",
    "%=",
    ": \"=r\"(x) : \"l\"(y)",
    "\"n\"(",
];

/// One text for `seed`.
fn mutated(seed: u64, corpus: &[String], whole: bool) -> String {
    let mut random = Random::new(seed);
    let text = &corpus[random.below(corpus.len())];
    let mut bytes = text.as_bytes().to_vec();
    if !whole {
        let length = 1 + random.below(FRAGMENT);
        let start = random.below(bytes.len());
        bytes = bytes[start..(start + length).min(bytes.len())].to_vec();
        if random.below(2) == 0 {
            let head = support::header("8.6", "sm_90a") + ".entry k() {\n";
            bytes.splice(0..0, head.bytes());
        }
    }
    for _ in 0..1 + random.below(6) {
        mutate(&mut bytes, &mut random);
    }
    if !whole {
        bytes.truncate(FRAGMENT);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.extend(random.pick(PIECES).bytes());
        return;
    }
    // Half of the mutations work on lines, half on what stands between blanks.
    let is_separator: fn(u8) -> bool = match random.below(2) {
        0 => |byte| byte == b'\n',
        _ => |byte| byte.is_ascii_whitespace() || b",;.[]{}()".contains(&byte),
    };
    let (a, b) = (
        piece(bytes, random.below(bytes.len()), is_separator),
        piece(bytes, random.below(bytes.len()), is_separator),
    );
    match random.below(8) {
        0 => drop(bytes.drain(a)),
        1 => {
            let copy = bytes[a].to_vec();
            bytes.splice(b.start..b.start, copy);
        }
        2 if a.end <= b.start => {
            let (first, second) = (bytes[a.clone()].to_vec(), bytes[b.clone()].to_vec());
            bytes.splice(b, first);
            bytes.splice(a, second);
        }
        3 => bytes.truncate(a.start + random.below(a.len() + 1)),
        4 => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        5 => {
            let noise: Vec<u8> = (0..random.below(8)).map(|_| random.next() as u8).collect();
            bytes.splice(a.start..a.start, noise);
        }
        6 => drop(bytes.splice(a, random.pick(PIECES).bytes())),
        _ => drop(bytes.splice(a.start..a.start, random.pick(PIECES).bytes())),
    }
}

/// The piece around `at`, between two separators.
fn piece(bytes: &[u8], at: usize, is_separator: fn(u8) -> bool) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|&b| is_separator(b)).map_or(0, |i| i + 1);
    let end = bytes[at..].iter().position(|&b| is_separator(b)).map_or(bytes.len(), |i| at + i + 1);
    start..end
}

/// What is wrong with the findings of `text`, if anything.
fn complaint(text: &str, render: bool) -> Option<String> {
    complaint_in(Language::Ptx, text, render)
        .or_else(|| render.then(|| printing_complaint(&source("fuzz.ptx", text))).flatten())
}

fn complaint_in(language: Language, text: &str, render: bool) -> Option<String> {
    let settings = Settings { toolkit: Toolkit::from_name("12.4"), verbose: render, ..Settings::default() };
    let file = source("fuzz", text);
    let checked = check::file(file.clone(), language, &settings);
    let length = text.len() as u32;
    for diagnostic in &checked.diagnostics {
        let labels = diagnostic.labels.iter().map(|label| label.span);
        let edits = diagnostic.fixes.iter().flat_map(|fix| &fix.edits).map(|edit| edit.span);
        for span in std::iter::once(diagnostic.span).chain(labels).chain(edits) {
            if span.start > span.end || span.end > length {
                return Some(format!(
                    "{span:?} lies outside the text of {length} bytes: {}",
                    diagnostic.message
                ));
            }
        }
        if diagnostic.message.is_empty() || diagnostic.message.contains("Span(") {
            return Some(format!("not a message for people: {:?}", diagnostic.message));
        }
    }
    let place = |d: &Diagnostic| (d.span.start, d.span.end, d.rule.name);
    if let Some(pair) = checked.diagnostics.windows(2).find(|pair| place(&pair[0]) > place(&pair[1])) {
        return Some(format!("out of order: {} / {}", pair[0].message, pair[1].message));
    }
    render.then(|| rendering_complaint(&file, &checked.diagnostics)).flatten()
}

fn rendering_complaint(file: &SourceFile, diagnostics: &[Diagnostic]) -> Option<String> {
    let mut human = Vec::new();
    let mut renderer = Renderer::new(file, false);
    for diagnostic in diagnostics {
        renderer.write(diagnostic, &mut human).expect("writing to memory");
    }
    let human = String::from_utf8(human).expect("UTF-8");
    if let Some(missing) = diagnostics.iter().find(|d| !human.contains(d.rule.name)) {
        return Some(format!("not in the text for people: {}", missing.message));
    }
    let mut document = Document::new();
    document.add(file, diagnostics);
    let json: serde_json::Value = serde_json::from_str(&document.to_text()).expect("JSON");
    if json["diagnostics"].as_array().map(Vec::len) != Some(diagnostics.len()) {
        return Some("findings are missing in the JSON".into());
    }
    None
}

/// Printing never fails, and keeps every token where the text has no syntax error.
fn printing_complaint(file: &Arc<SourceFile>) -> Option<String> {
    let parsed = syntax::parse(file.clone());
    let printed = print::print(&parsed.module);
    let kept = print::token_texts(file.text()) == print::token_texts(&printed);
    (parsed.diagnostics.is_empty() && !kept).then(|| "printing lost or changed tokens".into())
}

fn run(seeds: Range<u64>, whole: bool) {
    run_on(&corpus(), seeds, whole, complaint);
}

fn run_on(
    corpus: &[String],
    seeds: Range<u64>,
    whole: bool,
    complaint: impl Fn(&str, bool) -> Option<String> + Sync,
) {
    let chosen = std::env::var("MBAR_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds: Vec<u64> = seeds.filter(|seed| chosen.is_none_or(|chosen| chosen == *seed)).collect();
    let failures: Vec<String> = seeds
        .par_iter()
        .filter_map(|&seed| {
            let text = mutated(seed, corpus, whole);
            if chosen.is_some() {
                println!("{text}");
            }
            let render = chosen.is_some() || seed % RENDERED == 0;
            let complaint = match catch_unwind(AssertUnwindSafe(|| complaint(&text, render))) {
                Ok(complaint) => complaint?,
                Err(_) => "panicked (the message stands above)".into(),
            };
            Some(format!("MBAR_SEED={seed}: {complaint}"))
        })
        .collect();
    Failures::new(failures).report("Run with that variable set to see the text.");
}

#[test]
fn mutated_fragments_are_checked_without_a_panic() {
    run(FRAGMENTS, false);
}

#[test]
fn mutated_programs_are_checked_without_a_panic() {
    run(WHOLE_FILES, true);
}

#[test]
fn mutated_cxx_texts_are_checked_without_a_panic() {
    let texts: Vec<String> =
        ["cu", "cuh", "h"].iter().flat_map(|ending| files("inline", ending)).map(|p| read(&p)).collect();
    let complaint = |text: &str, render| complaint_in(Language::Cxx, text, render);
    run_on(&texts, CXX_FRAGMENTS, false, complaint);
    run_on(&texts, CXX_FILES, true, complaint);
}

/// Conditions that depend on macros that depend on conditions, and so on.
#[test]
fn many_macros_that_depend_on_each_other() {
    let definition = |n: usize| {
        format!(
            "#if defined(M{}) && !defined(M{}) || M{}\n#define M{n} M{}\n#endif\n",
            n + 1,
            n + 2,
            n / 2,
            n + 3
        )
    };
    let text: String = (0..50_000).map(definition).collect();
    let statement = "#if M0 || defined(M500)\nvoid f() { asm volatile(\"trap;\"); }\n#endif\n";
    let text = text + statement;
    let start = Instant::now();
    assert_eq!(complaint_in(Language::Cxx, &text, false), None);
    assert!(time_used(start) < TIME_LIMIT, "following macros is not linear");
}

#[test]
fn many_statements_with_unknown_names() {
    let statement =
        |n: usize| format!("void f{n}() {{ asm volatile(\"mov.u32 %0, name{n};\" : \"=r\"(x)); }}\n");
    let text: String = (0..10_000).map(statement).collect();
    let start = Instant::now();
    assert_eq!(complaint_in(Language::Cxx, &text, false), None);
    assert!(time_used(start) < TIME_LIMIT, "asking for names is not linear");
}

/// No input of a megabyte or so may take longer, on a slow machine.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Checks a hard text in every way and within the limit; gives the number of findings.
#[track_caller]
fn endure(text: &str) -> usize {
    endure_within(text, TIME_LIMIT)
}

#[track_caller]
fn endure_within(text: &str, limit: Duration) -> usize {
    let file = source("hard.ptx", text);
    let (send, receive) = mpsc::channel();
    // In a thread of its own, so that a step without an end fails, too.
    std::thread::spawn(move || {
        let start = Instant::now();
        let findings = check::check(file.clone(), &Settings::default()).diagnostics.len();
        let small = file.text().len() < 100_000;
        let _ = send.send((findings, complaint(file.text(), small), time_used(start)));
    });
    match receive.recv_timeout(10 * limit) {
        Ok((findings, complaint, used)) => {
            assert_eq!(complaint, None);
            assert!(used <= limit, "took {used:?} of {limit:?}: a step is not linear in the text");
            findings
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            panic!("took over {:?}: a step is not linear in the text", 10 * limit)
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("panicked (the message stands above)"),
    }
}

/// The processor time of this thread, which other work on the machine does not lengthen; where the
/// system does not tell, the time since `start`.
fn time_used(start: Instant) -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// A kernel around `body`.
fn kernel(body: &str) -> String {
    format!("{}.entry k() {{\n.reg .b32 %r<9>;\n{body}\n}}\n", support::header("9.5", "sm_90a"))
}

#[test]
fn nothing_is_no_program() {
    for text in ["", " ", "\n", "\r\n", "// only a comment", "/* open", "\0", "\u{feff}", ";", "{", "}"] {
        assert!(endure(text) >= 1, "{text:?} has no header");
    }
}

#[test]
fn a_line_of_a_megabyte() {
    endure(&kernel(&"mov.b32 %r0, %r1; ".repeat(60_000)));
    endure(&kernel(&format!("mov.b32 %r0, {};", "x".repeat(1 << 20))));
    endure(&kernel(&format!("mov.b32 %r0{};", ", %r1".repeat(200_000))));
    endure(&kernel(&format!("mov{} %r0, %r1;", ".b32".repeat(250_000))));
    endure(&kernel(&format!("mov.b32 %r0, {}1;", "1+".repeat(500_000))));
    endure(&format!("// {}", "long ".repeat(200_000)));
    endure(&format!(".version {}", "9".repeat(1 << 20)));
}

#[test]
fn a_million_nested_brackets() {
    for pair in ["{}", "()", "[]"] {
        let (open, close) = pair.split_at(1);
        for text in
            [open.repeat(1_000_000), close.repeat(1_000_000), open.repeat(500_000) + &close.repeat(500_000)]
        {
            endure(&text);
            endure(&kernel(&text));
            endure(&kernel(&format!("mov.b32 %r0, {text};")));
            endure(&format!("{}.global .b32 g[2] = {text};", support::header("9.5", "sm_90a")));
        }
    }
    endure(&kernel(&format!("mov.b32 %r0, {}1;", "-".repeat(1_000_000))));
    endure(&kernel(&format!("mov.b32 %r0, {}1;", "!".repeat(1_000_000))));
    endure(&kernel(&format!("mov.b32 %r0, {}1;", "1 ? ".repeat(300_000))));
}

#[test]
fn a_hundred_thousand_misspelt_instructions() {
    assert!(endure(&kernel(&"mbarrier.ini.shared.b64 [%r0], 1;\n".repeat(100_000))) >= 100_000);
}

#[test]
fn many_unknown_instructions() {
    let opcodes: String = (0..60_000).map(|i| format!("moov{i}.b32 %r0, %r1;\n")).collect();
    assert!(endure(&kernel(&opcodes)) >= 60_000);
}

#[test]
fn a_hundred_thousand_unknown_names() {
    assert!(endure(&kernel(&"mov.b32 %r0, %undeclared;\n".repeat(100_000))) >= 1);
    let names: String = (0..100_000).map(|i| format!("mov.b32 %r0, name{i};\n")).collect();
    assert!(endure(&kernel(&names)) >= 100_000);
}

#[test]
fn a_hundred_thousand_syntax_errors() {
    assert!(endure(&kernel(&"mov.b32 ,;\n".repeat(100_000))) >= 1);
    assert!(endure(&"garbage at module level;\n".repeat(100_000)) >= 1);
}

#[test]
fn a_hundred_thousand_missing_labels() {
    let labels: String = (0..100_000).map(|i| format!("bra L{i};\n")).collect();
    assert!(endure(&kernel(&labels)) >= 100_000);
}

#[test]
fn a_hundred_thousand_labels_of_one_name() {
    assert!(endure(&kernel(&"L: ".repeat(100_000))) >= 1);
}

/// Each barrier asks which branches decide over it, each kernel whether it is launched alone.
#[test]
fn many_barriers_branches_and_kernels() {
    let branch =
        |i| format!("setp.eq.b32 p, %r1, {i};\n@p bra L{i};\nadd.u32 %r2, %r2, 1;\nL{i}: bar.sync 0;\n");
    let branches: String = (0..20_000).map(branch).collect();
    endure(&kernel(&format!(".reg .pred p; mov.u32 %r1, %tid.x;\n{branches}ret;")));
    let inits = |i| format!("// {i}\n.entry k{i}() {{ .shared .b64 b; mbarrier.init.b64 [b], 1; ret; }}\n");
    let kernels: String = (0..20_000).map(inits).collect();
    endure(&(support::header("9.5", "sm_90a") + &kernels));
}

#[test]
fn many_names_and_scopes() {
    let registers: String = (0..100_000).map(|i| format!(".reg .b32 a{i};\n")).collect();
    endure(&kernel(&registers));
    endure(&kernel(&"{ .reg .b32 a; mov.b32 a, 0; }\n".repeat(50_000)));
    endure(&kernel(".reg .b32 many<4294967295>; mov.b32 many4294967294, 0;"));
    let kernels: String = (0..20_000).map(|i| format!(".entry k{i}() {{ ret; }}\n")).collect();
    endure(&(support::header("9.5", "sm_90a") + &kernels));
}

/// Numbers at the ends of 64 bits, wherever a number can stand.
#[test]
fn the_largest_numbers() {
    for number in
        ["9223372036854775807", "-9223372036854775808", "0x8000000000000000", "18446744073709551615"]
    {
        endure(&kernel(&format!(
            ".shared .align {number} .b64 bar; .shared .b8 many[{number}]; .reg .b32 q<{number}>;\n\
             mbarrier.init.shared.b64 [bar+{number}], {number};\n\
             mbarrier.arrive.shared::cta.b64 _, [%r0+{number}], {number};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [many+{number}], [%r0], {number}, [bar];\n\
             mov.b32 %r0, {number} + {number}; mov.b32 %r0, {number} * {number}; mov.b32 %r0, -({number});\n\
             mov.b32 %r0, {number} / -1; mov.b32 %r0, {number} % -1; mov.b32 %r0, 1 << {number};\n\
             mov.b32 %r0, many+{number}; ld.shared.b32 %r1, [%r0+{number}]; bar.sync {number}, {number};\n\
             @%p{number} bra L{number};"
        )));
    }
}

#[test]
fn wide_vectors() {
    let wide = format!("{{{}%r0}}", "%r1, ".repeat(200_000));
    endure(&kernel(&format!("mov.b64 %r0, {wide};\nmov.b64 {wide}, %r0;")));
    endure(&kernel(&format!("ld.global.v4.b32 {wide}, [%r0];\nst.global.v4.b32 [%r0, {wide}], {wide};")));
    endure(&kernel(&format!(".global .b32 g[] = {wide};\nbrx.idx %r0, {wide};")));
}

#[test]
fn many_labels_and_branches() {
    let ladder: String = (0..50_000).map(|i| format!("L{i}: @%p bra L{};\n", 49_999 - i)).collect();
    endure(&kernel(&format!(".reg .pred %p;\n{ladder}")));
    let labels: String = (0..50_000).map(|i| format!("L{i}:\n")).collect();
    let targets: Vec<String> = (0..50_000).map(|i| format!("L{i}")).collect();
    let list = targets.join(", ");
    endure(&kernel(&format!("ts: .branchtargets {list};\nbrx.idx %r0, ts;\n{labels}ret;")));
}

#[test]
fn odd_bytes_between_words() {
    for odd in ["\0", "\r\n", "\r", "\u{b}", "\u{c}", "/* ünïcödé → 🙂 */", "// ünïcödé\n", "ü", "\u{202e}"]
    {
        for index in 0..4 {
            let mut words = ["mbarrier.init", ".shared.b64 ", "[bar]", ", 1;"].map(str::to_string);
            words[index].push_str(odd);
            endure(&kernel(&format!(".shared .b64 bar;\n{}\nret;", words.concat())));
        }
    }
}

/// Windows line ends and comments in any language change nothing.
#[test]
fn line_ends_and_comments_do_not_matter() {
    let body = ".shared .b64 bar; // größe → 🙂\nmbarrier.init.shared.b64 [bar], 1;\n/* 注释\n */ ret;";
    let text = kernel(body);
    assert_eq!(endure(&text), endure(&text.replace('\n', "\r\n")));
}

/// Texts that made one step cost the square of the text, each with the time that they may take now.
const SOON: Duration = Duration::from_secs(4);

#[test]
fn branches_out_of_nested_blocks() {
    let (open, close) = ("{ bra DONE; ".repeat(30_000), "}".repeat(30_000));
    endure_within(&kernel(&format!("{open}{close}\nDONE: ret;")), SOON);
    endure_within(
        &kernel(&format!(
            "{}{}bra DONE;{close}\nDONE: ret;",
            "{ ".repeat(30_000),
            "bra DONE; ".repeat(30_000)
        )),
        SOON,
    );
}

#[test]
fn many_blocks_with_a_label_of_one_name() {
    endure_within(&kernel(&"{ bra DONE; DONE: }\n".repeat(100_000)), SOON);
}

#[test]
fn many_blocks_with_a_wide_register_family() {
    let blocks: String = (0..8_000).map(|i| format!("{{ .reg .b32 q<8001>; mov.u32 q{i}, 1; }}\n")).collect();
    endure_within(&kernel(&blocks), SOON);
}

#[test]
fn many_unknown_opcodes() {
    let unknown: String = (0..60_000).map(|i| format!("foo{i}.bar.b32 %r0, %r1;\n")).collect();
    assert!(endure_within(&kernel(&unknown), SOON) >= 60_000);
    let near: String = (0..60_000).map(|i| format!("mbarrier.arive{i}.b64 %r0, [%r1];\n")).collect();
    assert!(endure_within(&kernel(&near), SOON) >= 60_000);
}
