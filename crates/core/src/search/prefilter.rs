//! Finds the lines of a file that may match a query, by their raw bytes.
//!
//! A text that contains the query contains a run of its characters. JSON writes a character in its usual form; or as `\u` and four digits; or, a
//! solidus, behind a backslash; and if case does not matter, the text may have another character that folds to the same one. So a line that has neither
//! the run in its usual form, nor such an escape of one of the run's characters, nor one of these other forms, can't match. Everything else is only a
//! candidate: what is found may be a key, or part of an escape.

use memchr::memmem::Finder;
use regex::bytes::Regex;
use regex_syntax::hir::Hir;

use super::fold::equivalents;
use super::masked::{MaskedByte, MaskedFinder};
use super::raw::{RawForm, simple_escape};
use crate::lines::Lines;

/// Which lines may match.
#[derive(Clone, Debug)]
pub(super) struct Prefilter {
    /// What a line must contain one of; `None` if any line may match.
    signs: Option<Vec<Sign>>,
}

/// What shows that a line may match.
#[derive(Clone, Debug)]
enum Sign {
    Exact(Box<Finder<'static>>),
    Expression(Box<Regex>),
    Masked(MaskedFinder),
    /// An escape of one of these UTF-16 units, in ascending order.
    Escape(Box<Finder<'static>>, Vec<u16>),
}

/// A character of a query, or a lone surrogate.
pub(super) type QueryChar = Result<char, u16>;

impl Prefilter {
    /// Lets every line through.
    pub(super) fn all() -> Self {
        Prefilter { signs: None }
    }

    /// For texts that contain these characters one after the other. A lone surrogate may be half of a character if `splits_pairs`.
    pub(super) fn of_literal(query: &[QueryChar], is_insensitive: bool, splits_pairs: bool) -> Self {
        let forms: Vec<_> = query.iter().map(|c| CharForms::of(*c, is_insensitive, splits_pairs)).collect();
        let runs = forms.split(|forms| forms.usual.is_empty());
        if let Some(run) = runs.max_by_key(|run| run.iter().map(|forms| forms.usual.len()).sum::<usize>())
            && !run.is_empty()
        {
            return Self::of_run(run);
        }
        let escaped = forms.into_iter().find(|forms| forms.is_escaped);
        Prefilter { signs: escaped.map(|forms| vec![Sign::of_escapes(forms.units)]) }
    }

    /// For texts that an expression matches.
    pub(super) fn of_expression(expression: &Hir) -> Self {
        let compiled = RawForm::of(expression).and_then(|raw| Some((Regex::new(&raw.expression).ok()?, raw.escapes)));
        let Some((raw, escapes)) = compiled else { return Self::all() };
        Prefilter { signs: Some(vec![Sign::Expression(Box::new(raw)), Sign::of_escapes(escapes)]) }
    }

    fn of_run(run: &[CharForms]) -> Self {
        let usual: Vec<_> = run.iter().flat_map(|forms| forms.usual.iter().copied()).collect();
        let exact: Option<Vec<u8>> = usual.iter().map(|byte| byte.only()).collect();
        let mut others: Vec<_> = run.iter().flat_map(|forms| forms.others.iter().cloned()).collect();
        others.sort_unstable();
        others.dedup();
        let usual = exact.map_or_else(|| Sign::Masked(MaskedFinder::new(usual)), |bytes| Sign::exact(&bytes));
        let escaped = Sign::of_escapes(run.iter().flat_map(|forms| forms.units.iter().copied()).collect());
        let others = others.iter().map(|bytes| Sign::exact(bytes));
        Prefilter { signs: Some([usual, escaped].into_iter().chain(others).collect()) }
    }

    /// Calls `take` with each line that may match and its offset, in order, until that returns false. Passes over all others.
    pub(super) fn each_candidate<'t>(&self, text: &'t [u8], mut take: impl FnMut(usize, &'t [u8]) -> bool) {
        let Some(signs) = &self.signs else {
            for (at, line) in Lines::new(text) {
                if !take(at, line) {
                    return;
                }
            }
            return;
        };
        // The next place of each sign, `text.len()` if there is none. Before its first search it is at the beginning.
        let mut places: Vec<Option<usize>> = vec![None; signs.len()];
        // The beginning of a line, and where in this line the search goes on.
        let (mut line, mut from) = (0, 0);
        while from < text.len() {
            for (sign, place) in signs.iter().zip(&mut places) {
                if place.is_none_or(|at| at < from) {
                    *place = Some(sign.find(text, from).unwrap_or(text.len()));
                }
            }
            let at = places.iter().flatten().min().copied().unwrap_or(text.len());
            if at == text.len() {
                return;
            }
            line = memchr::memrchr(b'\n', &text[from..at]).map_or(line, |newline| from + newline + 1);
            let searched = line + unsearched(&text[line..]);
            if at < searched {
                from = searched;
                continue;
            }
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
            if !take(line, &text[line..end]) {
                return;
            }
            (line, from) = (end + 1, end + 1);
        }
    }
}

/// The members of an envelope of which no string is searched, as they usually begin.
const UNSEARCHED: [&[u8]; 4] = [b"\"v\":", b"\"seq\":", b"\"ts\":", b"\"type\":"];

/// The length of the beginning of a line that consists of such members: what is found there is no match.
fn unsearched(line: &[u8]) -> usize {
    let mut end = 1;
    if line.first() != Some(&b'{') {
        return 0;
    }
    while let Some(length) = unsearched_member(&line[end..]) {
        end += length;
    }
    end
}

/// The length of a member with its comma, if its value is an integer or a short string without escapes.
fn unsearched_member(rest: &[u8]) -> Option<usize> {
    let key = UNSEARCHED.iter().find(|key| rest.starts_with(key))?;
    let value = &rest[key.len()..];
    let length = match value.strip_prefix(b"\"") {
        Some(string) => {
            let end = string.iter().take(40).position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))?;
            (string[end] == b'"').then_some(end + 2)?
        }
        None => value.iter().position(|byte| !byte.is_ascii_digit())?,
    };
    (value.get(length) == Some(&b',')).then_some(key.len() + length + 1)
}

impl Sign {
    fn exact(bytes: &[u8]) -> Self {
        Sign::Exact(Box::new(Finder::new(bytes).into_owned()))
    }

    fn of_escapes(mut units: Vec<u16>) -> Self {
        units.sort_unstable();
        units.dedup();
        Sign::Escape(Box::new(Finder::new(b"\\u").into_owned()), units)
    }

    /// A place of the first sign from `from` on, or one in the same line.
    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Sign::Exact(finder) => finder.find(&text[from..]).map(|at| from + at),
            Sign::Expression(raw) => raw.shortest_match_at(text, from).map(|end| end - 1),
            Sign::Masked(finder) => finder.find(text, from),
            Sign::Escape(finder, units) => {
                let is_escape = |at: &usize| {
                    let digits = text.get(from + at + 2..from + at + 6);
                    let unit =
                        digits.and_then(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
                    unit.is_some_and(|unit| units.binary_search(&unit).is_ok())
                };
                finder.find_iter(&text[from..]).find(is_escape).map(|at| from + at)
            }
        }
    }
}

/// The forms in which JSON may write a character, or one that folds to the same.
struct CharForms {
    /// Its usual form; empty if it has none.
    usual: Vec<MaskedByte>,
    /// What other forms contain, except for numeric escapes.
    others: Vec<Vec<u8>>,
    /// The units of its numeric escapes.
    units: Vec<u16>,
    /// Whether numeric escapes are its only form.
    is_escaped: bool,
}

impl CharForms {
    fn of(c: QueryChar, is_insensitive: bool, splits_pairs: bool) -> Self {
        let c = match c {
            Ok(c) => c,
            Err(lone) => return Self::without_usual(vec![lone], !splits_pairs),
        };
        if c == char::REPLACEMENT_CHARACTER {
            // Bytes that are not UTF-8 become this character.
            return Self::without_usual(Vec::new(), false);
        }
        if c < ' ' && simple_escape(c).is_none() {
            return Self::without_usual(vec![c as u16], true);
        }
        let all = if is_insensitive { equivalents(c) } else { vec![c] };
        let units = all.iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()).collect();
        let length = usual_form(c).len();
        let (usual, mut others): (Vec<_>, Vec<_>) =
            all.into_iter().map(usual_form).partition(|form| form.len() == length);
        if c == '/' {
            others.push(br"\/".to_vec());
        }
        let usual = (0..length).map(|at| MaskedByte::any_of(usual.iter().map(|form| form[at]))).collect();
        CharForms { usual, others, units, is_escaped: false }
    }

    fn without_usual(units: Vec<u16>, is_escaped: bool) -> Self {
        CharForms { usual: Vec::new(), others: Vec::new(), units, is_escaped }
    }
}

/// The form in which writers of JSON write a character that need not have a numeric escape.
fn usual_form(c: char) -> Vec<u8> {
    match simple_escape(c) {
        Some(letter) => vec![b'\\', letter],
        None => c.to_string().into_bytes(),
    }
}
