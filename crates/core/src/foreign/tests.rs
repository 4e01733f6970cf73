use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::convert::list_conversations;
use super::receipt::Fate;
use super::*;
use crate::lines::LineSource;

fn agents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

/// A session in memory.
fn bytes_of(source: &LineSource) -> Vec<u8> {
    let mut bytes = Vec::new();
    source.append_bytes_at(0, source.size() as usize, &mut bytes).unwrap();
    bytes
}

pub(super) fn with_receipt() -> ConvertOptions {
    ConvertOptions { receipt: true, origins: true, ..ConvertOptions::default() }
}

pub(super) fn convert_bytes(bytes: &[u8], options: &ConvertOptions) -> Option<(Conversion, Vec<Entry>, Vec<Value>)> {
    convert_source(LineSource::in_memory(bytes.to_vec()), options)
}

pub(super) fn convert_source(
    source: LineSource,
    options: &ConvertOptions,
) -> Option<(Conversion, Vec<Entry>, Vec<Value>)> {
    let Converted::Foreign(conversion) = convert(source, options, &mut |_, _| ()).unwrap() else { return None };
    let mut conversion = *conversion;
    let mut entries = Vec::new();
    while let Some(entry) = conversion.next_entry().unwrap() {
        entries.push(entry);
    }
    let native = bytes_of(&conversion.native);
    let events = native.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = events.map(|line| serde_json::from_str(&String::from_utf8_lossy(line)).unwrap()).collect();
    Some((conversion, entries, events))
}

/// The history that native events make.
pub(super) fn history_of(events: &[Value]) -> Vec<Value> {
    let mut history: Vec<Value> = Vec::new();
    for event in events {
        let payload = &event["payload"];
        match event["type"].as_str().unwrap() {
            "content" => history.push(payload["content"].clone()),
            "compressed" => history = vec![payload["summary"].clone()],
            "rewind" => {
                let removed = payload["itemsRemoved"].as_u64().unwrap() as usize;
                assert!(removed <= history.len(), "a rewind beyond the beginning");
                history.truncate(history.len() - removed);
            }
            _ => {}
        }
    }
    history
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

/// What the independent converter states of a session.
fn figures(conversion: &Conversion, events: &[Value]) -> Value {
    let history = history_of(events);
    let blocks = || history.iter().flat_map(|item| item["blocks"].as_array().unwrap());
    let of_type = |kind: &str| blocks().filter(|block| block["type"] == kind).count();
    let speakers = |speaker: &str| history.iter().filter(|item| item["speaker"] == speaker).count();
    let is_server = |block: &&Value| block["server"] == true;
    let calls = blocks().filter(|block| block["type"] == "tool_call");
    let open_calls = calls.clone().filter(|block| !is_server(block)).count();
    let results = blocks().filter(|block| block["type"] == "tool_response");
    let answered = results.clone().filter(|block| !is_server(block)).count();
    let texts = |speaker: &'static str| {
        let items = history.iter().filter(move |item| item["speaker"] == speaker && item["metadata"]["kind"].is_null());
        items
            .flat_map(|item| item["blocks"].as_array().unwrap())
            .filter(|block| block["type"] == "text")
            .map(|block| block["text"].clone())
    };
    let all: Vec<_> =
        blocks().filter(|block| block["type"] == "text").map(|block| block["text"].as_str().unwrap()).collect();
    let usage = |key: &str| -> f64 {
        history.iter().map(|item| item["metadata"]["usage"][key].as_f64().unwrap_or_default()).sum()
    };
    let mut models: Vec<String> = Vec::new();
    for event in events {
        let payload = &event["payload"];
        let model = match event["type"].as_str().unwrap() {
            "session_start" | "provider_switch" => &payload["model"],
            "content" => &payload["content"]["metadata"]["model"],
            _ => continue,
        };
        if let Some(model) =
            model.as_str().filter(|model| *model != "unknown" && !models.iter().any(|known| known == model))
        {
            models.push(model.to_owned());
        }
    }
    let summary = &conversion.summary;
    json!({
        "format": summary.format,
        "sessionId": summary.session_id,
        "items": { "human": speakers("human"), "ai": speakers("ai"), "tool": speakers("tool") },
        "toolCalls": calls.count(),
        "toolResults": results.clone().count(),
        "unanswered": open_calls - answered,
        "failed": results.filter(|block| !block["error"].is_null()).count(),
        "models": models,
        "compactions": count(events, "compressed"),
        "images": of_type("media"),
        "thinking": of_type("thinking"),
        "firstHumanText": texts("human").next(),
        "lastAiText": texts("ai").next_back(),
        "textSha256": const_hex::encode(Sha256::digest(all.join("\n"))),
        "usage": { "input": usage("input") as u64, "cached": usage("cached") as u64, "output": usage("output") as u64 },
        "events": events.len(),
        "rewinds": count(events, "rewind"),
        "records": summary.records,
        "mapped": summary.mapped,
        "kept": summary.kept,
        "dropped": summary.dropped,
        "droppedBy": summary.dropped_by.iter().collect::<BTreeMap<_, _>>(),
    })
}

/// Whether a fixture's format is written already.
fn is_known(name: &str) -> bool {
    ForeignFormat::ALL.iter().any(|format| name.contains(format.as_str()))
}

#[test]
fn every_fixture_is_read_as_an_independent_converter_reads_it() {
    let expected = std::fs::read(agents().join("expected.json")).unwrap();
    let expected: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&expected).unwrap();
    let mut differing = Vec::new();
    for (name, conversations) in expected.iter().filter(|(name, _)| is_known(name)) {
        let bytes = std::fs::read(agents().join(name)).unwrap();
        let Some((conversion, entries, events)) = convert_bytes(&bytes, &with_receipt()) else {
            differing.push(format!("{name}: not recognised"));
            continue;
        };
        let mut wanted = conversations[0].clone();
        let agents = wanted.as_object_mut().unwrap().remove("agents");
        let got = figures(&conversion, &events);
        for (key, value) in wanted.as_object().unwrap() {
            if got[key] != *value {
                differing.push(format!("{name}: {key} is {}, not {value}", got[key]));
            }
        }
        let listed = list_conversations(LineSource::in_memory(bytes.clone())).unwrap().unwrap().1;
        let of_agents = listed.iter().filter(|one| one.agent_id.is_some());
        let listed: Vec<_> = of_agents.map(|one| json!({ "agentId": one.agent_id, "records": one.records })).collect();
        if agents.clone().unwrap_or(json!([])) != json!(listed) {
            differing.push(format!("{name}: agents are {}, not {agents:?}", json!(listed)));
        }
        check_receipt(&bytes, &conversion, &entries, &events);
        check_native(&conversion, &events);
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_receipt_names_the_version_of_the_program_if_the_source_does() {
    let version = |name: &str| {
        let bytes = std::fs::read(agents().join(name)).unwrap();
        convert_bytes(&bytes, &with_receipt()).unwrap().0.summary.source_version
    };
    let of_each = [
        ("made/claude-mixed.jsonl", Some("2.1.230")),
        ("made/codex-rollback.jsonl", Some("0.150.0")),
        ("made/gemini-stream.jsonl", None),
        // That of its format, not of the program.
        ("made/pi-tree.jsonl", None),
        ("atif/letta-atif-tool-calls.json", Some("1.0.0")),
        ("opencode/letta-opencode-tool-calls.json", Some("1.2.21")),
        ("made/qwen-compression.jsonl", Some("0.20.0")),
        ("cursor/letta-cursor-tool-calls.jsonl", None),
    ];
    for (name, stated) in of_each {
        assert_eq!(version(name).as_deref(), stated, "{name}");
    }
}

/// Asserts that a receipt covers every byte of its source, and names events of the session.
pub(super) fn check_receipt(bytes: &[u8], conversion: &Conversion, entries: &[Entry], events: &[Value]) {
    let summary = &conversion.summary;
    assert_eq!(summary.records, summary.mapped + summary.kept + summary.dropped);
    assert_eq!(summary.records, entries.len() as u64);
    assert_eq!(summary.dropped, summary.dropped_by.values().sum::<u64>());
    assert_eq!(summary.source_sha256, <[u8; 32]>::from(Sha256::digest(bytes)));
    assert_eq!(summary.source_bytes, bytes.len() as u64);
    let (mut end, mut carried): (u64, BTreeSet<&u64>) = (0, BTreeSet::new());
    for entry in entries {
        assert!(entry.offset >= end, "records overlap");
        end = entry.offset + entry.length;
        let record = &bytes[entry.offset as usize..end as usize];
        assert_eq!(entry.hash, <[u8; 32]>::from(Sha256::digest(record)));
        let line = bytes[..entry.offset as usize].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        assert_eq!(entry.line, line);
        assert_eq!(matches!(entry.fate, Fate::Dropped(_)), entry.seqs.is_empty(), "{entry:?}");
        assert!(entry.seqs.is_sorted());
        carried.extend(&entry.seqs);
    }
    assert!(carried.iter().all(|seq: &&u64| **seq >= 1 && **seq <= events.len() as u64));
    check_origins(conversion, entries, events.len());
}

fn origin_of(entry: &Entry) -> Origin {
    let Entry { line, offset, length, hash, .. } = *entry;
    Origin { line, offset, length, hash, is_copy: false }
}

/// Asserts that each event comes from the first record that carries it, and that origins are the same wherever reading begins.
fn check_origins(conversion: &Conversion, entries: &[Entry], events: usize) {
    let origins = conversion.origins.as_ref().unwrap();
    let mut all = vec![Origin::default(); events];
    origins.read(1, &mut all).unwrap();
    for (index, origin) in all.iter().enumerate() {
        let seq = index as u64 + 1;
        let mut one = [Origin::default(); 2];
        origins.read(seq, &mut one).unwrap();
        assert_eq!(one, [*origin, all.get(index + 1).copied().unwrap_or_default()]);
        let carrying: Vec<_> = entries.iter().filter(|entry| entry.seqs.contains(&seq)).map(origin_of).collect();
        let original = Origin { is_copy: false, ..*origin };
        match carrying.first() {
            // That of the event which has written the item first. It may be counted to records around it, too.
            Some(_) if origin.is_copy => {
                let is_first = |earlier: u64| {
                    let both = |entry: &Entry| [earlier, seq].iter().all(|seq| entry.seqs.contains(seq));
                    all[earlier as usize - 1] == original && entries.iter().any(both)
                };
                assert!((1..seq).any(is_first), "event {seq}");
            }
            Some(first) => assert_eq!(origin, first, "event {seq}"),
            None => assert!(entries.iter().any(|entry| origin_of(entry) == *origin), "event {seq}"),
        }
    }
}

/// Asserts that a session replays strictly without a warning.
pub(super) fn check_native(conversion: &Conversion, events: &[Value]) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes_of(&conversion.native)).unwrap();
    let options =
        crate::session::fold::FoldOptions { mode: crate::session::format::Mode::Strict, ..Default::default() };
    let replay = crate::session::read::Replay::open(file.path(), options).unwrap().complete().unwrap();
    let outcome = replay.outcome(None);
    assert!(outcome.metadata.is_ok(), "{:?}", outcome.metadata);
    let warnings: Vec<_> = outcome.warnings.iter().map(|warning| warning.to_string()).collect();
    assert!(warnings.is_empty() && !outcome.is_out_of_sequence, "{warnings:?}");
    assert_eq!(outcome.event_count, events.len() as u64);
    assert_eq!(replay.items().len(), history_of(events).len());
}

/// The fixtures that are lines.
fn lines_of_fixtures() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(agents()).unwrap().filter_map(Result::ok).filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = format!("{}/{}", folder.file_name().display(), file.file_name().display());
            if name.ends_with(".jsonl") && is_known(&name) && file.metadata().unwrap().len() < 100_000 {
                all.push(std::fs::read(file.path()).unwrap());
            }
        }
    }
    all.sort();
    all
}

mod traps;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 96 }))]

    #[test]
    fn any_beginning_of_a_session_is_converted_with_a_whole_receipt(which: prop::sample::Index, cut: prop::sample::Index) {
        let all = lines_of_fixtures();
        let bytes = which.get(&all);
        let bytes = &bytes[..cut.index(bytes.len() + 1)];
        if let Some((conversion, entries, events)) = convert_bytes(bytes, &with_receipt()) {
            check_receipt(bytes, &conversion, &entries, &events);
            check_native(&conversion, &events);
        }
    }

    #[test]
    fn a_session_with_a_changed_byte_is_converted_with_a_whole_receipt(which: prop::sample::Index, at: prop::sample::Index, byte: u8) {
        let all = lines_of_fixtures();
        let mut bytes = which.get(&all).clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Some((conversion, entries, events)) = convert_bytes(&bytes, &with_receipt()) {
            check_receipt(&bytes, &conversion, &entries, &events);
            check_native(&conversion, &events);
        }
    }
}
