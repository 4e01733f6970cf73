//! What a reference is: a block whose members agree with each other.

use super::objects::id_of;
use super::walk::{Member, Name, Value};
use crate::hash::{Hash, from_hex};
use crate::json::{decode, spells};
use crate::session::format::is_valid_seq;

/// What a reference says of an object of the store.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    id: &'a [u8],
    mime_type: &'a [u8],
    byte_length: f64,
    base64_length: f64,
    dimensions: Option<Dimensions>,
}

/// Width and height of an image.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Dimensions(f64, f64);

/// The number of hexadecimal digits of an id.
const ID_DIGITS: usize = 64;

/// What stands before them.
const ID_SCHEME: &str = "sha256:";

/// The original and the selected object of a block with these members, if it is a reference. What it refers to is not looked at.
pub(super) fn objects_of<'a>(members: &[Member<'a>]) -> Option<[Stored<'a>; 2]> {
    let is = |name, word| text(members, name).is_some_and(|inside| spells(inside, word));
    let is_block = is(Name::Type, "media")
        && is(Name::Encoding, "reference")
        && value(members, Name::Data).is_none()
        && value(members, Name::SourcePath).is_none();
    if is_block { agreeing_objects(members) } else { None }
}

/// The objects of a block, if what the block says of them agrees with them.
fn agreeing_objects<'a>(block: &[Member<'a>]) -> Option<[Stored<'a>; 2]> {
    let (original, selected) = (stored(block, Name::OriginalObject)?, stored(block, Name::SelectedObject)?);
    let shown = Stored::of(block)?;
    let is_id_of = |name, object: &Stored<'_>| text(block, name).is_some_and(|id| is_same_text(id, object.id));
    let agrees = is_id_of(Name::OriginalContentId, &original)
        && is_id_of(Name::SelectedContentId, &selected)
        && shown.is_same(&selected)
        && (!is_same_text(original.id, selected.id) || original.is_same(&selected));
    agrees.then_some([original, selected])
}

impl<'a> Stored<'a> {
    /// The object that has these members. `None` if one that it must have is missing or wrong.
    pub(super) fn of(members: &[Member<'a>]) -> Option<Self> {
        let id = text(members, Name::ContentId).filter(|inside| is_content_id(inside))?;
        let byte_length = number(members, Name::ByteLength).filter(|bytes| is_valid_seq(*bytes))?;
        let base64_length = (byte_length / 3.0).ceil() * 4.0;
        if number(members, Name::NormalizedBase64Length)? != base64_length {
            return None;
        }
        let dimensions = match value(members, Name::Dimensions) {
            None => None,
            Some(Value::Dimensions(dimensions)) => Some(dimensions),
            Some(_) => return None,
        };
        Some(Stored { id, mime_type: text(members, Name::MimeType)?, byte_length, base64_length, dimensions })
    }

    /// Its id: `sha256:` and the digits of its hash.
    pub fn id(&self) -> String {
        id_of(&self.hash())
    }

    /// The hash of its bytes, by which the store names it.
    pub fn hash(&self) -> Hash {
        let digits: Vec<u8> = decode(self.id).skip(ID_SCHEME.len()).filter_map(|unit| u8::try_from(unit).ok()).collect();
        // An object without a valid id is none.
        from_hex(&digits).unwrap_or_default()
    }

    /// The number of its bytes.
    pub fn byte_length(&self) -> u64 {
        self.byte_length as u64
    }

    /// The inside of the string with its type.
    pub fn mime_type(&self) -> &'a [u8] {
        self.mime_type
    }

    fn is_same(&self, other: &Self) -> bool {
        is_same_text(self.id, other.id)
            && is_same_text(self.mime_type, other.mime_type)
            && (self.byte_length, self.base64_length) == (other.byte_length, other.base64_length)
            && self.dimensions == other.dimensions
    }
}

impl Dimensions {
    /// The dimensions that have these members.
    pub(super) fn of(members: &[Member<'_>]) -> Option<Self> {
        Some(Dimensions(number(members, Name::Width)?, number(members, Name::Height)?))
    }
}

/// The value of a member: of duplicates the last one counts.
fn value<'a>(members: &[Member<'a>], name: Name) -> Option<Value<'a>> {
    members.iter().rfind(|member| member.name == name).map(|member| member.value)
}

fn text<'a>(members: &[Member<'a>], name: Name) -> Option<&'a [u8]> {
    if let Value::Text(inside) = value(members, name)? { Some(inside) } else { None }
}

fn number(members: &[Member<'_>], name: Name) -> Option<f64> {
    if let Value::Number(number) = value(members, name)? { Some(number) } else { None }
}

fn stored<'a>(members: &[Member<'a>], name: Name) -> Option<Stored<'a>> {
    if let Value::Stored(stored) = value(members, name)? { Some(stored) } else { None }
}

/// Whether the inside of a string is the id of an object: the hash of its bytes.
fn is_content_id(inside: &[u8]) -> bool {
    let is_digit = |unit: u16| matches!(u8::try_from(unit), Ok(b'0'..=b'9' | b'a'..=b'f'));
    // Each character takes six bytes at most when it is escaped.
    if inside.len() > 6 * (ID_SCHEME.len() + ID_DIGITS) {
        return false;
    }
    let units: Vec<u16> = decode(inside).collect();
    let digits = units.strip_prefix(&ID_SCHEME.encode_utf16().collect::<Vec<_>>()[..]);
    digits.is_some_and(|digits| digits.len() == ID_DIGITS && digits.iter().all(|unit| is_digit(*unit)))
}

/// Whether the insides of two strings mean the same text.
fn is_same_text(one: &[u8], other: &[u8]) -> bool {
    one == other || decode(one).eq(decode(other))
}
