//! Expressions over the raw bytes of JSON.

use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition,
};

use super::wtf8::Surrogates;

/// Up to this number of characters, the escapes of a class are listed.
const LISTED_CHARS: usize = 1 << 10;

/// What a line has if one of its strings matches an expression: a match of another expression, or the numeric escape of one of some UTF-16 units.
pub(super) struct RawForm {
    pub(super) expression: String,
    pub(super) escapes: Vec<u16>,
}

impl RawForm {
    /// `None` if every string matches, or the form is not known.
    pub(super) fn of(expression: &Hir) -> Option<Self> {
        if expression.properties().minimum_len() == Some(0) {
            return None;
        }
        let mut escapes = Vec::new();
        let expression = raw_form(expression, &mut escapes)?.to_string();
        Some(RawForm { expression, escapes })
    }
}

/// The form of what matches between the quotes of a string. What is asserted of its surroundings is left out, which only lets it match more.
fn raw_form(expression: &Hir, escapes: &mut Vec<u16>) -> Option<Hir> {
    let mut all = |parts: &[Hir]| parts.iter().map(|part| raw_form(part, escapes)).collect::<Option<Vec<_>>>();
    Some(match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)?),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let forms = text.chars().map(|c| raw_class(&ClassUnicode::new([ClassUnicodeRange::new(c, c)]), escapes));
            Hir::concat(forms.collect())
        }
        HirKind::Class(Class::Unicode(class)) => raw_class(class, escapes),
        HirKind::Class(Class::Bytes(class)) => raw_class(&class.to_unicode_class()?, escapes),
        HirKind::Repetition(repeated) => Hir::repetition(repeated.with(raw_form(&repeated.sub, escapes)?)),
        HirKind::Capture(group) => raw_form(&group.sub, escapes)?,
    })
}

/// The forms of the characters of a class, except for numeric escapes that are added to `escapes`.
fn raw_class(class: &ClassUnicode, escapes: &mut Vec<u16>) -> Hir {
    let has = |c: char| class.ranges().iter().any(|range| range.start() <= c && c <= range.end());
    let mut usual = class.clone();
    let mut never =
        ClassUnicode::new([('\0', '\u{1f}'), ('"', '"'), ('\\', '\\')].map(|(a, b)| ClassUnicodeRange::new(a, b)));
    never.intersect(class);
    usual.difference(&never);
    let letters = class_of_escapes(has);
    let mut forms = vec![Hir::class(Class::Unicode(usual))];
    if !letters.ranges().is_empty() {
        forms.push(Hir::concat(vec![Hir::literal(*b"\\"), Hir::class(Class::Bytes(letters))]));
    }
    if has(char::REPLACEMENT_CHARACTER) {
        // One to three bytes that are not UTF-8 become this character.
        let bytes = ClassBytes::new([ClassBytesRange::new(0x80, 0xff)]);
        forms.push(repeated(Hir::class(Class::Bytes(bytes)), 1, 3));
    }
    let count = class.ranges().iter().map(ClassUnicodeRange::len).sum::<usize>();
    if count > LISTED_CHARS {
        forms.push(any_escape());
    } else {
        let chars = class.ranges().iter().flat_map(|range| range.start()..=range.end());
        escapes.extend(chars.flat_map(units_of));
    }
    Hir::alternation(forms)
}

/// The letter of the escape that a character must have in JSON, unless it has a numeric one.
pub(super) fn simple_escape(c: char) -> Option<u8> {
    Some(match c {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        _ => return None,
    })
}

/// The units of the numeric escapes of a character, which may stand for a lone surrogate.
fn units_of(c: char) -> Vec<u16> {
    let lone = u32::from(c).checked_sub(u32::from(Surrogates::FIRST_PRIVATE)).map(|at| 0xd800 + at as u16);
    c.encode_utf16(&mut [0; 2]).iter().copied().chain(lone).collect()
}

/// The letters, or the solidus, that follow the backslash in the escapes of characters of a class.
fn class_of_escapes(has: impl Fn(char) -> bool) -> ClassBytes {
    let letters = ESCAPED.iter().filter(|c| has(**c)).map(|c| simple_escape(*c).unwrap_or(*c as u8));
    ClassBytes::new(letters.map(|letter| ClassBytesRange::new(letter, letter)))
}

/// All characters that have an escape of two characters.
const ESCAPED: [char; 8] = ['"', '\\', '/', '\u{8}', '\u{c}', '\n', '\r', '\t'];

/// The numeric escape of any character.
fn any_escape() -> Hir {
    let digit = ClassBytes::new([(b'0', b'9'), (b'A', b'F'), (b'a', b'f')].map(|(a, b)| ClassBytesRange::new(a, b)));
    let digits = repeated(Hir::class(Class::Bytes(digit)), 4, 4);
    repeated(Hir::concat(vec![Hir::literal(*b"\\u"), digits]), 1, 2)
}

fn repeated(sub: Hir, min: u32, max: u32) -> Hir {
    Hir::repetition(Repetition { min, max: Some(max), greedy: true, sub: Box::new(sub) })
}
