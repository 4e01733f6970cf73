//! Looks into the beginning of a document, whose array may go on beyond it.

use super::Stop;
use super::records::read_beginning;
use super::value::Json;
use crate::disk::BOM;
use crate::json::{Cursor, Nesting, NotJson, spells};
use crate::lines::LineSource;

/// Calls `look` with the elements of the array under `key` that are in the beginning of a document, until it returns false.
pub(super) fn beginning_elements(
    source: &LineSource,
    key: &str,
    mut look: impl FnMut(Json<'_>) -> bool,
) -> Result<(), Stop> {
    let bytes = read_beginning(source)?;
    let text = bytes.strip_prefix(BOM).unwrap_or(&bytes).trim_ascii_start();
    let mut nesting = Nesting::default();
    // An error is the end of what was looked for, or of the beginning.
    let _ = Cursor::new(text).object(|cursor, name| {
        if !spells(name, key) {
            return cursor.value(&mut nesting).map(drop);
        }
        cursor
            .array(|cursor| {
                let value = cursor.value_bytes(&mut nesting)?;
                if look(Json(value)) { Ok(()) } else { Err(NotJson) }
            })
            .map(drop)
    });
    Ok(())
}
