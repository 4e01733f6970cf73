//! The last title in a session file (`docs/session-format.md` section 2, `readSessionTitle`).

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;

use super::records_of_parts::Records;
use crate::foreign::open_lines;
use crate::lines::{LineReader, LineSource, ReadError, Segments, Threads, equal_segments};
use crate::session::format::{Body, Mode};
use crate::task::Worker;

/// The JSON text of the last title in the file, a string or `null`; `None` if there is none, also of what a foreign session becomes. The file is searched from its end on all
/// cores, so that a title near the end is found at once.
pub fn read_title(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let source = Arc::new(open_lines(path, LineSource::open)?);
    let segments = equal_segments(&source, 0).rev();
    // No JavaScript string can hold a line that is too long, so it does not parse.
    let reader = || LineReader::default().skipping_long_lines();
    let make = || TitleSearch(Records::new(source.clone(), reader(), Mode::Lenient));
    let mut titles = Segments::new(segments, Threads::All, make);
    while let Some(title) = titles.next_output() {
        if let Some(title) = title? {
            return Ok(Some(title));
        }
    }
    Ok(None)
}

/// Searches segments of a file for their last title.
struct TitleSearch(Records);

impl Worker for TitleSearch {
    type Job = Range<u64>;
    type Output = Result<Option<Vec<u8>>, ReadError>;

    fn work(&mut self, segment: Range<u64>) -> Self::Output {
        let mut last = None;
        self.0.each(segment, may_have_title, |body, place| {
            if let Body::SessionMetadata(Some(title)) = body {
                last = Some(title.of(place.line).to_vec());
            }
        })?;
        Ok(last)
    }
}

/// Whether the text may contain the event type of a title, as it is or with an escape in it.
fn may_have_title(text: &[u8]) -> bool {
    TYPE.find(text).is_some() || ESCAPE.find(text).is_some()
}

static TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("session_metadata"));

/// The beginning of every escape of an ASCII letter.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u00"));

#[cfg(test)]
mod tests;
