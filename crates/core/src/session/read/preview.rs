//! How a session begins: whether it has content, and what the user said first (`docs/session-format.md` section 2, `readSessionPreview`).

use std::path::Path;

use crate::foreign::{Foreign, OpenedSource, open_source};
use crate::json::{Cursor, Nesting, Span, decode_up_to, spells};
use crate::lines::{LineReader, LineSource, Lines, ReadError};
use crate::session::format::{each_element, inside_string, read_content};

/// Size of the first range that is read, and maximum size of a range, in bytes. Each range is four times as large as the one before,
/// since usually the first few lines suffice.
const FIRST_BYTES: u64 = 8 << 10;
const MAX_BYTES: u64 = 256 << 10;

/// How a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Whether some line is a `content`.
    pub has_content: bool,
    /// The text of the first human item that has any, in UTF-16.
    pub first_user_message: Option<Vec<u16>>,
}

impl Preview {
    /// Reads as much of the file as the preview needs, or what a foreign session becomes. `length` is the maximum length of the message in code units.
    pub fn read(path: &Path, length: usize) -> Result<Self, ReadError> {
        match open_source(path, &Foreign::Read(None), LineSource::open_unread) {
            Ok(OpenedSource::Native(source)) => preview_of(&source, length),
            Ok(OpenedSource::Foreign(conversion)) => preview_of(&conversion.native, length),
            Err(stop) => Err(stop.into_read_error()),
        }
    }
}

fn preview_of(source: &LineSource, length: usize) -> Result<Preview, ReadError> {
    let (mut reader, mut bytes) = (LineReader::default(), FIRST_BYTES);
    let (mut preview, mut nesting) = (Preview::default(), Nesting::default());
    while !reader.is_at_end() && reader.position() < source.size() {
        let start = reader.position();
        reader.begin(start..start.saturating_add(bytes));
        if look_at_lines(&mut preview, source, &mut reader, length, &mut nesting)? {
            break;
        }
        bytes = (bytes * 4).min(MAX_BYTES);
    }
    Ok(preview)
}

/// Reads the lines of the reader's range. Returns whether the preview is complete.
fn look_at_lines(
    preview: &mut Preview,
    source: &LineSource,
    reader: &mut LineReader,
    length: usize,
    nesting: &mut Nesting,
) -> Result<bool, ReadError> {
    loop {
        match reader.next_chunk(source, 0) {
            Ok(None) => return Ok(false),
            Ok(Some(chunk)) => {
                if Lines::new(chunk.bytes).any(|(_, line)| preview.look_at(line, length, nesting)) {
                    return Ok(true);
                }
            }
            // No JavaScript string can hold the line, so it does not parse. The reader has skipped it.
            Err(ReadError::LineTooLong { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

impl Preview {
    /// Reads the next line. Returns whether the preview is complete.
    fn look_at(&mut self, line: &[u8], length: usize, nesting: &mut Nesting) -> bool {
        let Some(content) = read_content(line, nesting) else { return false };
        self.has_content = true;
        let message = content.item.and_then(|item| human_text(line, item, length.saturating_add(1), nesting));
        self.first_user_message = message.map(|text| cut(text, length));
        self.first_user_message.is_some()
    }
}

/// The text of a human item; `None` for other items, and for one without text. Of a longer text, at least the first `most` code units.
fn human_text(line: &[u8], item: Span, most: usize, nesting: &mut Nesting) -> Option<Vec<u16>> {
    // A value that is not an object is not an item.
    let [speaker, blocks] = Cursor::of(line, item).members(["speaker", "blocks"], nesting).ok()?;
    inside_string(speaker?.of(line)).filter(|speaker| spells(speaker, "human"))?;
    let mut text = Vec::new();
    each_element(line, blocks?, |block| {
        if let Some(of_block) = text_of(line, block, nesting) {
            decode_up_to(&mut text, of_block, most);
        }
        Some(())
    })?;
    (!text.is_empty()).then_some(text)
}

/// The text of a block, without its quotes, if it is a text block.
fn text_of<'l>(line: &'l [u8], block: Span, nesting: &mut Nesting) -> Option<&'l [u8]> {
    let [block_type, text] = Cursor::of(line, block).members(["type", "text"], nesting).ok()?;
    inside_string(block_type?.of(line)).filter(|block_type| spells(block_type, "text"))?;
    inside_string(text?.of(line))
}

/// At most `length` code units of a text. A surrogate pair is not split.
fn cut(mut text: Vec<u16>, length: usize) -> Vec<u16> {
    let is_pair = |high: u16, low: u16| (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    if text.len() > length {
        let splits_pair = length > 0 && is_pair(text[length - 1], text[length]);
        text.truncate(length - usize::from(splits_pair));
    }
    text
}

#[cfg(test)]
mod tests;
