//! The parts of references to media in a line of a session: what makes them references stays, and what a provider knows an image by is a secret.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::matcher::{Form, MatchContext, Matcher};
use super::pointer::Reach;
use crate::bundle::format::BundleError;
use crate::json::{Cursor, Nesting, spells};
use crate::session::media::{could_have_reference, is_member_name, reference_places};

/// The name of the rule for what a provider knows an image by.
pub(crate) const NAME: &str = "provider-file";

/// A part of the name of each member that the rule is for.
pub(super) const LITERALS: &[&str] = &["roviderFile"];

/// A part of a reference that is not redacted as other strings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferencePart {
    /// The id of an object. No rule is applied to it, since it is a hash.
    Id,
    /// What else a reader requires of a reference.
    Fixed,
    /// What the rule is for. Of a scope, which may have the id of the session, [`Within`](Reach::Within): it is not searched for elsewhere.
    ProviderFile(Reach),
}

/// The parts of the references of a line.
#[derive(Default)]
pub(super) struct ReferenceParts {
    /// Keys and strings, by their offsets.
    parts: HashMap<usize, ReferencePart>,
    /// The values that the rule is for and that are no strings: numbers, objects and arrays, in order.
    whole: Vec<Range<usize>>,
}

impl ReferenceParts {
    /// Those of a line that is JSON, in all payloads that it has.
    pub(super) fn of_line(line: &[u8]) -> Self {
        let mut starts: Vec<usize> = reference_places(line).into_iter().map(|place| place.start).collect();
        starts.sort_unstable();
        let mut walk = Walk { starts, ..Walk::default() };
        if !walk.starts.is_empty() {
            // A line that is JSON has an end.
            let _ = walk.walk(line);
        }
        walk.parts
    }

    /// The part at an offset.
    pub(super) fn at(&self, offset: usize) -> Option<ReferencePart> {
        self.parts.get(&offset).copied()
    }

    /// The value around an offset that the rule is for and that is no string.
    pub(super) fn whole_at(&self, offset: usize) -> Option<Range<usize>> {
        let after = self.whole.partition_point(|range| range.start <= offset);
        self.whole[..after].last().filter(|range| range.contains(&offset)).cloned()
    }
}

/// What a value is to a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Other,
    Reference,
    /// `originalObject` or `selectedObject`.
    Stored,
    Dimensions,
    /// `providerFiles`, or something in it.
    Files,
    /// `providerFileIds`.
    Ids,
    /// What the rule is for.
    Known(Reach),
}

/// An object or array whose end is not reached.
struct Level<'a> {
    is_object: bool,
    role: Role,
    /// The key of the current member.
    key: &'a [u8],
    start: usize,
    /// The number of whole values and of references before it.
    before: (usize, usize),
}

impl Level<'_> {
    /// What its current member or element is.
    fn role_of_value(&self) -> Role {
        let is = |names: &[&str]| names.iter().any(|name| self.is_object && spells(self.key, name));
        match self.role {
            Role::Reference if is(&["originalObject", "selectedObject"]) => Role::Stored,
            Role::Reference if is(&["dimensions"]) => Role::Dimensions,
            Role::Reference if is(&["providerFiles"]) => Role::Files,
            Role::Reference if is(&["providerFileIds"]) => Role::Ids,
            Role::Files if is(&["scopeId"]) => Role::Known(Reach::Within),
            Role::Files if is(&["credentialHash", "fileId"]) => Role::Known(Reach::Exactly),
            Role::Files => Role::Files,
            Role::Ids => Role::Known(Reach::Exactly),
            Role::Known(reach) => Role::Known(reach),
            _ => Role::Other,
        }
    }

    /// What its current value is if it is a string.
    fn text(&self) -> Option<ReferencePart> {
        let is = |names: &[&str]| names.iter().any(|name| spells(self.key, name));
        match self.role_of_value() {
            Role::Known(reach) => return Some(ReferencePart::ProviderFile(reach)),
            // Not what it has to be, which is a list and an object.
            Role::Files | Role::Ids if self.role == Role::Reference => {
                return Some(ReferencePart::ProviderFile(Reach::Exactly));
            }
            _ => {}
        }
        match self.role {
            Role::Reference if is(&["contentId", "originalContentId", "selectedContentId"]) => Some(ReferencePart::Id),
            Role::Reference if is(&["type", "encoding", "mimeType"]) => Some(ReferencePart::Fixed),
            Role::Stored if is(&["contentId"]) => Some(ReferencePart::Id),
            Role::Stored if is(&["mimeType"]) => Some(ReferencePart::Fixed),
            _ => None,
        }
    }
}

/// A walk over a line, which takes linear time however references are nested.
#[derive(Default)]
struct Walk<'a> {
    /// Where references begin, in order.
    starts: Vec<usize>,
    /// How many of them were reached.
    reached: usize,
    open: Vec<Level<'a>>,
    parts: ReferenceParts,
    nesting: Nesting,
}

impl<'a> Walk<'a> {
    fn walk(&mut self, line: &'a [u8]) -> Option<()> {
        let mut cursor = Cursor::new(line);
        cursor.white_space();
        loop {
            if self.begin(&mut cursor)? {
                continue;
            }
            loop {
                let Some(level) = self.open.last() else { return Some(()) };
                let is_object = level.is_object;
                cursor.white_space();
                let next = cursor.peek()?;
                cursor.skip(1);
                if next == b',' {
                    cursor.white_space();
                    if is_object {
                        self.key(&mut cursor)?;
                    }
                    break;
                }
                self.close(cursor.position());
            }
        }
    }

    /// Reads the next value, or the beginning of an object or array that has something in it. Returns whether it is such a one.
    fn begin(&mut self, cursor: &mut Cursor<'a>) -> Option<bool> {
        let (start, first) = (cursor.position(), cursor.peek()?);
        let role = self.open.last().map_or(Role::Other, Level::role_of_value);
        if matches!(first, b'{' | b'[') {
            cursor.skip(1);
            cursor.white_space();
            if matches!(cursor.peek()?, b'}' | b']') {
                cursor.skip(1);
                return Some(false);
            }
            let is_object = first == b'{';
            let before = (self.parts.whole.len(), self.reached);
            let role = match role {
                _ if self.starts.get(self.reached) == Some(&start) => {
                    self.reached += 1;
                    Role::Reference
                }
                // No object by name, so it is one value.
                Role::Ids if !is_object => Role::Known(Reach::Exactly),
                role => role,
            };
            self.open.push(Level { is_object, role, key: b"", start, before });
            if is_object {
                self.key(cursor)?;
            }
            return Some(true);
        }
        cursor.value(&mut self.nesting).ok()?;
        match first {
            b'"' => {
                let part = self.open.last().and_then(Level::text);
                self.parts.parts.extend(part.map(|part| (start + 1, part)));
            }
            b'-' | b'0'..=b'9' if matches!(role, Role::Known(_) | Role::Ids) => {
                self.parts.whole.push(start..cursor.position())
            }
            _ => {}
        }
        Some(false)
    }

    fn key(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        let start = cursor.position() + 1;
        let level = self.open.last_mut()?;
        level.key = cursor.key().ok()?;
        if matches!(level.role, Role::Reference | Role::Stored | Role::Dimensions) && is_member_name(level.key) {
            self.parts.parts.insert(start, ReferencePart::Fixed);
        }
        Some(())
    }

    fn close(&mut self, end: usize) {
        let Some(level) = self.open.pop() else { return };
        let (whole, references) = level.before;
        // What has a reference in it stays, so that its image is still named.
        if matches!(level.role, Role::Known(_)) && references == self.reached {
            self.parts.whole.truncate(whole);
            self.parts.whole.push(level.start..end);
        }
    }
}

/// The members that the rule is for, with their values as far as they are there: up to the first bracket that closes.
static TORN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let value = r#"(\{[^}]*|\[[^\]]*|"(?:[^"\\]|\\.)*|[^"\s,\]}]+)"#;
    Regex::new(&format!(r#"(?s-u)"(?:credentialHash|fileId|(scopeId)|providerFileIds)"\s*:\s*{value}"#)).ok()
});

/// A string, which may be torn, or the beginning of a member, or a number.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?s-u)"((?:[^"\\]|\\.)*)("?\s*:)?|-?[0-9][0-9.eE+-]*"#).ok());

/// Redacts these members in a text that is no JSON, but may be the beginning of a line with a reference. `None` if there are none.
pub(super) fn redacted_torn(
    matcher: &mut Matcher<'_>,
    text: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let rule = matcher.provider_file().filter(|_| could_have_reference(text));
    let (Some(rule), Some(members), Some(tokens)) = (rule, &*TORN, &*TOKEN) else { return Ok(None) };
    let (mut out, mut at) = (Vec::new(), 0);
    for member in members.captures_iter(text) {
        let Some(value) = member.get(2) else { continue };
        for token in tokens.captures_iter(value.as_bytes()).filter(|token| token.get(2).is_none()) {
            let Some(found) = token.get(1).or_else(|| token.get(0)) else { continue };
            let (start, end) = (value.start() + found.start(), value.start() + found.end());
            // What is not whole is not searched for elsewhere.
            let is_within = member.get(1).is_some() || text.get(end).is_none();
            let pointed = [(rule, if is_within { Reach::Within } else { Reach::Exactly })];
            let context = MatchContext { pointed: &pointed, ..MatchContext::at(Form::JsonString) };
            if let Some(redacted) = matcher.redacted(&text[start..end], context, rules)? {
                out.extend_from_slice(&text[at..start]);
                out.extend_from_slice(&redacted);
                at = end;
            }
        }
    }
    out.extend_from_slice(if at == 0 { &[] } else { &text[at..] });
    Ok((at > 0).then_some(out))
}
