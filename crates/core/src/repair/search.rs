//! Finds the records of a text: whole lines first and, where a line is damaged, everything in it that is a record.

use std::ops::Range;

use super::error::RepairError;
use super::machine::{Broken, Found, Machine};
use super::record::{Envelope, Parsed, cleaned};
use super::window::{Line, Window};
use crate::disk::BOM;
use crate::json::Nesting;
use crate::lines::{LineSource, MAX_LINE_BYTES, ReadError};
use crate::task::Task;

/// A record that was found.
pub(super) struct FoundRecord<'r> {
    /// Where it is in the text.
    pub range: Range<u64>,
    /// Its text, one line of JSON.
    pub text: &'r [u8],
    pub envelope: Envelope,
    /// Whether a replay sees it: it is a line, and was not mended.
    pub is_seen: bool,
    /// Whether it is in the first line, and nothing is before it.
    pub is_first: bool,
    /// Whether bytes that are not UTF-8 were replaced in it.
    pub is_replaced: bool,
}

/// Receives what is found, in the order of the text.
pub(super) trait Visitor {
    fn record(&mut self, record: &FoundRecord<'_>) -> Result<(), RepairError>;
    /// Bytes in one line that belong to no record.
    fn fragment(&mut self, range: Range<u64>, reason: &'static str) -> Result<(), RepairError>;
    /// A line that is no fragment, and no record either: only separators, or a record that was mended.
    fn damage(&mut self);
}

/// Why a search ended early.
pub(super) enum Stopped {
    Reading(ReadError),
    Visitor(RepairError),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Self {
        Stopped::Reading(error)
    }
}

impl From<RepairError> for Stopped {
    fn from(error: RepairError) -> Self {
        Stopped::Visitor(error)
    }
}

impl From<crate::task::Cancelled> for Stopped {
    fn from(cancelled: crate::task::Cancelled) -> Self {
        Stopped::Visitor(cancelled.into())
    }
}

/// Number of bytes after which progress is reported.
const REPORT_BYTES: u64 = 256 << 10;

/// Searches a text from its beginning to its end. `done` is the progress of earlier searches, in bytes of `total`.
pub(super) fn search(
    source: &LineSource,
    visitor: &mut dyn Visitor,
    task: &mut Task<'_>,
    (done, total): (u64, u64),
) -> Result<(), Stopped> {
    let mut search = Search {
        source,
        window: Window::new(source),
        side: Window::new(source),
        nesting: Nesting::default(),
        visitor,
        line_start: 0,
        gap: 0,
        is_first: true,
    };
    let mut at = 0;
    if search.window.bytes(0)?.starts_with(BOM) {
        at = BOM.len() as u64;
    }
    let mut reported = 0;
    while let Some(next) = search.next_line(at, task)? {
        at = next;
        if at - reported >= REPORT_BYTES {
            task.report_bytes(done + at, total)?;
            reported = at;
        }
    }
    task.report_bytes(done + at, total)?;
    Ok(())
}

struct Search<'s, 'v> {
    source: &'s LineSource,
    window: Window<'s>,
    /// For looking back, and ahead.
    side: Window<'s>,
    nesting: Nesting,
    visitor: &'v mut dyn Visitor,
    line_start: u64,
    /// What is before this offset belongs to records and fragments that were found.
    gap: u64,
    is_first: bool,
}

impl Search<'_, '_> {
    /// Reads the line at `at`, or the damaged region that begins there. Returns where the next line begins.
    fn next_line(&mut self, at: u64, task: &mut Task<'_>) -> Result<Option<u64>, Stopped> {
        let (line, next) = match self.window.line(at)? {
            Line::End => return Ok(None),
            Line::TooLong => return self.damaged(at, task).map(Some),
            Line::Whole(line, next) => (line, next),
        };
        let from = line.iter().position(|byte| !is_white(&[*byte])).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_white(&[*byte])).map_or(from, |last| last + 1);
        let (content, start) = (&line[from..end], at + from as u64);
        let range = start..start + content.len() as u64;
        match Envelope::parse(content, &mut self.nesting) {
            Parsed::Record(envelope) => {
                let replaced = replaced(content);
                let (text, envelope) = match &replaced {
                    Some(text) => match Envelope::parse(text, &mut self.nesting) {
                        Parsed::Record(envelope) => (&text[..], envelope),
                        _ => (content, envelope),
                    },
                    None => (content, envelope),
                };
                let is_first = std::mem::replace(&mut self.is_first, false);
                let is_replaced = replaced.is_some();
                self.visitor.record(&FoundRecord { range, text, envelope, is_seen: true, is_first, is_replaced })?;
            }
            Parsed::Nothing => self.is_first = false,
            Parsed::Other => self.fragment(range, "JSON that is no record")?,
            Parsed::Unknown => return self.damaged(at, task).map(Some),
        }
        Ok(Some(next))
    }

    /// Searches from a line that is damaged to the beginning of one that may not be.
    fn damaged(&mut self, start: u64, task: &mut Task<'_>) -> Result<u64, Stopped> {
        self.visitor.damage();
        let mut machine = Machine::default();
        (self.gap, self.line_start) = (start, start);
        let (mut at, mut checked) = (start, start);
        loop {
            if at.saturating_sub(checked) >= REPORT_BYTES {
                task.check()?;
                checked = at;
            }
            let bytes = self.window.bytes(at)?;
            if bytes.is_empty() {
                let broken = machine.break_off(at);
                let resume = broken.resume;
                self.broken(broken)?;
                if resume < at {
                    at = resume;
                    continue;
                }
                self.end_gap(at)?;
                return Ok(at);
            }
            let (read, found) = machine.read(bytes, at);
            at += read as u64;
            match found {
                None => {}
                Some(Found::Whole { range, is_record: true }) => self.whole(range)?,
                // It is a fragment, whatever is in it.
                Some(Found::Whole { .. }) => {}
                Some(Found::Broken(broken)) => {
                    at = broken.resume;
                    self.broken(broken)?;
                }
                Some(Found::LineEnd(next)) => {
                    self.is_first = false;
                    if !machine.is_outside() && self.is_record_line(next)? {
                        let broken = machine.break_off(next);
                        self.broken(broken)?;
                        self.end_gap(next)?;
                        return Ok(next);
                    }
                    if machine.is_outside() {
                        self.end_gap(next)?;
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// Whether the line at `offset` is a record in itself.
    fn is_record_line(&mut self, offset: u64) -> Result<bool, Stopped> {
        let beginning = self.window.bytes(offset)?;
        let first = beginning.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        if first.is_some_and(|first| *first != b'{') {
            return Ok(false);
        }
        let Line::Whole(line, _) = self.window.line(offset)? else { return Ok(false) };
        Ok(matches!(Envelope::parse(line, &mut self.nesting), Parsed::Record(_)))
    }

    fn broken(&mut self, broken: Broken) -> Result<(), Stopped> {
        broken.records.into_iter().try_for_each(|range| self.whole(range))
    }

    /// Takes an object that is a record.
    fn whole(&mut self, range: Range<u64>) -> Result<(), Stopped> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if length > MAX_LINE_BYTES {
            return Ok(());
        }
        let mut raw = Vec::new();
        self.source.append_bytes_at(range.start, length, &mut raw)?;
        let is_line = !raw.contains(&b'\n') && self.is_alone(&range)?;
        let clean = cleaned(&raw);
        let replaced = replaced(&clean);
        let (is_replaced, is_mended) = (replaced.is_some(), matches!(clean, std::borrow::Cow::Owned(_)));
        let text = replaced.as_deref().unwrap_or(&clean);
        let Parsed::Record(envelope) = Envelope::parse(text, &mut self.nesting) else { return Ok(()) };
        self.end_gap(range.start)?;
        self.gap = range.end;
        let is_first = std::mem::replace(&mut self.is_first, false);
        let is_seen = is_line && !is_mended;
        self.visitor.record(&FoundRecord { range, text, envelope, is_seen, is_first, is_replaced })?;
        Ok(())
    }

    /// Whether nothing but white space is in the line with this range.
    fn is_alone(&mut self, range: &Range<u64>) -> Result<bool, Stopped> {
        let before = self.line_start_before(range.start)?;
        Ok(before && self.is_line_over(range.end)?)
    }

    /// Whether only white space is between the last line feed, or what was found last, and `offset`.
    fn line_start_before(&mut self, offset: u64) -> Result<bool, Stopped> {
        let mut at = self.gap;
        let mut is_blank = at == self.line_start;
        while at < offset {
            let bytes = self.side.bytes(at)?;
            let bytes = &bytes[..bytes.len().min(usize::try_from(offset - at).unwrap_or(usize::MAX))];
            if bytes.is_empty() {
                break;
            }
            match memchr::memrchr(b'\n', bytes) {
                Some(newline) => is_blank = is_white(&bytes[newline + 1..]),
                None => is_blank &= is_white(bytes),
            }
            at += bytes.len() as u64;
        }
        Ok(is_blank)
    }

    /// Whether only white space follows in the line.
    fn is_line_over(&mut self, offset: u64) -> Result<bool, Stopped> {
        let mut at = offset;
        loop {
            let bytes = self.side.bytes(at)?;
            match bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
                Some(other) => return Ok(bytes[other] == b'\n'),
                None if bytes.is_empty() => return Ok(true),
                None => at += bytes.len() as u64,
            }
        }
    }

    /// Reports the bytes up to `end` that belong to no record, line by line.
    fn end_gap(&mut self, end: u64) -> Result<(), Stopped> {
        let (mut at, mut fragment) = (self.gap, None::<(Range<u64>, &'static str)>);
        while at < end {
            let bytes = self.side.bytes(at)?;
            let bytes = &bytes[..bytes.len().min(usize::try_from(end - at).unwrap_or(usize::MAX))];
            if bytes.is_empty() {
                break;
            }
            let (mut ended, mut from) = (Vec::new(), 0);
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                if let Some(found) = trimmed_gap(line) {
                    let range = at + (from + found.start) as u64..at + (from + found.end) as u64;
                    fragment = Some(match fragment.take() {
                        Some((earlier, reason)) => (earlier.start..range.end, reason),
                        None => (range, reason_of(&line[found])),
                    });
                }
                if line.ends_with(b"\n") {
                    ended.extend(fragment.take());
                }
                from += line.len();
            }
            at += bytes.len() as u64;
            for (range, reason) in ended {
                self.fragment(range, reason)?;
            }
        }
        if let Some((range, reason)) = fragment {
            self.fragment(range, reason)?;
        }
        self.gap = end;
        Ok(())
    }

    fn fragment(&mut self, range: Range<u64>, reason: &'static str) -> Result<(), RepairError> {
        self.is_first = false;
        self.visitor.fragment(range, reason)
    }
}

/// What a fragment is, by its beginning.
fn reason_of(fragment: &[u8]) -> &'static str {
    let text = fragment.iter().find(|byte| !separates(**byte));
    if text == Some(&b'{') { "an object that breaks off or is no record" } else { "no JSON, or the rest of an object" }
}

fn is_white(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Whether a byte between records is none of their content: white space, NULs, and what separates the elements of an array.
fn separates(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n' | b'[' | b']' | b',')
}

/// The part of a gap that is not white space; `None` if there is nothing but separators.
fn trimmed_gap(bytes: &[u8]) -> Option<Range<usize>> {
    let first = bytes.iter().position(|byte| !separates(*byte))?;
    let from = bytes[..first].iter().rposition(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\r')).map_or(0, |at| at + 1);
    // A string that was cut off may end in spaces.
    let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b'\r' | b'\n')).map_or(first, |at| at + 1);
    Some(from..end)
}

/// The text with U+FFFD for what is not UTF-8; `None` if it is UTF-8.
pub(super) fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(text).is_err().then(|| String::from_utf8_lossy(text).into_owned().into_bytes())
}
