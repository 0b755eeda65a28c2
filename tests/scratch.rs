mod support;
use mbar::verify::{self, Settings};
use mbar::machine::Options;
use support::execute::Prepared;
use std::path::Path;
#[test]
fn scratch() {
    let list = std::env::var("FILES").unwrap();
    let verbose = std::env::var("V").is_ok();
    for path in list.split_whitespace() {
        let prepared = Prepared::read(Path::new(path));
        let settings = Settings { options: Options::default(), strict: false, explore: std::env::var("X").is_ok(), jobs: 2, bounds: mbar::verify::explore::Bounds { states: 50_000, time: Some(std::time::Duration::from_secs(5)), ..Default::default() } };
        let start = std::time::Instant::now();
        let Ok(v) = verify::verify(&prepared.program, &prepared.launch, &settings, &|_| {}) else { println!("{path}: launch"); continue };
        let source = &prepared.program.module.source;
        println!("{} {} {:?} {:?}", path.rsplit('/').next().unwrap(), v.verdict.as_str(), v.grounds, start.elapsed());
        for f in &v.findings {
            if !verbose && f.diagnostic.severity == mbar::diagnostic::Severity::Note { continue }
            let lines: Vec<u32> = std::iter::once(f.diagnostic.span.start).chain(f.diagnostic.labels.iter().map(|l| l.span.start)).map(|s| source.line(s)).collect();
            println!("   {} {} {:?} x{} {}", f.rule.number, f.diagnostic.severity.as_str(), lines, f.count, f.diagnostic.message);
            if verbose { for n in &f.diagnostic.notes { println!("        note {n}"); } println!("        {}", f.diagnostic.label); for l in &f.diagnostic.labels { println!("        {}", l.message); } }
        }
    }
}
