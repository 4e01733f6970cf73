//! The last title in a session file (`docs/session-format.md` section 2, `readSessionTitle`).

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;

use crate::foreign::{Foreign, OpenedSource, Stop, open_source};
use crate::json::{Nesting, Span};
use crate::lines::{LineReader, LineSource, Lines, ReadError, Segments, Threads, equal_segments};
use crate::session::format::read_title as title_of_line;
use crate::task::Worker;

/// The JSON text of the last title in the file, a string or `null`; `None` if there is none, also of what a foreign session becomes. The file is searched from its end on all
/// cores, so that a title near the end is found at once.
pub fn read_title(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let opened = open_source(path, &Foreign::Read(None), LineSource::open);
    let source = Arc::new(match opened.map_err(Stop::into_read_error)? {
        OpenedSource::Native(source) => source,
        OpenedSource::Foreign(conversion) => conversion.native,
    });
    let segments = equal_segments(&source, 0).rev();
    let make = || TitleSearch { source: source.clone(), reader: LineReader::default(), nesting: Nesting::default() };
    let mut titles = Segments::new(segments, Threads::All, make);
    while let Some(title) = titles.next_output() {
        if let Some(title) = title? {
            return Ok(Some(title));
        }
    }
    Ok(None)
}

/// Searches segments of a file for their last title.
struct TitleSearch {
    source: Arc<LineSource>,
    reader: LineReader,
    nesting: Nesting,
}

impl Worker for TitleSearch {
    type Job = Range<u64>;
    type Output = Result<Option<Vec<u8>>, ReadError>;

    fn work(&mut self, segment: Range<u64>) -> Self::Output {
        self.reader.begin(segment);
        let mut last = None;
        loop {
            match self.reader.next_chunk(&self.source, 0) {
                Ok(None) => return Ok(last),
                Ok(Some(chunk)) => {
                    let Some((line, title)) = last_title(chunk.bytes, &mut self.nesting) else { continue };
                    last = Some(title.of(line).to_vec());
                }
                // No JavaScript string can hold the line, so it does not parse. The reader has skipped it.
                Err(ReadError::LineTooLong { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The last title in some whole lines, and its line.
fn last_title<'a>(lines: &'a [u8], nesting: &mut Nesting) -> Option<(&'a [u8], Span)> {
    // Lines can be short: one search of all of them makes a search of each one unnecessary in nearly all cases.
    if !may_have_title(lines) {
        return None;
    }
    let candidates = Lines::new(lines).map(|(_, line)| line).filter(|line| may_have_title(line));
    candidates.filter_map(|line| title_of_line(line, nesting).map(|title| (line, title))).last()
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
