use std::fs::{File, OpenOptions};
use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::session::fold::FoldOptions;
use crate::session::read::replay::Replay;

const START: &str = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"S","projectHash":"h"}}"#;

/// Items with the key 1, and lines that edit them.
const EDITS: &[&str] = &[
    r#"{"v":1,"seq":8,"type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":1}}}}}"#,
    r#"{"v":1,"seq":8,"type":"rewind","payload":{"itemsRemoved":0,"cutSeq":1}}"#,
    r#"{"v":1,"seq":9,"type":"density_mutation","payload":{"removedSeqs":[2],"replacements":[{"replacedSeq":1,"replacement":{"speaker":"ai","blocks":[]}}]}}"#,
    r#"{"v":1,"seq":9,"type":"density_mutation","payload":{"removedSeqs":[1],"replacements":[]}}"#,
    r#"{"v":1,"seq":9,"type":"synthetic_insert","payload":{"content":{"speaker":"ai","blocks":[]},"chronologySeq":1,"afterSeq":1}}"#,
    r#"{"v":1,"seq":9,"type":"chronology_bind","payload":{"rowIndex":1,"chronology":{"seq":1,"userTurn":1,"step":1,"recordedAt":1}}}"#,
    r#"{"v":1,"seq":9,"type":"chronology_bind","payload":{"rowIndex":0,"chronology":{"seq":2,"userTurn":1,"step":1,"recordedAt":1},"content":{"speaker":"ai","blocks":[]}}}"#,
    r#"{"v":2,"seq":9,"type":"semantic_media_purge","payload":{"history":[{"speaker":"ai","blocks":[0]},{"speaker":"ai","blocks":[]}],"frontier":{"contentIndex":0,"blockIndex":0}}}"#,
];

fn any_line() -> impl Strategy<Value = String> {
    let content = r#"{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}}"#;
    let rewind = |count: u64| format!(r#"{{"v":1,"seq":3,"type":"rewind","payload":{{"itemsRemoved":{count}}}}}"#);
    prop_oneof![
        6 => Just(content.to_owned()),
        2 => (0..4u64).prop_map(rewind),
        1 => prop::sample::select(EDITS).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            r#"{"v":1,"seq":4,"type":"compressed","payload":{"summary":{"speaker":"ai","blocks":[]},"itemsCompressed":1}}"#,
            r#"{"type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}}"#,
            r#"{"v":1,"t\u0079pe":"rew\u0069nd","seq":5,"payload":{"itemsRemoved":1.5}}"#,
            r#"{"v":1,"seq":6,"type":"content","payload":{}}"#,
            r#"{"v":1,"seq":7,"type":"newer"}"#,
            START, "null", "5", "[]", "", " ", "bad", "{", "\0", "\r",
        ])
        .prop_map(str::to_owned),
    ]
}

/// The text of a session with many edits.
fn edited_text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![2 => prop::sample::select(EDITS).prop_map(str::to_owned), 1 => any_line()];
    proptest::collection::vec(line, 0..25)
        .prop_map(|lines| [&[START.to_owned()], &*lines].concat().join("\n").into_bytes())
}

/// The text of a session that may be cut anywhere.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let ending = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    let lines = proptest::collection::vec((any_line(), ending), 0..30);
    (any::<bool>(), prop::sample::select(vec!["", "\u{feff}"]), lines, 0..120usize).prop_map(
        |(has_start, bom, lines, cut)| {
            let mut text = bom.to_owned() + if has_start { START } else { "" } + if has_start { "\n" } else { "" };
            lines.into_iter().for_each(|(line, ending)| text += &(line + ending));
            let mut text = text.into_bytes();
            text.truncate(text.len().saturating_sub(cut));
            text
        },
    )
}

#[derive(Clone, Debug, PartialEq)]
struct Found {
    number: u64,
    offset: u64,
    length: u64,
    json: Option<Vec<u8>>,
    status: Option<LineStatus>,
    in_history: Option<bool>,
    changes: Vec<HistoryChange>,
}

fn found(line: &RecordLine<'_>) -> Found {
    let RecordLine { number, offset, length, json, status, in_history, changes } = *line;
    Found { number, offset, length, json: json.map(<[u8]>::to_vec), status, in_history, changes: changes.to_vec() }
}

/// All lines. Every `refused`-th line is refused once.
fn read_all(source: LineSource, options: RecordOptions, refused: usize) -> Result<Vec<Found>, ReadError> {
    let mut reader = RecordReader::of(source, options)?;
    let (mut lines, mut calls) = (Vec::new(), 0);
    loop {
        let more = reader.read(&mut |line| {
            calls += 1;
            let takes = refused == 0 || calls % refused != 0;
            if takes {
                lines.push(found(line));
            }
            takes
        })?;
        if !more {
            return Ok(lines);
        }
    }
}

fn in_memory(text: &[u8]) -> LineSource {
    LineSource::in_memory(text.to_vec())
}

/// The lines as the format describes them, read in the simplest way. The offsets of the items in the history are given.
fn plain(text: &[u8], mode: Mode, history: Option<&[u64]>) -> Vec<Found> {
    let bom = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut parts: Vec<&[u8]> = text[bom..].split(|byte| *byte == b'\n').collect();
    // Behind the last `\n` there is no line.
    let is_terminated = parts.pop_if(|last| last.is_empty()).is_some();
    let (mut offset, count) = (bom as u64, parts.len());
    let each = |(at, line): (usize, &[u8])| {
        let is_last = at + 1 == count;
        let content = if is_last && !is_terminated { line } else { line.strip_suffix(b"\r").unwrap_or(line) };
        let read = Line::read(line, mode, &mut Nesting::default());
        let status = match LineStatus::of(&read, at == 0) {
            Some(LineStatus::Unparseable) if is_last => Some(LineStatus::Torn),
            status => status,
        };
        let has_items = matches!(&read, Line::Event(event) if event.body.has_items());
        let bytes = offset..offset + line.len() as u64;
        let found = Found {
            number: at as u64 + 1,
            offset,
            length: content.len() as u64,
            json: matches!(read, Line::Event(_) | Line::WithoutSeq | Line::Unsupported { .. })
                .then(|| content.to_vec()),
            status,
            changes: Vec::new(),
            in_history: history.filter(|_| has_items).map(|history| history.iter().any(|item| bytes.contains(item))),
        };
        offset += line.len() as u64 + 1;
        found
    };
    parts.into_iter().enumerate().map(each).collect()
}

/// The offset of the line of each item that the changes leave.
fn after_changes(lines: &[Found]) -> Vec<u64> {
    let mut items = Vec::new();
    for line in lines {
        for HistoryChange { removed, added, behind } in &line.changes {
            let end = items.len() - *behind as usize;
            items.splice(end - *removed as usize..end, vec![line.offset; *added as usize]);
        }
    }
    items
}

/// The offsets of the items in the history, as a replay leaves it.
fn history_of(text: &[u8], mode: Mode) -> Option<Vec<u64>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let replay = Replay::open(file.path(), FoldOptions { mode, ..FoldOptions::default() }).unwrap().complete().unwrap();
    replay.outcome(None).metadata.is_ok().then(|| replay.items().iter().map(|item| item.offset).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn lines_have_their_place_status_and_whether_their_item_remains(
        text in any_text(),
        is_strict in any::<bool>(),
        refused in prop::sample::select(vec![0usize, 2, 3, 7]),
    ) {
        let mode = if is_strict { Mode::Strict } else { Mode::Lenient };
        let history = history_of(&text, mode);
        let options = RecordOptions { mode, history: history.is_some(), ..RecordOptions::default() };
        let lines = read_all(in_memory(&text), options, refused).unwrap();
        prop_assert_eq!(lines, plain(&text, mode, history.as_deref()));
    }

    #[test]
    fn the_changes_of_lines_lead_to_the_history_of_the_replay(
        text in prop_oneof![any_text(), edited_text()],
        is_strict in any::<bool>(),
        refused in prop::sample::select(vec![0usize, 2, 3]),
    ) {
        let mode = if is_strict { Mode::Strict } else { Mode::Lenient };
        let options = RecordOptions { mode, history: true, changes: true, ..RecordOptions::default() };
        let lines = read_all(in_memory(&text), options, refused).unwrap();
        let items = after_changes(&lines);
        for line in lines.iter().filter(|line| line.in_history.is_some()) {
            prop_assert_eq!(line.in_history, Some(items.contains(&line.offset)), "line {}", line.number);
        }
        if let Some(history) = history_of(&text, mode) {
            let line_of = |item: &u64| lines.iter().rev().find(|line| line.offset <= *item).map(|line| line.offset);
            prop_assert_eq!(items.into_iter().map(Some).collect::<Vec<_>>(), history.iter().map(line_of).collect::<Vec<_>>());
        }
    }

    #[test]
    fn reading_continues_at_the_place_of_any_line(text in any_text(), at in any::<prop::sample::Index>()) {
        let options = RecordOptions { history: true, changes: true, ..RecordOptions::default() };
        let all = read_all(in_memory(&text), options.clone(), 0).unwrap();
        if !all.is_empty() {
            let at = at.index(all.len());
            let from = Some((all[at].number, all[at].offset));
            let rest = read_all(in_memory(&text), RecordOptions { from, ..options }, 2).unwrap();
            prop_assert_eq!(rest, &all[at..]);
        }
    }

    #[test]
    fn only_records_of_the_wanted_types_are_read(text in any_text()) {
        let types = Some(["content", "newer"].map(|name| name.encode_utf16().collect()).to_vec());
        let options = RecordOptions { history: true, changes: true, ..RecordOptions::default() };
        let mut wanted = read_all(in_memory(&text), options.clone(), 0).unwrap();
        let has_type = |json: &[u8]| [&b"\"content\""[..], b"\"newer\""].iter().any(|name| memchr::memmem::find(json, name).is_some_and(|at| json[..at].ends_with(b"\"type\":")));
        wanted.retain(|line| line.json.as_deref().is_some_and(has_type));
        prop_assert_eq!(read_all(in_memory(&text), RecordOptions { types, ..options }, 2).unwrap(), wanted);
    }
}

#[test]
fn a_line_longer_than_a_string_does_not_parse() {
    let long = format!("\"{}\"", "x".repeat(13 << 20));
    let text = [START, &long, "5", "\0"].join("\n").into_bytes();
    for history in [false, true] {
        let lines = read_all(in_memory(&text), RecordOptions { history, ..RecordOptions::default() }, 0).unwrap();
        let statuses: Vec<_> = lines.iter().map(|line| line.status.map(LineStatus::as_str)).collect();
        assert_eq!(statuses, [Some("ok"), Some("unparseable"), Some("unknown"), Some("torn")]);
        assert_eq!((lines[1].offset, lines[1].length), (START.len() as u64 + 1, long.len() as u64));
        assert_eq!(lines[2].offset, lines[1].offset + lines[1].length + 1);
    }
}

/// A file that is too large to be kept in memory.
fn large_file() -> (tempfile::NamedTempFile, usize) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let (line, lines) = (format!("\"{}\"\n", "x".repeat(1000)), 3000);
    file.write_all(line.repeat(lines).as_bytes()).unwrap();
    (file, lines)
}

#[test]
fn what_is_appended_after_the_file_was_opened_is_not_read() {
    let (mut file, lines) = large_file();
    file.write_all(b"{\"torn").unwrap();
    let source = LineSource::open(file.path()).unwrap();
    OpenOptions::new().append(true).open(file.path()).unwrap().write_all(b" no more\":1}\n5\n").unwrap();
    let found = read_all(source, RecordOptions::default(), 0).unwrap();
    assert_eq!(found.len(), lines + 1);
    let last = found.last().unwrap();
    assert_eq!((last.status, last.length), (Some(LineStatus::Torn), 6));
}

#[test]
fn a_file_that_was_cut_is_reported_as_changed() {
    let (file, _) = large_file();
    let source = LineSource::open(file.path()).unwrap();
    File::options().write(true).open(file.path()).unwrap().set_len(5000).unwrap();
    assert_eq!(read_all(source, RecordOptions::default(), 0), Err(ReadError::Changed));
}
