//! A short recording that fails as a long one does.

/// So many runs are made at most.
pub const MOST_TRIES: u32 = 400;

/// Makes a failing list of answers shorter: behind its end the default strategy answers. `fails` tells whether
/// a run with such answers fails in the same way.
///
/// First the end is cut off, then blocks become zeros or are left out, ever smaller ones: as in delta
/// debugging. An answer of 0 is what a schedule says that does nothing special, or lets the first go.
pub fn minimise(answers: &[u32], fails: &mut dyn FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut tries = MOST_TRIES;
    let mut fails = |answers: &[u32]| {
        tries = tries.saturating_sub(1);
        tries > 0 && fails(answers)
    };
    let mut best = answers.to_vec();
    shorten(&mut best, &mut fails);
    let mut size = best.len().div_ceil(2);
    while size > 0 {
        let before = best.len();
        drop_blocks(&mut best, size, &mut fails);
        clear_blocks(&mut best, size, &mut fails);
        if best.len() == before || size > best.len() {
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
    }
    shorten(&mut best, &mut fails);
    best
}

/// Cuts off as much of the end as can be: half of what is left, a quarter, and so on.
fn shorten(best: &mut Vec<u32>, fails: &mut dyn FnMut(&[u32]) -> bool) {
    let mut cut = best.len();
    while cut > 0 {
        if cut <= best.len() && fails(&best[..best.len() - cut]) {
            best.truncate(best.len() - cut);
        } else {
            cut /= 2;
        }
    }
}

/// Leaves out blocks of that size where that fails, too.
fn drop_blocks(best: &mut Vec<u32>, size: usize, fails: &mut dyn FnMut(&[u32]) -> bool) {
    let mut end = best.len();
    while end >= size {
        let shorter = [&best[..end - size], &best[end..]].concat();
        if fails(&shorter) {
            *best = shorter;
        }
        end -= size;
    }
}

/// Makes zeros of blocks of that size where that fails, too.
fn clear_blocks(best: &mut Vec<u32>, size: usize, fails: &mut dyn FnMut(&[u32]) -> bool) {
    for start in (0..best.len()).step_by(size) {
        let end = (start + size).min(best.len());
        if best[start..end].iter().all(|&answer| answer == 0) {
            continue;
        }
        let mut simpler = best.clone();
        simpler[start..end].fill(0);
        if fails(&simpler) {
            *best = simpler;
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_is_needed_stays() {
        let mut answers = vec![3; 300];
        answers[17] = 7;
        answers[40] = 9;
        let small = minimise(&answers, &mut |answers| {
            let seven = answers.iter().position(|&answer| answer == 7);
            seven.is_some_and(|seven| answers[seven..].contains(&9))
        });
        assert_eq!(small, [7, 9]);
        assert!(minimise(&answers, &mut |_| true).is_empty());
    }

    #[test]
    fn it_never_returns_what_does_not_fail() {
        let answers: Vec<u32> = (0..1000).collect();
        let small = minimise(&answers, &mut |answers| answers.iter().sum::<u32>() > 400_000);
        assert!(small.iter().sum::<u32>() > 400_000);
    }
}
