//! Parts of a machine that its copies have in common until one of them changes.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is cheap to clone once it is shared: the first change after that copies it. Changing one
/// that is not shared costs no more than a look at which it is.
#[derive(Debug)]
pub struct Share<T>(Held<T>);

#[derive(Debug)]
enum Held<T> {
    Own(T),
    Shared(Arc<Printed<T>>),
}

/// What is shared does not change, so that its fingerprint is taken once.
#[derive(Clone, Debug)]
struct Printed<T> {
    value: T,
    print: u64,
}

/// What has a fingerprint: a number that is the same for the same contents.
pub trait Print {
    /// The fingerprint.
    fn print(&self) -> u64;

    /// About how many bytes it takes.
    fn bytes(&self) -> usize;

    /// Shares its parts; how many bytes of them are shared from now on that were not.
    fn share_parts(&mut self) -> usize {
        0
    }
}

impl<T: Print + Default> Share<T> {
    /// Makes clones cheap; how many bytes are shared from now on that were not.
    pub fn share(&mut self) -> usize {
        let Held::Own(value) = &mut self.0 else { return 0 };
        let mut value = mem::take(value);
        let bytes = value.share_parts() + value.bytes();
        let print = value.print();
        self.0 = Held::Shared(Arc::new(Printed { value, print }));
        bytes
    }
}

impl<T: Print> Share<T> {
    /// The fingerprint of the value.
    pub fn print(&self) -> u64 {
        match &self.0 {
            Held::Own(value) => value.print(),
            Held::Shared(shared) => shared.print,
        }
    }
}

impl<T> From<T> for Share<T> {
    fn from(value: T) -> Share<T> {
        Share(Held::Own(value))
    }
}

impl<T: Clone> Clone for Share<T> {
    fn clone(&self) -> Share<T> {
        Share(match &self.0 {
            Held::Own(value) => Held::Own(value.clone()),
            Held::Shared(shared) => Held::Shared(Arc::clone(shared)),
        })
    }
}

impl<T: Default> Default for Share<T> {
    fn default() -> Share<T> {
        T::default().into()
    }
}

impl<T> Deref for Share<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Held::Own(value) => value,
            Held::Shared(shared) => &shared.value,
        }
    }
}

impl<T: Clone> DerefMut for Share<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if matches!(self.0, Held::Shared(_)) {
            self.own();
        }
        match &mut self.0 {
            Held::Own(value) => value,
            // Not after the lines above; but it would be right, too.
            Held::Shared(shared) => own(shared),
        }
    }
}

impl<T: Clone> Share<T> {
    #[cold]
    #[inline(never)]
    fn own(&mut self) {
        if let Held::Shared(shared) = &self.0 {
            self.0 = Held::Own(shared.value.clone());
        }
    }
}

#[cold]
#[inline(never)]
fn own<T: Clone>(shared: &mut Arc<Printed<T>>) -> &mut T {
    &mut Arc::make_mut(shared).value
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    impl Print for Vec<u8> {
        fn print(&self) -> u64 {
            self.iter().map(|&byte| u64::from(byte)).sum()
        }

        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn a_copy_changes_alone() {
        let mut one = Share::from(vec![1u8, 2]);
        assert_eq!((one.share(), one.share()), (2, 0));
        let mut other = one.clone();
        other.push(3);
        assert_eq!((one.len(), other.len()), (2, 3));
        assert_eq!((one.print(), other.print()), (3, 6));
        assert_eq!(other.share(), 3);
    }
}
