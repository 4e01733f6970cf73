//! The key of a string in a document: that of the member, or the string before it that says what it is.

use std::borrow::Cow;

use super::escapes::unescaped;
use super::json::{DocumentPlace, JsonPart, Step};
use super::views::as_shown;
use crate::bundle::redact::named;
use crate::json::spells;

/// The longest string that is remembered as what the next one may be called.
const MAX_NAME_BYTES: usize = 100;

/// Remembers the string before the current one.
#[derive(Default)]
pub(super) struct Siblings<'a> {
    /// Its path and its text, if it is short.
    before: Option<(Vec<Step<'a>>, &'a [u8])>,
}

impl<'a> Siblings<'a> {
    /// The decoded key of a part that is a string. `["--password", "x"]`, `["Authorization", "x"]` and
    /// `{"name": "password", "value": "x"}` give `x` the key `password` or `Authorization`.
    pub(crate) fn key(
        &mut self,
        part: JsonPart,
        place: DocumentPlace<'_, 'a>,
        text: &'a [u8],
    ) -> Option<Cow<'a, [u8]>> {
        if part != JsonPart::Text {
            return None;
        }
        let before = self.before.take().and_then(|(path, name)| announced(&path, name, place));
        if text.len() <= MAX_NAME_BYTES && !place.is_deep {
            self.before = Some((place.path.to_vec(), text));
        }
        before.or_else(|| enclosing(place)).or_else(|| place.key().map(read))
    }
}

/// A string decoded, as a terminal shows it.
fn read(text: &[u8]) -> Cow<'_, [u8]> {
    as_shown(unescaped(text))
}

/// The key of what is around the string at `place`, if that names a secret: `{"db_password": {"type": "string", "value": "x"}}`,
/// `{"apiKeys": ["x"]}`.
fn enclosing<'a>(place: DocumentPlace<'_, 'a>) -> Option<Cow<'a, [u8]>> {
    let [.., Step::Key(parent), last] = place.path else { return None };
    let is_value = match last {
        Step::Key(key) => spells(key, "value"),
        // Of a model or a parser, tokens are something else.
        Step::Index(_) => !parent.to_ascii_lowercase().ends_with(b"tokens"),
    };
    let parent = read(parent);
    (is_value && !place.is_deep && named::is_name(&parent)).then_some(parent)
}

/// The name that the string before gives to the string at `place`.
fn announced<'a>(before: &[Step<'a>], name: &'a [u8], place: DocumentPlace<'_, 'a>) -> Option<Cow<'a, [u8]>> {
    let ((last, parent), (last_before, parent_before)) = (place.path.split_last()?, before.split_last()?);
    if place.is_deep || parent != parent_before {
        return None;
    }
    let name = read(name);
    // A value that only its type announces: a parameter of AWS, a key of Azure.
    if let (Step::Key(before), Step::Key(key)) = (last_before, last) {
        let is_parameter = spells(before, "Type") && &*name == b"SecureString" && spells(key, "Value");
        if is_parameter || spells(before, "permissions") && spells(key, "value") {
            return Some(Cow::Borrowed(if is_parameter { b"password" } else { b"account_key" }));
        }
    }
    // The name of a cookie in a list of them, as HAR has it.
    if let ([.., Step::Key(list), Step::Index(_)], Step::Key(before), Step::Key(key)) = (parent, last_before, last)
        && spells(list, "cookies")
        && spells(before, "name")
        && spells(key, "value")
        && is_session(&name)
    {
        return Some(Cow::Borrowed(b"sessid"));
    }
    let is_announced = match (last_before, last) {
        (Step::Index(before), Step::Index(at)) => *at == before + 1 && named::announces_secret(&name),
        (Step::Key(before), Step::Key(key)) => {
            let [before, key] = [before, key].map(|key| unescaped(key).to_ascii_lowercase());
            // `ParameterKey` and `ParameterValue`, too.
            key.ends_with(b"value")
                && [&b"name"[..], b"key", b"header"].iter().any(|name| before.ends_with(name))
                && named::is_name(&name)
        }
        _ => false,
    };
    let dashes = name.iter().take_while(|byte| **byte == b'-').count();
    is_announced.then(|| Cow::Owned(name[dashes..].to_vec()))
}

/// Whether a cookie has the id of a session by its name: `sid`, `connect.sid`, `PHPSESSID`, `session_id`.
fn is_session(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(b"sid") || name.ends_with(b"sessid") || memchr::memmem::find(&name, b"session").is_some()
}
