//! Finds the matches in one string, as JavaScript sees it.

use memchr::memmem::Finder;

use super::wtf8::{Surrogates, decode_private, decode_wtf8};
use crate::json::{decode, decode_up_to};

/// Finds matches in decoded strings.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// A literal without lone surrogates. Equal to `indexOf`.
    Literal(Box<Finder<'static>>),
    /// A literal with lone surrogates, which `indexOf` also finds in the middle of a pair.
    Units(Vec<u16>),
    /// A literal without regard to case, as an expression over WTF-8.
    Folded(Box<regex::bytes::Regex>),
    /// A regular expression.
    Expression(Box<regex::Regex>),
}

/// The matches in a string that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matches {
    /// Their number.
    pub(super) count: u64,
    /// The text around the first one.
    pub(super) snippet: Vec<u16>,
    /// Those that are within the snippet: start and end.
    pub(super) ranges: Vec<(usize, usize)>,
}

/// The first matches of a string, in units of some size, and the number of all.
struct First {
    ranges: Vec<(usize, usize)>,
    count: u64,
}

impl First {
    /// Counts all matches, and keeps those that begin at most `near` behind the end of the first one.
    fn of(matches: impl Iterator<Item = (usize, usize)>, near: usize) -> Option<Self> {
        let mut found = First { ranges: Vec::new(), count: 0 };
        for range in matches {
            found.count += 1;
            let is_near = found.ranges.first().is_none_or(|first| range.0 <= first.1.saturating_add(near));
            if is_near {
                found.ranges.push(range);
            }
        }
        (found.count > 0).then_some(found)
    }
}

impl Matcher {
    /// The matches in a string, given the text between its quotes. The snippet has up to `context` units on each side of the first match.
    pub(super) fn matches(&self, inside: &[u8], context: usize) -> Option<Matches> {
        if let Matcher::Units(query) = self {
            let units: Vec<_> = decode(inside).collect();
            let found = First::of(UnitMatches { units: &units, query, at: 0 }, context)?;
            return Some(around(&units, found, context));
        }
        let surrogates = self.surrogates();
        // A unit has at most as many bytes as a lone surrogate.
        let near = context.saturating_mul(surrogates.length());
        let First { ranges, count } = self.first_in(inside, near)?;
        // A unit has at least one byte, and the units behind the snippet show whether its end would split a pair.
        let most = ranges.first().map_or(0, |first| first.1).saturating_add(context).saturating_add(2);
        let mut units = Vec::new();
        decode_up_to(&mut units, inside, most);
        let ranges = ranges_in_units(&units, &ranges, surrogates);
        Some(around(&units, First { ranges, count }, context))
    }

    fn surrogates(&self) -> Surrogates {
        match self {
            Matcher::Expression(_) => Surrogates::Private,
            _ => Surrogates::Wtf8,
        }
    }

    fn first_in(&self, inside: &[u8], near: usize) -> Option<First> {
        match self {
            Matcher::Literal(finder) => {
                let length = finder.needle().len();
                First::of(finder.find_iter(&decode_wtf8(inside)).map(|at| (at, at + length)), near)
            }
            Matcher::Folded(folded) => {
                First::of(folded.find_iter(&decode_wtf8(inside)).map(|found| (found.start(), found.end())), near)
            }
            Matcher::Expression(expression) => {
                let text = decode_private(inside);
                First::of(expression.find_iter(&text).map(|found| (found.start(), found.end())), near)
            }
            Matcher::Units(_) => None,
        }
    }
}

/// The places of a query in units, without overlaps.
struct UnitMatches<'t> {
    units: &'t [u16],
    query: &'t [u16],
    at: usize,
}

impl Iterator for UnitMatches<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.units[self.at..].windows(self.query.len()).position(|window| window == self.query)?;
        let start = self.at + found;
        self.at = start + self.query.len();
        Some((start, self.at))
    }
}

/// Converts ranges of bytes, in ascending order, into ranges of units, up to the end of these units.
fn ranges_in_units(units: &[u16], ranges: &[(usize, usize)], surrogates: Surrogates) -> Vec<(usize, usize)> {
    let mut converted = Vec::with_capacity(ranges.len());
    let (mut unit, mut byte) = (0, 0);
    let mut unit_at = |offset: usize| {
        while byte < offset {
            let (bytes, length) = character(&units[unit..], surrogates)?;
            (byte, unit) = (byte + bytes, unit + length);
        }
        Some(unit)
    };
    for &(start, end) in ranges {
        let (Some(start), Some(end)) = (unit_at(start), unit_at(end)) else { break };
        converted.push((start, end));
    }
    converted
}

/// The numbers of bytes and units of the first character.
fn character(units: &[u16], surrogates: Surrogates) -> Option<(usize, usize)> {
    Some(match *units {
        [] => return None,
        [0..=0x7f, ..] => (1, 1),
        [0..=0x7ff, ..] => (2, 1),
        [0xd800..=0xdbff, 0xdc00..=0xdfff, ..] => (4, 2),
        [0xd800..=0xdfff, ..] => (surrogates.length(), 1),
        _ => (3, 1),
    })
}

/// Cuts the snippet. A pair that the cut would split is left out, or kept whole if a match begins or ends in its middle.
fn around(units: &[u16], First { ranges, count }: First, context: usize) -> Matches {
    let (first_start, first_end) = ranges.first().copied().unwrap_or_default();
    let mut start = first_start.saturating_sub(context);
    if splits_pair(units, start) {
        start = if start < first_start { start + 1 } else { start - 1 };
    }
    let mut end = first_end.saturating_add(context).min(units.len());
    if splits_pair(units, end) {
        end = if end > first_end { end - 1 } else { end + 1 };
    }
    let within = ranges.into_iter().filter(|range| range.0 >= start && range.1 <= end);
    let ranges = within.map(|(from, to)| (from - start, to - start)).collect();
    Matches { count, snippet: units[start..end].to_vec(), ranges }
}

fn splits_pair(units: &[u16], at: usize) -> bool {
    at > 0 && matches!(units.get(at - 1..at + 1), Some([0xd800..=0xdbff, 0xdc00..=0xdfff]))
}
