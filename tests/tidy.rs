//! Invariants of the architecture, most of them absences (src/lib.rs shows who may know whom).

mod support;

use std::path::Path;

use mbar::isa::OPS;
use support::{Failures, files_below, read};

/// A file of `src/`: its path below `src`, and its code without comments and without test modules.
struct Source {
    path: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&root, "rs").into_iter();
    let sources: Vec<Source> = files
        .map(|path| {
            let code = without_tests(&code_only(&read(&path)));
            let path = path.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
            Source { path, code }
        })
        .filter(|source| !source.path.ends_with("tests.rs"))
        .collect();
    assert!(sources.len() > 30, "only {} files in src", sources.len());
    sources
}

/// Rust text with comments blanked out; strings stay.
fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = token_length(rest);
        let (token, tail) = rest.split_at(length);
        if token.starts_with("//") || token.starts_with("/*") {
            out.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push_str(token);
        }
        rest = tail;
    }
    out
}

/// The length of a comment, string or character at the start of `text`; else that of one character.
fn token_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    if let Some(raw) = text.strip_prefix("r#\"") {
        return raw.find("\"#").map_or(text.len(), |end| end + 5);
    }
    if bytes[0] == b'"' {
        let mut at = 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        return (at + 1).min(text.len());
    }
    // `'"'` is a character, `'a` a lifetime.
    if text.starts_with("'\"'") {
        return 3;
    }
    text.chars().next().map_or(0, char::len_utf8)
}

/// Cuts off `#[cfg(test)] mod tests { … }`, which stands last in a file.
fn without_tests(code: &str) -> String {
    match code.find("#[cfg(test)]") {
        Some(at) if code[at..].contains("mod tests {") => code[..at].to_string(),
        _ => code.to_string(),
    }
}

/// The string literals of a code, each with its line.
fn strings(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let length = token_length(&code[at..]);
        if length > 1 && code[at..].starts_with(['"', 'r']) {
            let line = code[..at].matches('\n').count() + 1;
            found.push((line, &code[at..at + length]));
        }
        at += length;
    }
    found
}

/// Fails for each file outside `allowed` whose code contains `needle`.
#[track_caller]
fn only_in(needle: &str, allowed: &str, advice: &str) {
    let mut failures = Failures::default();
    for source in sources().iter().filter(|source| !source.path.starts_with(allowed)) {
        for (index, line) in source.code.lines().enumerate().filter(|(_, line)| line.contains(needle)) {
            failures.push(format!("src/{}:{}: {}", source.path, index + 1, line.trim()));
        }
    }
    failures.report(advice);
}

/// Fails for each file below `folder` that imports one of `modules`.
#[track_caller]
fn does_not_know(folder: &str, modules: &[&str]) {
    let mut failures = Failures::default();
    for source in sources().iter().filter(|source| source.path.starts_with(folder)) {
        for module in modules {
            let needle = format!("crate::{module}");
            for (index, line) in source.code.lines().enumerate().filter(|(_, line)| line.contains(&needle)) {
                failures.push(format!("src/{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    failures.report(&format!("{folder} must not know {}.", modules.join(", ")));
}

/// The instruction set is data: opcodes are spelled in grammar/*.isa and nowhere else.
#[test]
fn no_opcode_is_spelled_in_the_source() {
    const OPCODES: &[&str] = &[
        "mbarrier.",
        "cp.async",
        "cp.reduce",
        "fence.",
        "membar.",
        "barrier.c",
        "bar.sync",
        "bar.arrive",
        "st.async",
        "red.async",
        "multimem.",
        "tcgen05.",
        "clusterlaunchcontrol.",
        "tensormap.",
        "fabric.",
        "setmaxnreg.",
        "st.bulk",
        "griddepcontrol.",
        "elect.",
        "ld.shared",
        "st.shared",
        "ld.global",
        "st.global",
    ];
    let mut failures = Failures::default();
    for source in sources() {
        for (line, string) in strings(&source.code) {
            let is_page = string.ends_with(".md\"");
            if let Some(opcode) = OPCODES.iter().find(|opcode| !is_page && string.contains(**opcode)) {
                failures.push(format!("src/{}:{line}: {opcode} in {string}", source.path));
            }
        }
    }
    failures.report("Advice about an opcode belongs into grammar/*.isa (`hint`), meaning onto its Form.");
}

/// What a form means is said in two places: for the checks, and, as what the machine does, for the
/// execution. Elsewhere a form only gives its name to a message.
#[test]
fn forms_get_their_meaning_in_few_places() {
    const PLACES: &[&str] = &["isa/", "program/meaning.rs", "machine/lower/", "machine/scalar/decode.rs"];
    // These tell apart forms of one meaning.
    const ALSO: &[&str] = &["check/address.rs", "check/flow/transaction_bytes.rs"];
    let mut failures = Failures::default();
    for source in sources() {
        if PLACES.iter().any(|place| source.path.starts_with(place)) {
            continue;
        }
        for (index, line) in source.code.lines().enumerate().filter(|(_, line)| line.contains("Form::")) {
            let only_named = line.contains(".op_name()") || line.contains(".spelling()");
            if !only_named && !ALSO.contains(&source.path.as_str()) {
                failures.push(format!("src/{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    failures.report("Ask for a `Meaning`; src/program/meaning.rs says which forms have it.");
}

#[test]
fn nom_stays_in_syntax() {
    only_in("nom::", "syntax/", "nom's types stay in src/syntax.");
}

#[test]
fn ariadne_stays_in_one_file() {
    only_in("ariadne", "report/human.rs", "ariadne is for src/report/human.rs only.");
}

#[test]
fn clap_stays_in_the_command_line() {
    only_in("clap::", "cli/", "clap is for src/cli only.");
}

#[test]
fn toml_stays_with_the_configuration() {
    only_in("toml::", "config/", "toml is for src/config only.");
}

#[test]
fn similar_stays_in_one_file() {
    only_in("similar::", "report/diff.rs", "similar is for src/report/diff.rs only.");
}

#[test]
fn modules_know_only_those_above_them() {
    // From the bottom up: each layer knows only layers before it.
    const LAYERS: &[&[&str]] = &[
        &["source"],
        &["diagnostic"],
        &["levels", "fix"],
        &["syntax", "isa", "extract"],
        &["program", "needs"],
        &["check", "asm", "launch"],
        &["machine"],
        &["verify"],
        &["baseline", "config"],
        &["report"],
        &["cli"],
    ];
    for (index, layer) in LAYERS.iter().enumerate() {
        for module in *layer {
            let siblings = layer.iter().filter(|sibling| *sibling != module);
            let above = LAYERS[index + 1..].iter().flat_map(|layer| layer.iter());
            let mut others: Vec<&str> = siblings.chain(above).copied().collect();
            if matches!(*module, "program" | "needs") {
                others.retain(|other| !matches!(*other, "program" | "needs"));
            }
            does_not_know(&format!("{module}/"), &others);
            does_not_know(&format!("{module}.rs"), &others);
        }
    }
    does_not_know("machine/", &["check", "asm"]);
    // It sees findings of any kind, and knows none of those who find them.
    does_not_know(
        "baseline.rs",
        &["syntax", "isa", "program", "check", "asm", "launch", "machine", "verify"],
    );
}

/// Whatever the input, the program goes on: nothing unfinished, and no panic by `unwrap` in the code that
/// sees the input. (`expect` with the reason why it cannot fail is fine.)
#[test]
fn nothing_is_unfinished_and_nothing_is_unwrapped() {
    let mut failures = Failures::default();
    for source in sources() {
        for (index, line) in source.code.lines().enumerate() {
            for needle in ["todo!(", "unimplemented!(", ".unwrap()", "dbg!("] {
                if line.contains(needle) {
                    failures.push(format!("src/{}:{}: {}", source.path, index + 1, line.trim()));
                }
            }
        }
    }
    failures.report("Handle the case, or say with `expect` why it cannot happen.");
}

#[test]
fn no_test_is_ignored() {
    let attribute = concat!("#[", "ignore");
    let mut failures = Failures::default();
    for folder in ["src", "tests"] {
        for path in files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), "rs") {
            if read(&path).contains(attribute) {
                failures.push(path.display().to_string());
            }
        }
    }
    failures.report("A test that does not run proves nothing: repair or remove it.");
}

#[test]
fn every_instruction_has_a_line_of_text_and_rows() {
    let mut failures = Failures::default();
    for op in OPS {
        let text = op.text.trim();
        if text.len() < 8 || text.contains('\n') || !text.ends_with('.') {
            failures.push(format!("{}: {text:?} is no sentence", op.name));
        }
        if op.rows.is_empty() && !op.open {
            failures.push(format!("{}: no row", op.name));
        }
    }
    failures.report("`op WORDS §SECTION TEXT` in grammar/*.isa: TEXT is what `mbar forms` shows.");
}

#[test]
fn the_scanner_of_these_tests_sees_strings_and_not_comments() {
    let code = code_only("let a = \"x // y\"; // \"no\"\nlet b = '\"'; /* \"no\" */ let c = r#\"z\"#;");
    let found: Vec<&str> = strings(&code).into_iter().map(|(_, string)| string).collect();
    assert_eq!(found, ["\"x // y\"", "r#\"z\"#"]);
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n b }\n"), "a\n");
}
