//! Checking a file takes little memory: at most 15 bytes for each byte of the file.

#[path = "../benches/inputs/mod.rs"]
mod inputs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mbar::check::{Settings, check};
use mbar::diagnostic::Severity;
use mbar::source::SourceFile;

/// The system's allocator, counting the bytes in use and their peak.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As if the old block were copied into a new one, though the system mostly moves or extends it.
        grow(size);
        IN_USE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The only test of this file, so that nothing else is counted.
#[test]
fn checking_takes_at_most_fifteen_bytes_for_each_byte_of_the_file() {
    let text = inputs::large_module(100_000);
    let size = text.len();
    let source = SourceFile::new("large.ptx", text);
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let checked = check(source, &Settings::default());
    let peak = PEAK.load(Relaxed) - before;
    assert_eq!(checked.count(Severity::Error), 0, "the file is correct");
    let ratio = peak as f64 / size as f64;
    println!("{size} bytes of PTX, {peak} bytes allocated beside them at the peak: {ratio:.1} for each");
    assert!(ratio <= 15.0, "{ratio:.1} bytes for each byte of the file");
}
