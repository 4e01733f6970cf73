use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::session::fold::FoldOptions;
use crate::session::format::Mode;
use crate::session::read::Replay;
use crate::task::{Cancellation, Task};

const START: &str = r#"{"v":1,"seq":1,"ts":"2026-02-11T16:00:00.000Z","type":"session_start","payload":{"sessionId":"a1","projectHash":"p1","workspaceDirs":[],"provider":"acme","model":"m","startTime":"2026-02-11T16:00:00.000Z"}}"#;

fn content(seq: u32, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"v":1,"seq":{seq},"ts":"2026-02-11T16:00:0{}.000Z","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{{"type":"text","text":{text}}}]}}}}}}"#,
        seq % 10
    )
}

/// A repair in a directory of its own.
struct Repaired {
    receipt: RepairReceipt,
    bytes: Vec<u8>,
    _root: tempfile::TempDir,
}

impl Repaired {
    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.bytes.clone()).unwrap().lines().map(str::to_owned).collect()
    }

    /// The lines without the note about the repair.
    fn records(&self) -> Vec<String> {
        let mut lines = self.lines();
        if self.receipt.changed {
            let note = lines.pop().unwrap();
            assert!(note.contains("\"session_event\"") && note.contains("Repaired: "), "{note}");
        }
        lines
    }
}

fn run(
    root: &Path,
    source: &Path,
    destination: &str,
    options: &RepairOptions,
) -> Result<(RepairReceipt, Vec<u8>), RepairError> {
    let (cancellation, mut quietly) = (Cancellation::default(), |_| ());
    let mut task = Task { cancellation: &cancellation, progress: &mut quietly };
    let destination = root.join(destination);
    let receipt = repair(source, &destination, options, &mut task)?;
    Ok((receipt, fs::read(destination).unwrap()))
}

fn try_repair(bytes: &[u8], options: &RepairOptions) -> Result<Repaired, RepairError> {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("session-2026-02-11T16-00-abcdefgh.jsonl");
    fs::write(&source, bytes).unwrap();
    let (receipt, bytes) = run(root.path(), &source, "repaired.jsonl", options)?;
    // What was repaired needs no repair.
    let (again, same) = run(root.path(), &root.path().join("repaired.jsonl"), "again.jsonl", options)?;
    assert!(!again.changed && same == bytes, "{again:?}\n{}", String::from_utf8_lossy(&bytes));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    assert_eq!(warnings(&root.path().join("repaired.jsonl")), receipt_warnings(&receipt));
    Ok(Repaired { receipt, bytes, _root: root })
}

fn receipt_warnings(receipt: &RepairReceipt) -> Vec<String> {
    let prefix = "A replay of what was recovered warns: ";
    receipt.warnings.iter().filter_map(|warning| warning.strip_prefix(prefix)).map(str::to_owned).collect()
}

/// What a strict replay warns of.
fn warnings(path: &Path) -> Vec<String> {
    let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
    let replay = Replay::open(path, options).and_then(Replay::complete).unwrap();
    let outcome = replay.outcome(None);
    outcome.metadata.unwrap();
    outcome.warnings.iter().map(ToString::to_string).collect()
}

fn repaired(bytes: &[u8]) -> Repaired {
    let options = RepairOptions { project_hash: Some("p1".to_owned()), ..RepairOptions::default() };
    try_repair(bytes, &options).unwrap()
}

/// A session of whole lines.
fn session(texts: &[&str]) -> Vec<String> {
    let contents = texts.iter().zip(2..).map(|(text, seq)| content(seq, text));
    std::iter::once(START.to_owned()).chain(contents).collect()
}

fn text_of(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_session_without_damage_is_copied() {
    let lines = session(&["one", "two"]);
    let text = text_of(&lines);
    for text in
        [text.clone(), text.trim_end().to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}\n \nnull\n")]
    {
        let repaired = repaired(text.as_bytes());
        assert!(!repaired.receipt.changed);
        assert_eq!((repaired.receipt.records, repaired.receipt.recovered), (3, 0));
        assert_eq!(String::from_utf8(repaired.bytes).unwrap(), text);
    }
}

#[test]
fn a_record_fused_onto_a_failed_append_is_recovered() {
    let lines = session(&["one", "two \"quoted\" {\"v\":1}", "three"]);
    let [start, one, two, three] = &lines[..] else { unreachable!() };
    let values =
        ["\"payload\":", "{\"content\":", "\"speaker\":", "\"blocks\":", "\"blocks\":[", "\"text\":", "[{\"type\":"];
    for cut in 1..two.len() {
        let text = format!("{start}\n{one}\n{}{three}\n", &two[..cut]);
        let repaired = repaired(text.as_bytes());
        let receipt = &repaired.receipt;
        if values.iter().any(|value| two[..cut].ends_with(value)) {
            // It may be an object inside of a record that was cut off behind it.
            assert_eq!(repaired.records(), [&start[..], one], "{}", &two[..cut]);
            assert_eq!((receipt.recovered, receipt.lost_bytes), (0, (cut + three.len()) as u64), "{}", &two[..cut]);
            assert_eq!(receipt.fragments[1].reason, super::search::IN_DOUBT);
            continue;
        }
        assert_eq!(repaired.records(), [&start[..], one, three], "{}", &two[..cut]);
        assert_eq!((receipt.records, receipt.recovered, receipt.fragment_count), (3, 1, 1), "{}", &two[..cut]);
        let prefix_is_shared = three.starts_with(&two[..cut]);
        assert_eq!(receipt.lost_bytes, if prefix_is_shared { 0 } else { cut as u64 });
        assert_eq!(receipt.fragments[0].offset, (start.len() + one.len() + 2) as u64);
    }
}

#[test]
fn a_failed_attempt_is_no_loss() {
    let lines = session(&["one", "two"]);
    let [start, one, two] = &lines[..] else { unreachable!() };
    for cut in 1..two.len() {
        let repaired = repaired(format!("{start}\n{one}\n{}{two}\n", &two[..cut]).as_bytes());
        assert_eq!(repaired.records(), lines);
        assert_eq!((repaired.receipt.fragment_count, repaired.receipt.lost_bytes), (1, 0), "{}", &two[..cut]);
    }
}

#[test]
fn whole_records_in_one_line_are_divided() {
    let lines = session(&["one", "two", "three"]);
    for separator in ["", " ", "\r", "\0\0\0", ","] {
        let repaired = repaired(lines.join(separator).as_bytes());
        assert_eq!(repaired.records(), lines, "{separator:?}");
        assert_eq!((repaired.receipt.recovered, repaired.receipt.fragment_count), (4, 0));
    }
}

#[test]
fn nul_bytes_are_dropped() {
    let lines = session(&["one", "two"]);
    let [start, one, two] = &lines[..] else { unreachable!() };
    let (head, tail) = two.split_at(two.len() - 20);
    let text = format!("{start}\n{}{one}\n{head}{}{tail}\n{}", "\0".repeat(5000), "\0".repeat(7), "\0".repeat(10));
    let repaired = repaired(text.as_bytes());
    assert_eq!(repaired.records(), lines);
    // Those inside a record may have replaced some of it.
    assert_eq!((repaired.receipt.recovered, repaired.receipt.lost_bytes), (2, 7));
}

#[test]
fn raw_line_feeds_in_strings_are_joined() {
    let lines = session(&["first\nsecond\r\n\tthird {\"v\":1}", "two"]);
    for (from, to) in [("\\n", "\n"), ("\\t", "\t"), ("\\r\\n", "\r\n")] {
        let text = text_of(&lines).replace(from, to);
        let repaired = repaired(text.as_bytes());
        let expected = lines[1].replace("\\r\\n", if to == "\r\n" { "\\n" } else { "\\r\\n" });
        assert_eq!(repaired.records()[1], expected, "{from}");
    }
}

#[test]
fn a_torn_first_line_is_replaced_by_a_start_that_is_made_up() {
    let lines = session(&["one", "two"]);
    let text = format!("{}\n{}\n{}\n", &lines[0][..90], lines[1], lines[2]);
    let error = try_repair(text.as_bytes(), &RepairOptions::default()).err().unwrap();
    assert_eq!(error.code(), "NoStart");
    let repaired = repaired(text.as_bytes());
    assert_eq!(&repaired.records()[1..], &lines[1..]);
    assert!(repaired.receipt.start_invented && !repaired.receipt.renumbered);
    assert_eq!(repaired.receipt.recovered, 2);
    assert!(repaired.records()[0].contains(r#""sessionId":"abcdefgh","projectHash":"p1""#));
    assert!(repaired.records()[0].contains(r#""startTime":"2026-02-11T16:00:02.000Z""#));
}

#[test]
fn a_start_further_on_becomes_the_first_line() {
    let lines = session(&["one", "two"]);
    let repaired = repaired(format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]).as_bytes());
    assert!(!repaired.receipt.renumbered && !repaired.receipt.start_invented);
    assert_eq!(repaired.records(), lines);
}

#[test]
fn records_that_do_not_ascend_get_new_numbers() {
    let lines = [START.to_owned(), content(5, "one"), content(3, "two"), content(3, "two"), content(4, "three")];
    let repaired = repaired(text_of(&lines).as_bytes());
    let moved = |seq, text, to: &str| content(seq, text).replace(&format!("\"seq\":{seq}"), &format!("\"seq\":{to}"));
    let expected = [START.to_owned(), moved(5, "one", "2"), moved(3, "two", "3"), moved(4, "three", "4")];
    assert_eq!(repaired.records(), expected);
    assert!(repaired.receipt.renumbered);
    assert_eq!(repaired.receipt.duplicates, 1);
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(to_bytes).collect()
}

fn pretty(line: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(line).unwrap()).unwrap()
}

#[test]
fn sessions_in_other_encodings_are_decoded() {
    let lines = session(&["one 😀", "two\nlines", "three"]);
    let text = text_of(&lines);
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    };
    let array = format!("[{}]", lines.join(","));
    for (name, bytes) in [
        ("UTF-16LE", utf16(&text, u16::to_le_bytes)),
        ("UTF-16BE", utf16(&text, u16::to_be_bytes)),
        ("gzip", gzip(text.as_bytes())),
        ("gzip of UTF-16", gzip(&utf16(&text, u16::to_le_bytes))),
        ("zstd", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ("array", array.into_bytes()),
        ("array in lines", format!("[\n  {}\n]\n", lines.join(",\n  ")).into_bytes()),
        ("CR", text.replace('\n', "\r").into_bytes()),
    ] {
        let repaired = repaired(&bytes);
        assert_eq!(repaired.records(), lines, "{name}");
        assert_eq!(
            (repaired.receipt.records, repaired.receipt.lost_bytes, repaired.receipt.fragment_count),
            (4, 0, 0),
            "{name}"
        );
        // A replay reads what zstd has compressed.
        assert_eq!(repaired.receipt.recovered, if name == "zstd" { 0 } else { 4 }, "{name}");
    }
    // The order of keys is that of the file, which a serializer may change.
    for bytes in [
        lines.iter().map(|line| pretty(line)).collect::<Vec<_>>().join("\n"),
        format!("[{}]", lines.iter().map(|line| pretty(line)).collect::<Vec<_>>().join(",\n")),
    ] {
        let values = |lines: &[String]| {
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
        };
        assert_eq!(values(&repaired(bytes.as_bytes()).records()), values(&lines));
    }
}

#[test]
fn records_inside_strings_stay_there() {
    let inner = text_of(&session(&["inner \"one\"", "inner two"]));
    let lines = session(&[
        &inner,
        &serde_json::to_string(&inner).unwrap(),
        "{",
        "{\"v\":1,\"seq\":9,\"type\":\"x\",\"payload\":{}}",
    ]);
    let whole = repaired(text_of(&lines).as_bytes());
    assert!(!whole.receipt.changed);
    // Torn anywhere, such a record gives none of what a tool has printed.
    for cut in 1..lines[1].len() {
        let text = format!("{}\n{}\n{}\n", lines[0], &lines[1][..cut], lines[2]);
        assert_eq!(repaired(text.as_bytes()).records(), [&lines[0][..], &lines[2]], "{cut}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_where_they_are() {
    let lines = session(&["caf\u{e9}", "caf\u{e9}"]);
    let mut bytes = text_of(&lines).into_bytes();
    let at = bytes.windows(2).position(|pair| pair == "\u{e9}".as_bytes()).unwrap();
    bytes.remove(at);
    let repaired = repaired(&bytes);
    assert_eq!(repaired.records(), session(&["caf\u{fffd}", "caf\u{e9}"]));
    assert_eq!(repaired.receipt.warnings.len(), 1);
}

#[test]
fn what_is_no_session_is_refused() {
    for bytes in [&b""[..], b"hello\n", b"{\"type\":\"x\"}\n", &[0xff; 100]] {
        let options = RepairOptions { project_hash: Some("p".to_owned()), ..RepairOptions::default() };
        assert_eq!(try_repair(bytes, &options).err().unwrap().code(), "NoRecords");
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    let size = 1 << 20;
    let rest = text_of(&session(&["one"]));
    for unit in [
        "{",
        "{\"",
        "{\"a\":",
        "{\"a\":[",
        "[",
        "\"",
        "\\",
        "{ ",
        "{\"a\":1}",
        "{\"v\":1,\"seq\":2,\"type\":\"",
        "{\"\n",
        "\n{\"a\":",
        "\0",
        "{\"type\":\"\",\"payload\":{},\"seq\":",
        "{\"a\":{\"type\":\"\",\"payload\":{},\"seq\":1}",
        "{\"type\":\"\",\"payload\":{},\"seq\":1},,",
        "\n,{\"type\":\"\",\"payload\":{},\"seq\":1}",
        "\n{\"a\":[\n{\"type\":\"\",\"payload\":{},\"seq\":1},",
        "{\0\"\0a\0",
    ] {
        let text = format!("{rest}{}\n", unit.repeat(size / unit.len()));
        let repaired = repaired(text.as_bytes());
        assert_eq!(repaired.receipt.records, 2, "{unit}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damage_costs_only_the_records_that_it_touches(
        texts in prop::collection::vec("[a-z\"{}\\\\\n\u{e9} ]{0,30}", 1..6),
        at in any::<prop::sample::Index>(),
        length in 0_usize..200,
        byte in prop::option::of(any::<u8>()),
    ) {
        let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
        let lines = session(&texts);
        let mut bytes = text_of(&lines).into_bytes();
        let start = at.index(bytes.len());
        let end = if byte.is_some() { start + 1 } else { (start + length).min(bytes.len()) };
        bytes.splice(start..end, byte);
        let mut offset = 0;
        let untouched: Vec<&String> = lines.iter().filter(|line| {
            let range = offset..offset + line.len();
            offset += line.len() + 1;
            range.end <= start || range.start >= end
        }).collect();
        prop_assume!(!untouched.is_empty());
        // A record that stands where a value may, or before what may follow one, may be one inside another.
        let edges: Vec<usize> = lines.iter().scan(0, |end, line| { *end += line.len() + 1; Some(*end) }).collect();
        prop_assume!(!edges.iter().any(|edge| end == *edge || start + 1 == *edge));
        let repaired = repaired(&bytes);
        let bodies = |line: &str| line[line.find("\"type\"").unwrap()..].to_owned();
        let kept: Vec<String> = repaired.records().iter().filter(|line| line.contains("\"type\"")).map(|line| bodies(line)).collect();
        let mut rest = kept.iter();
        for line in &untouched {
            prop_assert!(rest.any(|kept| *kept == bodies(line)), "lost {line}\nof {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

/// What a tool may give: values that look like records, in any place.
fn output() -> impl Strategy<Value = serde_json::Value> {
    let record: serde_json::Value = serde_json::from_str(&content(9, "invented")).unwrap();
    let text = serde_json::Value::from(record.to_string());
    let leaf = prop_oneof![
        Just(record),
        Just(text),
        prop::sample::select(vec!["{", "{\"v\":1,", "a {", "\\", "\"", ":", "}]}"]).prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = prop::sample::select(vec!["v", "seq", "type", "payload", "x {", ","]).prop_map(str::to_owned);
        let members = prop::collection::vec((key, inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(serde_json::Value::from),
            members.prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn answer(seq: u32, result: &serde_json::Value) -> String {
    format!(
        r#"{{"v":1,"seq":{seq},"ts":"2026-02-11T16:00:0{seq}.000Z","type":"content","payload":{{"content":{{"speaker":"tool","blocks":[{{"type":"tool_response","callId":"c","toolName":"t","result":{result}}}]}}}}}}"#
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_output_of_a_tool_becomes_a_record(
        outputs in prop::collection::vec(output(), 1..5),
        tears in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::sample::select(vec!["", "", "\n", "\0\0", " "])),
            1..4,
        ),
    ) {
        let lines: Vec<String> = std::iter::once(START.to_owned())
            .chain(outputs.iter().zip(2..).map(|(output, seq)| answer(seq, output)))
            .collect();
        let mut torn: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        for (line, cut, between) in tears {
            let at = line.index(lines.len());
            torn[at] = format!("{}{between}", &lines[at][..cut.index(lines[at].len())]);
        }
        let options = RepairOptions { project_hash: Some("p1".to_owned()), ..RepairOptions::default() };
        if let Ok(repaired) = try_repair(torn.concat().as_bytes(), &options) {
            let body = |line: &str| line[line.find("\"ts\"").unwrap()..].to_owned();
            let written: Vec<String> = lines.iter().map(|line| body(line)).collect();
            // An unchanged file keeps its blank lines.
            let records = repaired.records().into_iter().filter(|record| !record.is_empty());
            for record in records.skip(usize::from(repaired.receipt.start_invented)) {
                prop_assert!(written.contains(&body(&record)), "{record}\nof {}", torn.concat());
            }
        }
    }
}

/// Lines to be cut and put together.
const PIECES: [&str; 10] = [
    START,
    r#"{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"text":"{\"v\":1,\"seq\":9,\"type\":\"x\",\"payload\":{}}\n"}]}}}"#,
    r#"{"v":2,"seq":3,"type":"new","payload":{"a":{"type":"","payload":{},"seq":7}}}"#,
    r#"{"seq":4,"payload":{"severity":"info","message":"{"},"type":"session_event"}"#,
    r#"{"v":1,"seq":5,"type":"checkpoint_created","payload":{"checkpointId":"a","name":"n"}}"#,
    r#"{"v":1,"seq":6,"type":"checkpoint_deleted","payload":{"checkpointId":"a"}}"#,
    r#"{"v":1,"seq":7,"type":"content","payload":{"content":{"speaker":"user","blocks":[]}}}"#,
    r#"{"v":3,"seq":-1.5,"type":"session_start","payload":{"sessionId":"b","projectHash":"q"}}"#,
    "\n\n\n\n",
    "\u{feff}[,]\r\n \0\"\\",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_repaired_or_refused(pieces in prop::collection::vec((0..PIECES.len(), 0.0..1.5, any::<bool>()), 0..12)) {
        let cut = |&(piece, share, ends): &(usize, f64, bool)| {
            let bytes = PIECES[piece].as_bytes();
            let length = (bytes.len() as f64 * share).min(bytes.len() as f64) as usize;
            [&bytes[..length], if ends { b"\n" } else { b"" }].concat()
        };
        let text: Vec<u8> = pieces.iter().flat_map(cut).collect();
        let options = RepairOptions { project_hash: Some("p1".to_owned()), ..RepairOptions::default() };
        match try_repair(&text, &options) {
            Ok(repaired) => {
                // A session without a single item that strict replays read keeps those that it has.
                prop_assume!(!repaired.receipt.warnings.iter().any(|warning| warning.starts_with("Kept ")));
                let others: Vec<_> = receipt_warnings(&repaired.receipt).into_iter().filter(|warning| !warning.contains("unknown event type")).collect();
                prop_assert!(others.is_empty(), "{others:?} of {}", String::from_utf8_lossy(&text));
            }
            Err(error) => prop_assert_eq!(error.code(), "NoRecords"),
        }
    }
}

fn keyed(seq: u32, key: u32) -> String {
    format!(
        r#"{{"v":1,"seq":{seq},"ts":"t","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[],"metadata":{{"chronology":{{"seq":{key}}}}}}}}}}}"#
    )
}

fn event(seq: u32, kind: &str, payload: &str) -> String {
    format!(r#"{{"v":1,"seq":{seq},"ts":"t","type":"{kind}","payload":{payload}}}"#)
}

#[test]
fn edits_of_items_that_are_not_there_are_fragments() {
    let item = r#"{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":8}}}"#;
    let insert = |seq, after| {
        event(seq, "synthetic_insert", &format!(r#"{{"content":{item},"chronologySeq":8,"afterSeq":{after}}}"#))
    };
    let bind = |seq, index| {
        let marker = r#"{"seq":9,"userTurn":1,"step":1,"recordedAt":1}"#;
        event(seq, "chronology_bind", &format!(r#"{{"rowIndex":{index},"chronology":{marker}}}"#))
    };
    let remove = |seq, key| event(seq, "density_mutation", &format!(r#"{{"removedSeqs":[{key}],"replacements":[]}}"#));
    let cut = |seq, key| event(seq, "rewind", &format!(r#"{{"itemsRemoved":1,"cutSeq":{key}}}"#));
    let kept = [
        START.to_owned(),
        content(2, "one"),
        keyed(3, 7),
        insert(4, 7),
        bind(6, 2),
        remove(8, 7),
        cut(10, 9),
        keyed(12, 5),
        event(14, "compressed", &format!(r#"{{"summary":{item},"itemsCompressed":1}}"#)),
        insert(16, 8),
    ];
    let sound = repaired(text_of(&kept).as_bytes());
    assert!(!sound.receipt.changed, "{:?}", sound.receipt);
    let misplaced = [
        (4, insert(5, 6)),
        (5, bind(7, 3)),
        (6, insert(9, 7)),
        (7, bind(11, 1)),
        (8, insert(13, 9)),
        (9, insert(15, 5)),
        (10, bind(17, 2)),
    ];
    let mut lines = kept.to_vec();
    for (at, line) in misplaced.iter().rev() {
        lines.insert(*at, line.clone());
    }
    let mended = repaired(text_of(&lines).as_bytes());
    assert_eq!(mended.records(), kept);
    assert_eq!(mended.receipt.fragment_count, misplaced.len() as u64);
    assert_eq!(mended.receipt.fragments[0].reason, "a synthetic_insert event of an item that is not there");
    assert_eq!(warnings(&mended._root.path().join("repaired.jsonl")), [""; 0]);
}

#[test]
fn a_rewind_whose_cut_is_not_valid_goes_by_its_number_of_items() {
    let rewind = event(4, "rewind", r#"{"itemsRemoved":1.5,"cutSeq":-1,"more":1}"#);
    let lines = [START.to_owned(), keyed(2, 1), keyed(3, 2), rewind];
    let mended = repaired(text_of(&lines).as_bytes());
    assert_eq!(mended.records()[3], event(4, "rewind", r#"{"itemsRemoved":2}"#));
    assert_eq!(warnings(&mended._root.path().join("repaired.jsonl")), [""; 0]);
}

#[test]
fn a_checkpoint_is_that_of_its_record_also_if_the_record_has_no_version_or_no_valid_number() {
    let lines = [
        START.to_owned(),
        content(2, "a"),
        r#"{"seq":3,"ts":"t","type":"checkpoint_created","payload":{"checkpointId":"a","name":"n"}}"#.to_owned(),
        r#"{"v":1,"seq":-100.5,"ts":"t","type":"checkpoint_deleted","payload":{"checkpointId":"a"}}"#.to_owned(),
        event(5, "checkpoint_deleted", r#"{"checkpointId":"a"}"#),
    ];
    let repaired = repaired(text_of(&lines).as_bytes());
    let types = |kind: &str| repaired.lines().iter().filter(|line| line.contains(kind)).count();
    assert_eq!((types("checkpoint_created"), types("checkpoint_deleted")), (1, 1));
}

#[test]
fn an_archived_session_is_repaired_by_the_name_of_its_file() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("session.jsonl");
    let archived = zstd::encode_all(format!("{START}\n").as_bytes(), 3).unwrap();
    fs::write(root.path().join("session.jsonl.zst"), archived).unwrap();
    let (receipt, bytes) = run(root.path(), &source, "repaired.jsonl", &RepairOptions::default()).unwrap();
    assert_eq!((receipt.records, String::from_utf8(bytes).unwrap().lines().next()), (1, Some(START)));
}
