//! What a reference is: a block whose members agree with each other.

use super::objects::id_of;
use super::walk::{Member, Name, Value};
use crate::hash::{HEX_BYTES, Hash, from_hex};
use crate::json::{decode, spells};
use crate::session::format::is_valid_seq;

/// What a reference says of an object of the store.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    hash: Hash,
    mime_type: &'a [u8],
    byte_length: f64,
    base64_length: f64,
    dimensions: Option<Dimensions>,
}

/// Width and height of an image.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Dimensions(f64, f64);

/// What stands before the digits of an id.
const ID_SCHEME: &[u8] = b"sha256:";

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
    let is_id_of = |name, object: &Stored<'_>| text(block, name).and_then(hash_in) == Some(object.hash);
    let agrees = is_id_of(Name::OriginalContentId, &original)
        && is_id_of(Name::SelectedContentId, &selected)
        && shown.is_same(&selected)
        && (original.hash != selected.hash || original.is_same(&selected));
    agrees.then_some([original, selected])
}

impl<'a> Stored<'a> {
    /// The object that has these members. `None` if one that it must have is missing or wrong.
    pub(super) fn of(members: &[Member<'a>]) -> Option<Self> {
        let hash = text(members, Name::ContentId).and_then(hash_in)?;
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
        Some(Stored { hash, mime_type: text(members, Name::MimeType)?, byte_length, base64_length, dimensions })
    }

    /// Its id: `sha256:` and the digits of its hash.
    pub fn id(&self) -> String {
        id_of(&self.hash())
    }

    /// The hash of its bytes, by which the store names it.
    pub fn hash(&self) -> Hash {
        self.hash
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
        self.hash == other.hash
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

/// The value of a member.
fn value<'a>(members: &[Member<'a>], name: Name) -> Option<Value<'a>> {
    members.iter().find(|member| member.0 == name).map(|member| member.1)
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

/// The hash in an id, given as the inside of a string; `None` if it is no id.
fn hash_in(id: &[u8]) -> Option<Hash> {
    // Each character takes six bytes at most when it is escaped.
    if id.len() > 6 * (ID_SCHEME.len() + HEX_BYTES) {
        return None;
    }
    let text: Vec<u8> = decode(id).map(|unit| u8::try_from(unit).unwrap_or_default()).collect();
    from_hex(text.strip_prefix(ID_SCHEME)?)
}

/// Whether the insides of two strings mean the same text.
fn is_same_text(one: &[u8], other: &[u8]) -> bool {
    one == other || decode(one).eq(decode(other))
}
