//! The differences between two values, field by field: JSON pointer, left value, right value.

use serde::Serialize;

use super::equal::{Beside, Pair, number};
use super::mark::Mark;
use crate::json::{Index, ROOT, Shape, Text, inside, push_name};
use crate::order::sort_places;

/// Maximum depth at which fields are compared; deeper values are compared as wholes. Longer paths are unreadable, and without a limit the size of
/// all paths would grow with the square of the text.
const DEEPEST: usize = 100;

/// Maximum length of all paths together, in bytes; beyond it values are compared as wholes.
const PATH_BYTES: usize = 8 << 20;

/// Maximum size, in bytes, of a value that is included in the result. A larger one can be read in the recording.
const SHOWN_BYTES: usize = 4 << 20;

/// A field that differs between the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// JSON pointer into the event as it is compared.
    pub path: String,
    /// The value on the left as JSON. `None` if it is absent or too large to be included.
    pub left: Option<String>,
    /// The value on the right as JSON. `None` if it is absent or too large to be included.
    pub right: Option<String>,
    /// What the values do not show.
    pub note: Option<Note>,
}

/// A property of a difference that the values do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Note {
    /// Two strings that differ in white space only.
    Whitespace,
    /// The strings may have been the same: one is redacted where they differ.
    Redacted,
    /// The values are the same but refer to different events, since different events of the two logs are not compared.
    OtherPlace,
    /// A value is too large to be included.
    TooLarge,
    /// Two integers that a double can't hold apart. They are given as strings, as they are written.
    Precision,
}

/// All fields that differ between two values, in the order of the left. [`Note::Redacted`] is used only if a recording may have been
/// redacted.
pub(crate) fn fields(pair: &Pair<'_, '_>, may_be_redacted: bool) -> Vec<Field> {
    let mut walk = Walk { pair, may_be_redacted, steps: Vec::new(), spent: 0, found: Vec::new() };
    if !pair.are_equal(ROOT, ROOT) {
        walk.run();
    }
    walk.found
}

/// A pair of values that differ, with the last step of their path.
struct Open {
    beside: Beside,
    path: Option<usize>,
    depth: usize,
}

/// The last step of a path.
enum Step {
    Name(String),
    Place(usize),
}

struct Walk<'w, 'p, 'a> {
    pair: &'w Pair<'p, 'a>,
    may_be_redacted: bool,
    /// Each step, with the index of the step before it.
    steps: Vec<(Option<usize>, Step)>,
    spent: usize,
    found: Vec<Field>,
}

impl Walk<'_, '_, '_> {
    fn run(&mut self) {
        let mut open = vec![Open { beside: (Some(ROOT), Some(ROOT)), path: None, depth: 0 }];
        while let Some(Open { beside, path, depth }) = open.pop() {
            let inner = match beside {
                (Some(left), Some(right)) if depth < DEEPEST && self.can_be_entered(left, right) => {
                    self.different_children(left, right)
                }
                _ => Vec::new(),
            };
            let path_bytes = self.path_of(path).len() + 16;
            if inner.is_empty() || self.spent + inner.len() * path_bytes > PATH_BYTES {
                self.add(beside, path);
                continue;
            }
            self.spent += inner.len() * path_bytes;
            let from = open.len();
            for (step, beside) in inner {
                self.spent += if let Step::Name(name) = &step { name.len() } else { 0 };
                self.steps.push((path, step));
                open.push(Open { beside, path: Some(self.steps.len() - 1), depth: depth + 1 });
            }
            // The last element is taken first.
            open[from..].reverse();
        }
    }

    fn can_be_entered(&self, left: Index, right: Index) -> bool {
        let (tree, other) = (self.pair.left, self.pair.right);
        let is_plain = tree.mark(left) == Mark::Plain && other.mark(right) == Mark::Plain;
        let shape = tree.shape(left);
        is_plain && shape == other.shape(right) && matches!(shape, Shape::Array | Shape::Object)
    }

    /// The children that differ between two values that are known to differ.
    fn different_children(&self, left: Index, right: Index) -> Vec<(Step, Beside)> {
        let children = self.named_children(left, right);
        let mut order: Vec<usize> = (0..children.len()).collect();
        sort_places(&mut order, &mut |one, other| self.size(children[one].1).cmp(&self.size(children[other].1)));
        let mut differs = vec![false; children.len()];
        let mut any = false;
        for (count, &at) in order.iter().enumerate() {
            // One child must differ. If no smaller one does, it is the largest, which then need not be compared.
            let must = !any && count + 1 == order.len();
            differs[at] = must || self.differ(children[at].1);
            any |= differs[at];
        }
        children.into_iter().zip(differs).filter(|(_, differs)| *differs).map(|(child, _)| child).collect()
    }

    fn named_children(&self, left: Index, right: Index) -> Vec<(Step, Beside)> {
        if self.pair.left.shape(left) == Shape::Array {
            // Paired by index; dropped elements count.
            let is_dropped = |beside: &Beside| {
                beside.0.is_some_and(|left| self.pair.left.mark(left) == Mark::Dropped)
                    || beside.1.is_some_and(|right| self.pair.right.mark(right) == Mark::Dropped)
            };
            let (mut lefts, mut rights) = (self.pair.left.children(left), self.pair.right.children(right));
            let besides =
                std::iter::from_fn(|| Some((lefts.next(), rights.next())).filter(|beside| *beside != (None, None)));
            let placed = besides.enumerate().filter(|(_, beside)| !is_dropped(beside));
            return placed.map(|(place, beside)| (Step::Place(place), beside)).collect();
        }
        let name = |beside: Beside| {
            let key = match beside {
                (Some(left), _) => self.pair.left.key(left),
                (None, right) => self.pair.right.key(right.unwrap_or(ROOT)),
            };
            (Step::Name(key.to_plain().into_owned()), beside)
        };
        self.pair.members(left, right).into_iter().map(name).collect()
    }

    /// The maximum number of bytes that comparing the pair may have to read.
    fn size(&self, beside: Beside) -> usize {
        match beside {
            (Some(left), Some(right)) => self.pair.left.length(left).min(self.pair.right.length(right)),
            _ => 0,
        }
    }

    fn differ(&self, beside: Beside) -> bool {
        !matches!(beside, (Some(left), Some(right)) if self.pair.are_equal(left, right))
    }

    fn path_of(&self, mut last: Option<usize>) -> String {
        let mut steps = Vec::new();
        while let Some(at) = last {
            let (before, step) = &self.steps[at];
            steps.push(step);
            last = *before;
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Name(name) => push_name(&mut path, name),
                Step::Place(place) => push_name(&mut path, &place.to_string()),
            }
        }
        path
    }

    fn add(&mut self, (left, right): Beside, path: Option<usize>) {
        let (left, right) =
            (left.map(|left| self.pair.left.text(left)), right.map(|right| self.pair.right.text(right)));
        let is_shown = [left, right].into_iter().flatten().all(|value| value.len() <= SHOWN_BYTES);
        let note = if is_shown { note(left, right, self.may_be_redacted) } else { Some(Note::TooLarge) };
        let quote = if note == Some(Note::Precision) { "\"" } else { "" };
        let fits = |value: Option<&str>| {
            value.filter(|value| value.len() <= SHOWN_BYTES).map(|value| format!("{quote}{value}{quote}"))
        };
        self.found.push(Field { path: self.path_of(path), left: fits(left), right: fits(right), note });
    }
}

fn note(left: Option<&str>, right: Option<&str>, may_be_redacted: bool) -> Option<Note> {
    let (left, right) = (left?, right?);
    if left == right {
        return Some(Note::OtherPlace);
    }
    if is_number(left) && is_number(right) {
        return (number(left) == number(right)).then_some(Note::Precision);
    }
    let text = |json: &str| json.starts_with('"').then(|| Text::from_json(inside(json)).to_plain().into_owned());
    let (left, right) = (text(left)?, text(right)?);
    if may_be_redacted && (is_redaction_of(&left, &right) || is_redaction_of(&right, &left)) {
        return Some(Note::Redacted);
    }
    // Strings that differ only in lone surrogates, which can't be shown.
    let is_shown = left != right;
    let is_same = left.split_whitespace().flat_map(str::chars).eq(right.split_whitespace().flat_map(str::chars));
    (is_shown && is_same).then_some(Note::Whitespace)
}

fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

const MARKER: &str = "[redacted:";

/// Whether `redacted` could be a redaction of `other`: equal, except for the redacted parts.
fn is_redaction_of(redacted: &str, other: &str) -> bool {
    let Some((head, mut rest)) = redacted.split_once(MARKER) else { return false };
    let Some(mut other) = other.strip_prefix(head) else { return false };
    loop {
        let Some((_, behind)) = rest.split_once(']') else { return false };
        let (piece, next) = match behind.split_once(MARKER) {
            Some((piece, next)) => (piece, Some(next)),
            None => (behind, None),
        };
        match next {
            None => return other.ends_with(piece),
            Some(next) => {
                let Some(at) = other.find(piece) else { return false };
                other = &other[at + piece.len()..];
                rest = next;
            }
        }
    }
}

#[cfg(test)]
mod tests;
