use super::*;
use crate::task::Cancellation;
use proptest::prelude::*;

fn of(left: &[u32], right: &[u32], most: usize) -> Result<Vec<Match>, Stopped> {
    align(left, right, most, &Cancellation::default())
}

/// The length of a longest common subsequence, by dynamic programming.
fn longest(left: &[u32], right: &[u32]) -> usize {
    let mut row = vec![0; right.len() + 1];
    for one in left {
        let mut corner = 0;
        for (at, other) in right.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if one == other { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    row[right.len()]
}

fn check(left: &[u32], right: &[u32]) -> usize {
    let matches = of(left, right, usize::MAX).unwrap();
    let (mut x, mut y, mut same) = (0, 0, 0);
    for Match { left: from, right: to, length } in matches {
        assert!(length > 0 && from >= x && to >= y && (same == 0 || from > x || to > y));
        assert_eq!(left[from..from + length], right[to..to + length]);
        (x, y, same) = (from + length, to + length, same + length);
    }
    let edits = left.len() + right.len() - 2 * same;
    assert_eq!(same, longest(left, right), "{left:?} {right:?}");
    edits
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn alignment_has_the_minimum_number_of_edits(
        left in proptest::collection::vec(0u32..5, 0..40), right in proptest::collection::vec(0u32..5, 0..40),
    ) {
        let edits = check(&left, &right);
        prop_assert!(of(&left, &right, edits).is_ok());
        if edits > 0 {
            prop_assert_eq!(of(&left, &right, edits - 1), Err(Stopped::TooMany));
        }
    }

    #[test]
    fn alignment_finds_planted_edits(
        mut left in proptest::collection::vec(0u32..30, 0..300),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), prop::option::of(0u32..30)), 0..8),
    ) {
        let right = left.clone();
        for (at, token) in &edits {
            let at = at.index(left.len() + 1);
            match token {
                Some(token) => left.insert(at, *token),
                None if at < left.len() => drop(left.remove(at)),
                None => {}
            }
        }
        prop_assert!(check(&left, &right) <= edits.len());
    }
}

#[test]
fn aligns_millions_of_elements_with_few_edits() {
    let left: Vec<u32> = (0..2_000_000u32).map(|n| n % 1000).collect();
    let mut right = left.clone();
    right.remove(1_999_999);
    right.insert(5, 7);
    right[1_000_000] = 3;
    let same: usize = of(&left, &right, 100_000).unwrap().iter().map(|same| same.length).sum();
    assert_eq!(same, 1_999_998);
}

#[test]
fn alignment_stops_at_its_limit_and_on_cancellation() {
    let left: Vec<u32> = (0..60_000).collect();
    let right: Vec<u32> = (60_000..120_000).collect();
    assert_eq!(of(&left, &right, 100_000), Err(Stopped::TooMany));
    assert_eq!(of(&left, &right, 120_000), Ok(vec![]));
    let reversed: Vec<u32> = (0..3000).rev().collect();
    assert_eq!(of(&left[..3000], &reversed, 100), Err(Stopped::TooMany));
    assert_eq!(of(&left[..3000], &reversed, 5998).map(|same| same.len()), Ok(1));
    let cancelled = Cancellation::default();
    cancelled.cancel();
    assert_eq!(align(&left[..3000], &reversed, usize::MAX, &cancelled), Err(Stopped::Cancelled));
}
