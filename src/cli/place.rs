//! Where a file stands: as its repository knows it, and as seen from another folder.

use std::path::{Component, Path, PathBuf};

use super::input::Input;

/// What standard input is called.
const STDIN: &str = "<stdin>";

/// The path of an input from the root of its repository, with `/` between its parts, whatever the current
/// directory is. Of a file outside any repository: from the current directory, or else as it was given.
pub fn in_repository(input: &Input) -> String {
    let Input::File(path) = input else { return STDIN.to_string() };
    let Some(real) = real(path) else { return slashes(path) };
    let root = root(&real).or_else(|| std::env::current_dir().and_then(std::fs::canonicalize).ok());
    match root.as_deref().and_then(|root| real.strip_prefix(root).ok()) {
        Some(inside) => slashes(inside),
        None => slashes(path),
    }
}

/// The path of an input from `folder`, which is a canonical path, with `/` between its parts.
pub fn seen_from(folder: &Path, input: &Input) -> String {
    let Input::File(path) = input else { return STDIN.to_string() };
    let relative = real(path).and_then(|real| relative(folder, &real));
    relative.map_or_else(|| slashes(path), |relative| slashes(&relative))
}

/// The folder of a file, without links and dots.
pub fn folder_of(path: &Path) -> std::io::Result<PathBuf> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => std::fs::canonicalize(parent),
        _ => std::fs::canonicalize("."),
    }
}

/// The file's path without links and dots, but for its own name: a link is a file of the repository, too.
fn real(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    Some(folder_of(path).ok()?.join(name))
}

/// The root of the repository that holds `file`: the nearest folder with a `.git`. Within the workspace of a GitHub
/// workflow it is the outermost one, for the repository that the workflow runs for is not the submodule.
fn root(file: &Path) -> Option<PathBuf> {
    let above = || file.ancestors().skip(1);
    let is_root = |folder: &&Path| folder.join(".git").exists();
    if let Some(workspace) = workspace().filter(|workspace| file.starts_with(workspace)) {
        let outermost = above().take_while(|folder| folder.starts_with(&workspace)).filter(is_root).last();
        return Some(outermost.map_or(workspace.clone(), Path::to_path_buf));
    }
    above().find(is_root).map(Path::to_path_buf)
}

/// The folder that a GitHub workflow has its checkouts in.
fn workspace() -> Option<PathBuf> {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").filter(|workspace| !workspace.is_empty())?;
    std::fs::canonicalize(workspace).ok()
}

/// `to` as seen from the folder `from`; both are absolute. Nothing leads from one drive to another.
pub fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    let mut common = 0;
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
        common += 1;
    }
    (common > 0).then(|| from.map(|_| Component::ParentDir).chain(to).collect())
}

/// A path with `/` between its parts, and without a leading `./`.
fn slashes(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    let text = path.display().to_string();
    if std::path::MAIN_SEPARATOR == '/' { text } else { text.replace(std::path::MAIN_SEPARATOR, "/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_from_a_folder() {
        let seen = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).expect("one root");
        assert_eq!(seen("/a/b", "/a/b/c.ptx"), Path::new("c.ptx"));
        assert_eq!(seen("/a/b", "/a/c/d.ptx"), Path::new("../c/d.ptx"));
        assert_eq!(seen("/", "/a.ptx"), Path::new("a.ptx"));
        assert_eq!(relative(Path::new("/a"), Path::new("b")), None);
    }

    #[test]
    fn dots_at_the_start_say_nothing() {
        assert_eq!(slashes(Path::new("./a/b.ptx")), "a/b.ptx");
        assert_eq!(slashes(Path::new("../b.ptx")), "../b.ptx");
    }
}
