//! What fixes change, as a unified diff that `patch -p0` takes.

use similar::TextDiff;

/// The difference between two texts of a file; nothing if there is none.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(name, name).to_string()
}
