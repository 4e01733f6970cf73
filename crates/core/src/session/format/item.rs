//! The marker of an item (`docs/session-format.md` section 2, rules 29 and 32).

use super::edits::{members, seq};
use crate::json::{Cursor, Nesting, Span, decode};

/// The marker of an item, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The place of `metadata.chronology` in the item.
    pub place: Span,
    /// Its `seq`, if that is valid.
    pub key: Option<u64>,
}

/// The marker of an item, given as JSON text: its `metadata.chronology`, of any type. `None` if it has none.
pub(crate) fn marker_of(item: &[u8]) -> Option<Marker> {
    // Nearly every item without a marker is recognised by a search, which is much faster than parsing.
    if !MAY_HAVE_MARKER.iter().any(|part| part.find(item).is_some()) {
        return None;
    }
    let [metadata] = members(item, whole(item), ["metadata"]);
    let [chronology] = members(item, metadata?, ["chronology"]);
    let place = chronology?;
    Some(Marker { place, key: key_in(item, place) })
}

/// The key of an item, given as JSON text. `None` if it has no marker, or none with a valid `seq`.
pub(crate) fn key_of(item: &[u8]) -> Option<u64> {
    marker_of(item)?.key
}

/// The key in a marker, given as JSON text.
pub(crate) fn seq_of(marker: &[u8]) -> Option<u64> {
    key_in(marker, whole(marker))
}

fn key_in(text: &[u8], marker: Span) -> Option<u64> {
    let [key] = members(text, marker, ["seq"]);
    seq(text, key)
}

fn whole(text: &[u8]) -> Span {
    Span { start: 0, end: text.len() as u32 }
}

static MAY_HAVE_MARKER: std::sync::LazyLock<[memchr::memmem::Finder<'static>; 2]> =
    std::sync::LazyLock::new(|| ["\"chronology\"", r"\u00"].map(memchr::memmem::Finder::new));

static MAY_HAVE_METADATA: std::sync::LazyLock<[memchr::memmem::Finder<'static>; 2]> =
    std::sync::LazyLock::new(|| ["\"metadata\"", r"\u00"].map(memchr::memmem::Finder::new));

/// Appends the JSON text of an item with another marker: of `{ ...item, metadata: { ...item.metadata, chronology: marker } }`.
pub(crate) fn write_with_marker(json: &mut Vec<u8>, item: &[u8], marker: &[u8]) {
    let may_have_metadata = MAY_HAVE_METADATA.iter().any(|part| part.find(item).is_some());
    let [metadata] = if may_have_metadata { members(item, whole(item), ["metadata"]) } else { [None] };
    match metadata {
        // If the key occurs twice, the last value counts, at the place of the first.
        Some(place) => {
            json.extend_from_slice(&item[..place.start as usize]);
            write_metadata(json, place.of(item), marker);
            json.extend_from_slice(&item[place.end as usize..]);
        }
        None => write_with_member(json, item, &[br#""metadata":{"chronology":"#, marker, b"}"]),
    }
}

/// Appends `{ ...metadata, chronology: marker }`, which JavaScript allows of any value.
fn write_metadata(json: &mut Vec<u8>, metadata: &[u8], marker: &[u8]) {
    match metadata.first() {
        Some(b'{') => {
            let [chronology] = members(metadata, whole(metadata), ["chronology"]);
            match chronology {
                Some(place) => {
                    json.extend_from_slice(&metadata[..place.start as usize]);
                    json.extend_from_slice(marker);
                    json.extend_from_slice(&metadata[place.end as usize..]);
                }
                None => write_with_member(json, metadata, &[br#""chronology":"#, marker]),
            }
        }
        Some(b'[') => {
            json.push(b'{');
            let (mut nesting, mut index) = (Nesting::default(), 0_usize);
            // It was scanned before, so that this can't fail.
            let _ = Cursor::new(metadata).array(|cursor| {
                let element = cursor.value_bytes(&mut nesting)?;
                write_indexed(json, &mut index, element);
                Ok(())
            });
            write_chronology(json, index == 0, marker);
        }
        Some(b'"') => {
            json.push(b'{');
            let mut index = 0;
            for unit in decode(&metadata[1..metadata.len().saturating_sub(1)]) {
                write_indexed(json, &mut index, format!("\"\\u{unit:04x}\"").as_bytes());
            }
            write_chronology(json, index == 0, marker);
        }
        _ => {
            json.push(b'{');
            write_chronology(json, true, marker);
        }
    }
}

fn write_indexed(json: &mut Vec<u8>, index: &mut usize, value: &[u8]) {
    json.extend_from_slice(format!("{}\"{index}\":", if *index == 0 { "" } else { "," }).as_bytes());
    json.extend_from_slice(value);
    *index += 1;
}

fn write_chronology(json: &mut Vec<u8>, is_first: bool, marker: &[u8]) {
    json.extend_from_slice(if is_first { br#""chronology":"# } else { br#","chronology":"# });
    json.extend_from_slice(marker);
    json.push(b'}');
}

/// Appends an object with a further member at its end, given in parts.
fn write_with_member(json: &mut Vec<u8>, object: &[u8], member: &[&[u8]]) {
    let inside = object.strip_suffix(b"}").unwrap_or(object);
    json.extend_from_slice(inside);
    if !inside.trim_ascii_end().ends_with(b"{") {
        json.push(b',');
    }
    member.iter().for_each(|part| json.extend_from_slice(part));
    json.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_marker(item: &str, marker: &str) -> String {
        let mut json = Vec::new();
        write_with_marker(&mut json, item.as_bytes(), marker.as_bytes());
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn a_marker_is_set_as_a_spread_in_javascript_sets_it() {
        for (item, expected) in [
            (r#"{}"#, r#"{"metadata":{"chronology":M}}"#),
            (r#"{ }"#, r#"{ "metadata":{"chronology":M}}"#),
            (r#"{"a":1}"#, r#"{"a":1,"metadata":{"chronology":M}}"#),
            (r#"{"metadata":{},"a":1}"#, r#"{"metadata":{"chronology":M},"a":1}"#),
            (r#"{"metadata":{"x":{}},"a":1}"#, r#"{"metadata":{"x":{},"chronology":M},"a":1}"#),
            (r#"{"metadata":{"chronology":{"seq":1},"x":2}}"#, r#"{"metadata":{"chronology":M,"x":2}}"#),
            (r#"{"metadata":{"chronology":1,"chronology":2}}"#, r#"{"metadata":{"chronology":1,"chronology":M}}"#),
            (r#"{"metadata":1,"meta\u0064ata":{"y":0}}"#, r#"{"metadata":1,"meta\u0064ata":{"y":0,"chronology":M}}"#),
            (r#"{"metadata":null}"#, r#"{"metadata":{"chronology":M}}"#),
            (r#"{"metadata":7}"#, r#"{"metadata":{"chronology":M}}"#),
            (r#"{"metadata":[]}"#, r#"{"metadata":{"chronology":M}}"#),
            (r#"{"metadata":[[1],"b"]}"#, r#"{"metadata":{"0":[1],"1":"b","chronology":M}}"#),
            (r#"{"metadata":"é"}"#, r#"{"metadata":{"0":"\u00e9","chronology":M}}"#),
            (r#"{"metadata":""}"#, r#"{"metadata":{"chronology":M}}"#),
        ] {
            assert_eq!(with_marker(item, "M"), expected, "{item}");
        }
    }

    #[test]
    fn the_key_of_an_item_is_the_last_valid_seq_of_its_last_marker() {
        let key = |item: &str| marker_of(item.as_bytes()).map(|marker| marker.key);
        assert_eq!(key(r#"{"metadata":{"chronology":{"seq":7}}}"#), Some(Some(7)));
        assert_eq!(key(r#"{"metadata":{"chronology":{"seq":7,"s\u0065q":8e0}}}"#), Some(Some(8)));
        assert_eq!(key(r#"{"metadata":{"chronology":{"seq":-0}}}"#), Some(Some(0)));
        assert_eq!(key(r#"{"metadata":{"chronology":{"seq":1.5}}}"#), Some(None));
        assert_eq!(key(r#"{"metadata":{"chronology":"seq"}}"#), Some(None));
        assert_eq!(key(r#"{"metadata":{"chronology":{"seq":1}},"metadata":{}}"#), None);
        assert_eq!(key(r#"{"metadata":[{"chronology":{"seq":1}}]}"#), None);
        assert_eq!(key(r#"{"chronology":{"seq":1}}"#), None);
    }
}
