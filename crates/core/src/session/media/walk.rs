//! Finds the references of a payload, at any depth, in one pass without recursion.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::reference::{Dimensions, Stored, objects_of};
use crate::json::{Cursor, KeyPlace, Nesting, NotJson, Span, Visitor, spells};
use crate::session::format::{keys, number};

/// A text without these bytes has no reference: a recorder writes no white space around a colon, and escapes no letter.
static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""encoding":"reference""#));

/// The value of `encoding` as a writer that escapes no letter writes it.
static PLAIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""reference""#));

/// Begins the escape of a letter, and that of a character that needs one.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br"\u00"));

/// The most objects and arrays in each other. What is nested deeper has no references, so that the memory for a hostile text is bounded.
pub(crate) const MAX_LEVELS: usize = 1 << 20;

/// Whether a text of any writer may have a reference, whatever white space and escapes it has: most have none, which two searches find out.
pub(crate) fn could_have_reference(json: &[u8]) -> bool {
    let is_letter = |at: usize| matches!(json.get(at + 4), Some(b'6' | b'7'));
    PLAIN.find(json).is_some() || ESCAPE.find_iter(json).any(is_letter)
}

/// Whether a payload that a recorder has written may have a reference: most have none, which a search finds out.
#[inline]
pub(in crate::session) fn may_have_reference(payload: &[u8]) -> bool {
    MARK.find(payload).is_some()
}

/// Whether a payload, given as JSON text, has a reference.
pub(in crate::session) fn has_reference(payload: &[u8]) -> bool {
    may_have_reference(payload) && !references_of(payload).is_empty()
}

/// A reference of a payload.
#[derive(Clone)]
pub struct Reference<'a> {
    /// The object that it was made of.
    pub original: Stored<'a>,
    /// The object that is shown.
    pub selected: Stored<'a>,
    /// Its place in the text of the payload.
    pub place: Range<usize>,
}

impl<'a> Reference<'a> {
    /// The reference that a block is, given as JSON text.
    pub(crate) fn of_block(block: &'a [u8]) -> Option<Self> {
        if !could_have_reference(block) {
            return None;
        }
        references_of(block).pop().filter(|outermost| outermost.place == (0..block.len()))
    }
}

/// The references of a payload, given as JSON text, in the order of their ends. A text that is no JSON has none.
pub(super) fn references_of(payload: &[u8]) -> Vec<Reference<'_>> {
    let mut walk = Walk { json: payload, open: Vec::new(), members: Vec::new(), found: Vec::new() };
    match Cursor::new(payload).walk(&mut Nesting::default(), &mut walk) {
        Ok(()) => walk.found,
        Err(NotJson) => Vec::new(),
    }
}

keys! {
    /// The members of references and of what is in them that are read.
    pub(super) Name {
        Type = "type", Encoding = "encoding", Data = "data", SourcePath = "sourcePath", ContentId = "contentId",
        OriginalContentId = "originalContentId", SelectedContentId = "selectedContentId",
        OriginalObject = "originalObject", SelectedObject = "selectedObject", MimeType = "mimeType",
        ByteLength = "byteLength", NormalizedBase64Length = "normalizedBase64Length", Dimensions = "dimensions",
        Width = "width", Height = "height",
    }
}

/// Whether a reader of references looks at members of this name, given without its quotes.
pub(crate) fn is_member_name(inside: &[u8]) -> bool {
    Name::of(inside) != Name::Other
}

/// A member of an object.
pub(super) type Member<'a> = (Name, Value<'a>);

/// A value, as far as references need it.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    /// The inside of a string.
    Text(&'a [u8]),
    Number(f64),
    Stored(Stored<'a>),
    Dimensions(Dimensions),
    Other,
}

/// An object or array whose end is not reached.
struct Level {
    is_object: bool,
    /// Where it begins.
    start: usize,
    /// Its name in the object around it.
    name: Name,
    /// The number of members that are kept for the levels around it.
    members_before: usize,
}

/// A walk over a value. It keeps those members of the open objects that a reference could have, so that it takes linear time however the value is nested.
struct Walk<'a> {
    json: &'a [u8],
    open: Vec<Level>,
    members: Vec<Member<'a>>,
    found: Vec<Reference<'a>>,
}

impl<'a> Walk<'a> {
    fn name(&self, (key, _): KeyPlace) -> Name {
        Name::of(key.of(self.json))
    }

    /// Adds a member to the innermost object. Of two of one name the last one counts.
    fn add(&mut self, name: Name, value: Value<'a>) {
        let Some(level) = self.open.last().filter(|_| name != Name::Other) else { return };
        match self.members[level.members_before..].iter_mut().find(|known| known.0 == name) {
            Some(known) => known.1 = value,
            None => self.members.push((name, value)),
        }
    }
}

impl Visitor for Walk<'_> {
    fn open(&mut self, key: KeyPlace, start: usize, is_object: bool) -> Result<(), NotJson> {
        if self.open.len() == MAX_LEVELS {
            return Err(NotJson);
        }
        let level = Level { is_object, start, name: self.name(key), members_before: self.members.len() };
        self.open.push(level);
        Ok(())
    }

    fn close(&mut self, end: usize) {
        let Some(level) = self.open.pop() else { return };
        let own = &self.members[level.members_before..];
        if let Some([original, selected]) = objects_of(own) {
            self.found.push(Reference { original, selected, place: level.start..end });
        }
        let value = match level.name {
            _ if !level.is_object => None,
            Name::OriginalObject | Name::SelectedObject => Stored::of(own).map(Value::Stored),
            Name::Dimensions => Dimensions::of(own).map(Value::Dimensions),
            _ => None,
        };
        self.members.truncate(level.members_before);
        self.add(level.name, value.unwrap_or(Value::Other));
    }

    fn scalar(&mut self, key: KeyPlace, value: Span, _: bool) {
        let (name, text) = (self.name(key), value.of(self.json));
        let value = match text.first() {
            Some(b'"') => Value::Text(&text[1..text.len() - 1]),
            _ if name == Name::Other => return,
            _ => number(text).map_or(Value::Other, Value::Number),
        };
        self.add(name, value);
    }
}
