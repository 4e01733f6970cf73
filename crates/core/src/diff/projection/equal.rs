//! Equality of two values as `JSON.parse` reads them: the order of keys does not matter, and marks decide what counts. Integers that a double
//! can't hold are compared by their digits: ids and times in nanoseconds would otherwise be equal to their neighbours.

use std::collections::HashMap;

use super::mark::{Mark, Reference, Tree};
use crate::json::Text;
use crate::json::{Index, ROOT, Shape};

/// Two values to compare, and the equality of references.
pub(crate) struct Pair<'p, 'a> {
    /// The value on the left.
    pub left: &'p Tree<'a>,
    /// The value on the right.
    pub right: &'p Tree<'a>,
    /// Whether a reference on the left and one on the right refer to the same thing.
    pub same_reference: &'p dyn Fn(Reference, Reference) -> bool,
}

/// Whether two trees are equal. References are equal if they refer to the same place.
pub(crate) fn trees_are_equal(left: &Tree<'_>, right: &Tree<'_>) -> bool {
    Pair { left, right, same_reference: &same_place }.are_equal(ROOT, ROOT)
}

/// References are equal if they refer to the same place.
pub(crate) fn same_place(left: Reference, right: Reference) -> bool {
    left == right
}

/// A child of the value on the left, and its counterpart on the right.
pub(super) type Beside = (Option<Index>, Option<Index>);

impl Pair<'_, '_> {
    /// Whether two values are equal.
    pub(crate) fn are_equal(&self, left: Index, right: Index) -> bool {
        let mut open = vec![(left, right)];
        while let Some((left, right)) = open.pop() {
            match self.compare_shallow(left, right) {
                Some(true) => {}
                Some(false) => return false,
                None => {
                    if !self.add_children(left, right, &mut open) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Adds the pairs of children of two values to `open`. Returns `false` if a child has no counterpart.
    fn add_children(&self, left: Index, right: Index, open: &mut Vec<(Index, Index)>) -> bool {
        if self.left.shape(left) == Shape::Object && !self.have_keys_in_same_order(left, right) {
            for beside in self.members(left, right) {
                let (Some(left), Some(right)) = beside else { return false };
                open.push((left, right));
            }
            return true;
        }
        if self.left.shape(left) == Shape::Object {
            open.extend(self.left.members(left).zip(self.right.members(right)));
            return true;
        }
        let (mut lefts, mut rights) = (self.left.children(left), self.right.children(right));
        loop {
            match (lefts.next(), rights.next()) {
                (None, None) => return true,
                (left, right) if self.is_dropped(left, right) => {}
                (Some(left), Some(right)) => open.push((left, right)),
                _ => return false,
            }
        }
    }

    fn is_dropped(&self, left: Option<Index>, right: Option<Index>) -> bool {
        left.is_some_and(|left| self.left.mark(left) == Mark::Dropped)
            || right.is_some_and(|right| self.right.mark(right) == Mark::Dropped)
    }

    /// Whether the objects have the same keys in the same order, as in two recordings by the same program.
    fn have_keys_in_same_order(&self, left: Index, right: Index) -> bool {
        let (mut lefts, mut rights) = (self.left.members(left), self.right.members(right));
        loop {
            match (lefts.next(), rights.next()) {
                (None, None) => return true,
                (Some(left), Some(right)) if self.left.key(left) == self.right.key(right) => {}
                _ => return false,
            }
        }
    }

    /// Whether two values are equal. Returns `None` if that depends on their children.
    fn compare_shallow(&self, left: Index, right: Index) -> Option<bool> {
        match (self.left.mark(left), self.right.mark(right)) {
            (Mark::Dropped, _) | (_, Mark::Dropped) => return Some(true),
            (Mark::Refers(left), Mark::Refers(right)) => {
                return Some(match (left, right) {
                    (Some(left), Some(right)) => (self.same_reference)(left, right),
                    (left, right) => left == right,
                });
            }
            (Mark::Refers(_), _) | (_, Mark::Refers(_)) => return Some(false),
            (Mark::Set, Mark::Set) => return Some(set(self.left, left) == set(self.right, right)),
            // As their digests differ.
            (Mark::Set, _) | (_, Mark::Set) => return Some(false),
            _ => {}
        }
        if self.left.shape(left) != self.right.shape(right) {
            return Some(false);
        }
        match self.left.shape(left) {
            Shape::Null | Shape::False | Shape::True => Some(true),
            Shape::Number => Some(same_number(self.left.text(left), self.right.text(right))),
            Shape::String => Some(same_string(self.left.text(left), self.right.text(right))),
            Shape::Array | Shape::Object => None,
        }
    }

    /// Pairs the members of two objects by key. Includes only members that count: in the order of the left, followed by those that only the
    /// right has.
    pub(super) fn members(&self, left: Index, right: Index) -> Vec<Beside> {
        if self.have_keys_in_same_order(left, right) {
            let besides = self.left.members(left).zip(self.right.members(right));
            return besides.map(|(left, right)| (Some(left), Some(right))).collect();
        }
        let lefts: Vec<Index> = self.left.members(left).collect();
        let rights: Vec<Index> = self.right.members(right).collect();
        let mut by_key: HashMap<Text<'_>, Index> = rights.iter().map(|&right| (self.right.key(right), right)).collect();
        let mut children: Vec<Beside> =
            lefts.iter().map(|&left| (Some(left), by_key.remove(&self.left.key(left)))).collect();
        let is_left_over = |right: &Index| by_key.contains_key(&self.right.key(*right));
        children.extend(rights.iter().copied().filter(is_left_over).map(|right| (None, Some(right))));
        children
    }
}

/// The distinct elements of an array that is marked as a set, sorted.
pub(super) fn set<'t>(tree: &'t Tree<'_>, array: Index) -> Vec<Text<'t>> {
    let element = |index| tree.string(index).unwrap_or_else(|| Text::from_plain(tree.text(index)));
    let mut elements: Vec<_> = tree.members(array).map(element).collect();
    elements.sort_unstable();
    elements.dedup();
    elements
}

/// The value of a JSON number in JavaScript.
pub(crate) fn number(json: &str) -> f64 {
    json.parse().unwrap_or(0.0)
}

/// Number of digits that every double can hold.
const HELD_DIGITS: usize = 15;

/// Up to so many zeros at the end of an integer are printed; more are an exponent, which is all that a file need say of them.
const PRINTED_ZEROS: i64 = 1000;

/// The digits of a JSON number, with their sign, if its value is an integer that a double can't hold, whatever its notation.
pub(super) fn unheld_integer(json: &str) -> Option<String> {
    if json.len() <= HELD_DIGITS && !json.contains(['e', 'E']) {
        return None;
    }
    let (sign, unsigned) = json.strip_prefix('-').map_or(("", json), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let shift = exponent_of(exponent).saturating_sub(fraction.len() as i64);
    if shift < 0 && !fraction.is_empty() {
        return None;
    }
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    let first_digits = digits.trim_end_matches('0');
    let zeros = shift.saturating_add((digits.len() - first_digits.len()) as i64);
    let is_integer = zeros >= 0 && !first_digits.is_empty();
    (is_integer && !is_held(number(unsigned), first_digits, zeros)).then(|| match zeros {
        0..=PRINTED_ZEROS => format!("{sign}{first_digits}{:0<1$}", "", zeros as usize),
        _ => format!("{sign}{first_digits}e{zeros}"),
    })
}

fn exponent_of(digits: &str) -> i64 {
    digits.parse().unwrap_or(if digits.starts_with('-') { i64::MIN } else { i64::MAX })
}

/// Whether a double is the integer of these digits and zeros.
fn is_held(double: f64, first_digits: &str, zeros: i64) -> bool {
    if zeros.saturating_add(first_digits.len() as i64) <= HELD_DIGITS as i64 {
        return true;
    }
    // Printed without a fraction, a double has all the digits of its value.
    let held = format!("{double:.0}");
    held.strip_prefix(first_digits)
        .is_some_and(|rest| rest.len() as i64 == zeros && rest.bytes().all(|byte| byte == b'0'))
}

fn same_number(left: &str, right: &str) -> bool {
    left == right || (number(left) == number(right) && unheld_integer(left) == unheld_integer(right))
}

fn same_string(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    let has_escape = |text: &str| memchr::memchr(b'\\', text.as_bytes()).is_some();
    (has_escape(left) || has_escape(right))
        && Text::from_json(crate::json::inside(left)) == Text::from_json(crate::json::inside(right))
}

#[cfg(test)]
mod tests;
