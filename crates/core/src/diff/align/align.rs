//! Aligns two sequences with as few insertions and deletions as possible, by Myers' algorithm in linear space.
//!
//! Works on indices only, whatever the elements are. Fails beyond a given number of edits, since a reader needs no more and the
//! time grows with the square of that number.

use std::sync::atomic::{AtomicBool, Ordering};

/// A range of elements that is the same in both sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Index of its first element on the left.
    pub left: usize,
    /// Index of its first element on the right.
    pub right: usize,
    /// Number of elements.
    pub length: usize,
}

/// The reason an alignment failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The alignment needs more edits than the limit.
    TooMany,
    /// The comparison was cancelled.
    Cancelled,
}

/// Returns the matching ranges, in order, of an alignment with as few insertions and deletions as possible. `most` is the limit of
/// their number.
pub(crate) fn align(left: &[u32], right: &[u32], most: usize, cancelled: &AtomicBool) -> Result<Vec<Match>, Stopped> {
    let shared = Shared::of(left, right);
    if shared.edits > most {
        return Err(Stopped::TooMany);
    }
    let mut found = Found::default();
    let mut middle = Middle { forward: Frontier::default(), backward: Frontier::default(), cancelled };
    let (mut open, mut limit) =
        (vec![Area { left: 0..shared.left.len(), right: 0..shared.right.len() }], most - shared.edits);
    while let Some(area) = open.pop() {
        let Area { left, right } = shared.trim(area, &mut found);
        if left.is_empty() || right.is_empty() {
            if left.len() + right.len() > limit {
                return Err(Stopped::TooMany);
            }
            continue;
        }
        let (x, y) = middle.find(&shared.left[left.clone()], &shared.right[right.clone()], limit)?;
        // The first search has already checked the number of edits of the whole alignment.
        limit = usize::MAX;
        let (x, y) = (left.start + x, right.start + y);
        open.push(Area { left: x..left.end, right: y..right.end });
        open.push(Area { left: left.start..x, right: right.start..y });
    }
    Ok(found.matches(&shared))
}

/// A range of both sequences that is still to be aligned.
struct Area {
    left: std::ops::Range<usize>,
    right: std::ops::Range<usize>,
}

/// The elements that occur in both sequences. All others have to be deleted or inserted in any case.
struct Shared {
    left: Vec<u32>,
    right: Vec<u32>,
    left_places: Vec<u32>,
    right_places: Vec<u32>,
    /// Number of elements that occur in one sequence only.
    edits: usize,
}

impl Shared {
    fn of(left: &[u32], right: &[u32]) -> Self {
        let most = left.iter().chain(right).copied().max().map_or(0, |most| most as usize + 1);
        let mut sides = vec![0_u8; most];
        left.iter().for_each(|&token| sides[token as usize] |= 1);
        right.iter().for_each(|&token| sides[token as usize] |= 2);
        let places = |tokens: &[u32]| -> Vec<u32> {
            (0..tokens.len() as u32).filter(|&at| sides[tokens[at as usize] as usize] == 3).collect()
        };
        let (left_places, right_places) = (places(left), places(right));
        let edits = left.len() - left_places.len() + right.len() - right_places.len();
        let pick = |tokens: &[u32], places: &[u32]| places.iter().map(|&at| tokens[at as usize]).collect();
        Shared { left: pick(left, &left_places), right: pick(right, &right_places), left_places, right_places, edits }
    }

    /// Removes the common prefix and the common suffix, which are added to `found`.
    fn trim(&self, area: Area, found: &mut Found) -> Area {
        let Area { mut left, mut right } = area;
        while !left.is_empty() && !right.is_empty() && self.left[left.start] == self.right[right.start] {
            found.pairs.push((left.start as u32, right.start as u32));
            (left.start, right.start) = (left.start + 1, right.start + 1);
        }
        while !left.is_empty() && !right.is_empty() && self.left[left.end - 1] == self.right[right.end - 1] {
            (left.end, right.end) = (left.end - 1, right.end - 1);
            found.pairs.push((left.end as u32, right.end as u32));
        }
        Area { left, right }
    }
}

/// The pairs of equal elements found so far, as indices into [`Shared`].
#[derive(Default)]
struct Found {
    pairs: Vec<(u32, u32)>,
}

impl Found {
    fn matches(mut self, shared: &Shared) -> Vec<Match> {
        self.pairs.sort_unstable();
        let mut matches: Vec<Match> = Vec::new();
        for (left, right) in self.pairs {
            let (left, right) =
                (shared.left_places[left as usize] as usize, shared.right_places[right as usize] as usize);
            match matches.last_mut() {
                Some(last) if last.left + last.length == left && last.right + last.length == right => last.length += 1,
                _ => matches.push(Match { left, right, length: 1 }),
            }
        }
        matches
    }
}

/// Finds a point in the middle of a shortest edit path: searches from both ends at once until the two searches meet.
struct Middle<'m> {
    forward: Frontier,
    backward: Frontier,
    cancelled: &'m AtomicBool,
}

impl Middle<'_> {
    /// Returns a point (x, y) on a shortest edit path that divides it. The first elements must differ, and so must the last.
    fn find(&mut self, left: &[u32], right: &[u32], limit: usize) -> Result<(usize, usize), Stopped> {
        let (n, m) = (left.len() as i32, right.len() as i32);
        let most = (n + m + 1) / 2;
        let most = most.min(i32::try_from(limit / 2 + 1).unwrap_or(most));
        self.forward.reset(n, m, most);
        self.backward.reset(n, m, most);
        let delta = n - m;
        for d in 0..=most {
            if d % 64 == 0 && self.cancelled.load(Ordering::Relaxed) {
                return Err(Stopped::Cancelled);
            }
            let allowed = |edits: i32, point: (i32, i32)| {
                if edits as usize > limit { Err(Stopped::TooMany) } else { Ok((point.0 as usize, point.1 as usize)) }
            };
            let same = |x: i32, y: i32| left[x as usize] == right[y as usize];
            let met = |k: i32, x: i32, other: &Frontier| other.at(delta - k).is_some_and(|back| x + back >= n);
            for k in self.forward.diagonals(d) {
                let Some(x) = self.forward.advance(d, k, same) else { continue };
                if delta % 2 != 0 && (delta - k).abs() < d && met(k, x, &self.backward) {
                    return allowed(2 * d - 1, (x, x - k));
                }
            }
            let same = |x: i32, y: i32| left[(n - 1 - x) as usize] == right[(m - 1 - y) as usize];
            for k in self.backward.diagonals(d) {
                let Some(x) = self.backward.advance(d, k, same) else { continue };
                if delta % 2 == 0 && (delta - k).abs() <= d && met(k, x, &self.forward) {
                    return allowed(2 * d, (n - x, m - (x - k)));
                }
            }
        }
        Err(Stopped::TooMany)
    }
}

/// The furthest point on each diagonal k = x - y that a given number of edits reaches.
#[derive(Default)]
struct Frontier {
    /// The furthest x; -1 if the diagonal was not reached.
    furthest: Vec<i32>,
    middle: i32,
    n: i32,
    m: i32,
}

impl Frontier {
    fn reset(&mut self, n: i32, m: i32, most: i32) {
        (self.n, self.m, self.middle) = (n, m, most + 1);
        self.furthest.clear();
        self.furthest.resize(2 * most as usize + 3, -1);
    }

    fn at(&self, k: i32) -> Option<i32> {
        self.furthest.get((k + self.middle) as usize).copied().filter(|&x| x >= 0)
    }

    /// The diagonals that `d` edits reach without leaving the sequences.
    fn diagonals(&self, d: i32) -> impl Iterator<Item = i32> + use<> {
        let inside = |length: i32| if d > length { length - (d - length) % 2 } else { d };
        (-inside(self.m)..=inside(self.n)).step_by(2)
    }

    /// Enters a diagonal from whichever neighbour leads to the larger x, and follows it along equal elements.
    #[inline]
    fn advance(&mut self, d: i32, k: i32, same: impl Fn(i32, i32) -> bool) -> Option<i32> {
        let down = self.at(k + 1).filter(|x| x - k <= self.m);
        let along = self.at(k - 1).map(|x| x + 1).filter(|&x| x <= self.n);
        let mut x = if d == 0 { 0 } else { down.max(along)? };
        while x < self.n && x - k < self.m && same(x, x - k) {
            x += 1;
        }
        self.furthest[(k + self.middle) as usize] = x;
        Some(x)
    }
}

#[cfg(test)]
mod tests;
