//! Compiles `grammar/*.isa` to the static instruction table (see grammar/README.md).

#[path = "grammar/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=grammar");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files: Vec<PathBuf> = fs::read_dir("grammar")
        .expect("grammar/ is part of the source")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "isa"))
        .collect();
    files.sort();
    let sources: Vec<(String, String)> = files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("readable"))
        })
        .collect();
    let out = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("table.rs");
    match compile::compile(&sources) {
        Ok(text) => fs::write(out, text).expect("OUT_DIR is writable"),
        Err(error) => {
            eprintln!("grammar/{error}");
            std::process::exit(1);
        }
    }
}
