//! The JSON text of items.

use crate::lines::{LineSource, ReadError};
use crate::session::fold::{ItemRef, MarkerText, NewMarker};
use crate::session::format::write_with_marker;

/// Appends the JSON text of an item of a history with these markers.
pub fn append_item(
    json: &mut Vec<u8>,
    item: &ItemRef,
    markers: &[NewMarker],
    source: &LineSource,
) -> Result<(), ReadError> {
    let Some(marker) = item.marker.and_then(|number| markers.get(number.get() as usize - 1)) else {
        return source.append_bytes_at(item.offset, item.length as usize, json);
    };
    let (mut text, mut scratch) = (Vec::new(), Vec::new());
    let text = source.bytes_at(item.offset, item.length as usize, &mut text)?;
    let marker = match &marker.value {
        MarkerText::Text(text) => text,
        MarkerText::At { offset, length } => source.bytes_at(*offset, *length as usize, &mut scratch)?,
    };
    write_with_marker(json, text, marker);
    Ok(())
}
