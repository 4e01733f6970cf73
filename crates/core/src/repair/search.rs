//! Finds the records of a text: whole lines first and, where a line is damaged, everything in it that is a record.

use std::ops::Range;

use super::error::RepairError;
use super::machine::{Before, Broken, Found, Machine, Object};
use super::record::{Envelope, Parsed, cleaned};
use super::text::{Utf16Record, utf16_of};
use super::window::{Line, Window};
use crate::disk::BOM;
use crate::json::Nesting;
use crate::lines::{LineSource, MAX_LINE_BYTES, ReadError};
use crate::task::Task;

/// A record that was found.
pub(super) struct FoundRecord<'r> {
    /// Where it is in the text.
    pub range: Range<u64>,
    /// Its first line and its last, from 1.
    pub lines: (u64, u64),
    /// Its text, one line of JSON.
    pub text: &'r [u8],
    pub envelope: Envelope,
    /// Whether a replay sees it: it is a line, and was not mended.
    pub is_seen: bool,
    /// Whether it is in the first line, and nothing is before it.
    pub is_first: bool,
    /// Whether bytes that are not UTF-8 were replaced in it.
    pub is_replaced: bool,
    /// The number of NULs that were dropped from it.
    pub nuls: u64,
    /// Whether it is UTF-16 in the middle of UTF-8.
    pub is_utf16: bool,
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

/// What follows an object, white space and NULs apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    /// The end of a line, or of the text.
    End,
    /// Another object.
    Object,
    /// `,`
    Comma,
    /// `]`
    Bracket,
    /// `}`
    Brace,
    Junk,
}

/// What an object is that has the members of a record.
#[derive(Debug, PartialEq)]
enum Verdict {
    Record,
    /// A record, if nothing but records and commas is in its line.
    Listed,
    /// It is inside a fragment.
    Inside,
    /// It is a record behind a fragment, or inside one that breaks off after it.
    InDoubt,
}

/// Maximum number of records between commas in one line.
const MAX_LISTED: usize = 1 << 16;

/// Maximum length of a fragment that is compared with the record after it.
const MAX_COMPARED_BYTES: u64 = 24 << 20;

/// The reason of a fragment that has the members of a record.
pub(super) const IN_DOUBT: &str = "a record, or an object inside a record that breaks off: nothing tells which";

/// The reason of a fragment that is a record in UTF-16, inside of a text in UTF-8.
const UTF_16: &str = "a record in UTF-16, in a file of UTF-8: nothing tells the order of its bytes";

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
        counted: (0, 1),
        line_start: 0,
        gap: 0,
        is_first: true,
        indentation: indentation_of_array(source)?,
        is_lost: false,
        list: List::default(),
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
    /// An offset, and the line that it is in.
    counted: (u64, u64),
    line_start: u64,
    /// What is before this offset belongs to records and fragments that were found.
    gap: u64,
    is_first: bool,
    /// The number of blanks before the first element, if the text is one array.
    indentation: Option<u64>,
    /// Whether the last thing that was found was a fragment, which an indented line may be inside of.
    is_lost: bool,
    list: List,
}

/// The records of a line that commas divide.
#[derive(Default)]
struct List {
    records: Vec<Range<u64>>,
    is_array: bool,
}

impl Search<'_, '_> {
    /// Reads the line at `at`, or the damaged region that begins there. Returns where the next line begins.
    fn next_line(&mut self, at: u64, task: &mut Task<'_>) -> Result<Option<u64>, Stopped> {
        let number = self.line_of(at)?;
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
                self.is_lost &= from as u64 > self.indentation.unwrap_or(0);
                let lines = (number, number);
                self.visitor.record(&FoundRecord {
                    range,
                    lines,
                    text,
                    envelope,
                    is_seen: true,
                    is_first,
                    is_replaced,
                    nuls: 0,
                    is_utf16: false,
                })?;
            }
            Parsed::Nothing => self.is_first = false,
            Parsed::Other => self.fragment(range, "JSON that is no record")?,
            Parsed::Unknown => return self.damaged(at, task).map(Some),
        }
        self.counted = (next, number + 1);
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
                Some(Found::Whole { object, is_record: true }) => self.object(object)?,
                // It is a fragment, whatever is in it.
                Some(Found::Whole { .. }) => self.lose(),
                Some(Found::Broken(broken)) => {
                    at = broken.resume;
                    self.broken(broken)?;
                }
                Some(Found::LineEnd(next)) => {
                    self.is_first = false;
                    if !machine.is_outside() && self.is_record_line(next, machine.is_in_text())? {
                        let broken = machine.break_off(next);
                        self.broken(broken)?;
                        self.end_gap(next)?;
                        return Ok(next);
                    }
                    if machine.is_outside() {
                        self.list.records.clear();
                        self.end_gap(next)?;
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// Whether the line at `offset` is a record in itself. One that is indented may be inside an object that is open, but not inside a string.
    fn is_record_line(&mut self, offset: u64, is_in_text: bool) -> Result<bool, Stopped> {
        let blanks = if is_in_text { u64::MAX } else { self.indentation.unwrap_or(0) };
        let beginning = self.window.bytes(offset)?;
        let first = beginning.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        if first.is_some_and(|first| beginning[first] != b'{' || first as u64 > blanks) {
            return Ok(false);
        }
        let Line::Whole(line, _) = self.window.line(offset)? else { return Ok(false) };
        Ok(matches!(Envelope::parse(line, &mut self.nesting), Parsed::Record(_)))
    }

    /// Whether records begin in lines with this number of blanks before them.
    fn is_outer(&self, blanks: u64) -> bool {
        blanks <= self.indentation.unwrap_or(0)
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.list.records.clear();
    }

    fn broken(&mut self, broken: Broken) -> Result<(), Stopped> {
        self.lose();
        let Some(mut last) = broken.last else { return Ok(()) };
        if let Some(start) = broken.start
            && self.is_repeated(start..last.range.start, &last.range)?
        {
            last.before = Before::Break;
        }
        self.object(last)
    }

    /// Whether the object begins with the fragment before it, so that the fragment was an attempt to write it.
    fn is_repeated(&mut self, fragment: Range<u64>, object: &Range<u64>) -> Result<bool, Stopped> {
        let length = fragment.end - fragment.start;
        if length > MAX_COMPARED_BYTES || length > object.end - object.start {
            return Ok(false);
        }
        let (mut attempt, mut record) = (Vec::new(), Vec::new());
        self.source.append_bytes_at(fragment.start, length as usize, &mut attempt)?;
        self.source.append_bytes_at(object.start, length as usize, &mut record)?;
        Ok(attempt == record)
    }

    /// Takes an object with the members of a record, if it is one.
    fn object(&mut self, object: Object) -> Result<(), Stopped> {
        let (after, offset) = self.after(object.range.end)?;
        match self.verdict(object.before, after) {
            Verdict::Record => {
                self.take_list()?;
                self.is_lost = false;
                self.whole(object.range)
            }
            Verdict::Listed => {
                if object.before != Before::Comma {
                    self.list = List { is_array: object.before == Before::Bracket, ..List::default() };
                }
                self.list.records.push(object.range);
                if after == After::Bracket {
                    if self.after(offset + 1)?.0 == After::End {
                        self.take_list()?;
                    } else {
                        self.lose();
                    }
                }
                Ok(())
            }
            Verdict::Inside => {
                self.lose();
                Ok(())
            }
            Verdict::InDoubt => self.leave_out(object.range, IN_DOUBT),
        }
    }

    fn leave_out(&mut self, range: Range<u64>, reason: &'static str) -> Result<(), Stopped> {
        self.lose();
        self.end_gap(range.start)?;
        self.gap = range.end;
        Ok(self.fragment(range, reason)?)
    }

    fn verdict(&self, before: Before, after: After) -> Verdict {
        let is_inner_line = matches!(before, Before::Line(blanks) if !self.is_outer(blanks));
        let is_listed = !self.list.records.is_empty();
        match (before, after) {
            // What follows an object that is a value.
            (_, After::Brace) => Verdict::Inside,
            (Before::Line(_), After::Comma | After::Bracket) if self.is_lost && is_inner_line => Verdict::Inside,
            (Before::Line(_), _) if self.is_lost && is_inner_line => Verdict::InDoubt,
            (
                Before::Line(_) | Before::Object | Before::Break | Before::Junk,
                After::End | After::Object | After::Junk,
            ) => Verdict::Record,
            // Elements of the array that the text is.
            (Before::Line(_), _) if self.indentation.is_some() => Verdict::Record,
            (Before::Bracket | Before::Comma, _) if self.indentation.is_some() && !self.is_lost => Verdict::Record,
            (Before::Line(_), After::Comma) | (Before::Bracket, After::Comma | After::Bracket) => Verdict::Listed,
            (Before::Comma, After::Comma) if is_listed && self.list.records.len() < MAX_LISTED => Verdict::Listed,
            (Before::Comma, After::Bracket) if is_listed && self.list.is_array => Verdict::Listed,
            (Before::Comma, After::End) if is_listed && !self.list.is_array => Verdict::Record,
            (_, After::End | After::Object | After::Junk) => Verdict::InDoubt,
            _ => Verdict::Inside,
        }
    }

    fn take_list(&mut self) -> Result<(), Stopped> {
        let records = std::mem::take(&mut self.list.records);
        records.into_iter().try_for_each(|range| self.whole(range))
    }

    /// What follows at `offset`, and where.
    fn after(&mut self, offset: u64) -> Result<(After, u64), Stopped> {
        let (mut at, mut is_line_over) = (offset, false);
        loop {
            let bytes = self.side.bytes(at)?;
            let blank = bytes.iter().position(|byte| !is_blank(*byte)).unwrap_or(bytes.len());
            is_line_over |= bytes[..blank].contains(&b'\n');
            let after = match bytes.get(blank) {
                None if bytes.is_empty() => After::End,
                None => {
                    at += blank as u64;
                    continue;
                }
                Some(b',') => After::Comma,
                Some(b']') => After::Bracket,
                Some(b'}') => After::Brace,
                Some(_) if is_line_over => After::End,
                Some(b'{') => After::Object,
                Some(_) => After::Junk,
            };
            return Ok((after, at + blank as u64));
        }
    }

    /// Takes an object that is a record.
    fn whole(&mut self, range: Range<u64>) -> Result<(), Stopped> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if length > MAX_LINE_BYTES {
            return Ok(());
        }
        let mut raw = Vec::new();
        self.source.append_bytes_at(range.start, length, &mut raw)?;
        let utf16 = utf16_of(&raw);
        if utf16 == Some(Utf16Record::Unknown) {
            return self.leave_out(range, UTF_16);
        }
        let is_utf16 = utf16.is_some();
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
        let lines = (self.line_of(range.start)?, self.line_of(range.end)?);
        let nuls = if is_utf16 { 0 } else { memchr::memchr_iter(0, &raw).count() as u64 };
        let found = FoundRecord { range, lines, text, envelope, is_seen, is_first, is_replaced, nuls, is_utf16 };
        self.visitor.record(&found)?;
        Ok(())
    }

    /// The number of the line that `offset` is in, which is no lower than the last time.
    fn line_of(&mut self, offset: u64) -> Result<u64, Stopped> {
        let (mut at, mut line) = self.counted;
        while at < offset {
            let bytes = self.side.bytes(at)?;
            let bytes = &bytes[..bytes.len().min(usize::try_from(offset - at).unwrap_or(usize::MAX))];
            if bytes.is_empty() {
                break;
            }
            line += memchr::memchr_iter(b'\n', bytes).count() as u64;
            at += bytes.len() as u64;
        }
        self.counted = (at, line);
        Ok(line)
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

/// The number of blanks before the first element of a text that is one array; `None` if it is none.
fn indentation_of_array(source: &LineSource) -> Result<Option<u64>, ReadError> {
    let mut chunk = vec![0; MAX_BEGINNING_BYTES];
    let filled = source.read_at(&mut chunk, 0)?;
    let text = chunk[..filled].strip_prefix(BOM).unwrap_or(&chunk[..filled]);
    let mut tokens = text.iter().enumerate().filter(|(_, byte)| !is_blank(**byte));
    let (Some((open, b'[')), Some((first, b'{'))) = (tokens.next(), tokens.next()) else { return Ok(None) };
    let line = text[open..first].iter().rposition(|byte| *byte == b'\n');
    let indentation = line.map_or(0, |line| (first - open - line - 1) as u64);
    let is_listed = has_lines_with_commas(&text[first..]);
    // A line that has lost its beginning, and so begins with an array, ends an object.
    let (mut end, mut last) = (source.size(), None);
    while last.is_none() && end > 0 {
        let length = end.min(MAX_BEGINNING_BYTES as u64);
        chunk.clear();
        source.append_bytes_at(end - length, length as usize, &mut chunk)?;
        last = chunk.iter().rfind(|byte| !is_blank(**byte)).copied();
        end -= length;
    }
    let is_array = last.is_some_and(|last| last != b'}') || is_listed;
    Ok(is_array.then_some(indentation))
}

/// Whether the first two lines of a text end in commas and objects begin the next ones, as in an array that has an element a line, and may have lost its
/// end. No line of a session ends in a comma, and a torn one only by chance.
fn has_lines_with_commas(text: &[u8]) -> bool {
    let ends = memchr::memmem::find_iter(text, b"\n{").take(2);
    let ends: Vec<_> = ends.map(|end| text[..end].iter().rfind(|byte| !is_blank(**byte)) == Some(&b',')).collect();
    ends == [true, true]
}

/// Number of bytes in which an array begins.
const MAX_BEGINNING_BYTES: usize = 64 << 10;

fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n')
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
