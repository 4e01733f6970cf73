use std::fs;
use std::path::Path;

use serde_json::json;

use crate::bundle::export::ExportOptions;
use crate::bundle::redact::run_tests::verification;
use crate::bundle::redact::{RedactOptions, RedactionRule};
use crate::bundle::testing::*;
use crate::disk::Durability;
use crate::hash::{as_text, sha256_hex};
use crate::run::testing::{Recorded, SampleOptions};
use crate::run::{Aspect, Kind, Verification};

const LONG: &str = "AKIAIOSFODNN7EXAMPLE";

/// A run whose events of `kind` name these blobs, one after the other, in `field`.
fn naming(kind: Kind, field: &str, blobs: &[&str]) -> Recorded {
    let options = |seed| SampleOptions { seed, max_events: 600, nodes: 12, trouble: 5, ..SampleOptions::default() };
    (3..).find_map(|seed| naming_from(options(seed), kind, field, blobs)).unwrap()
}

/// Such a run with these options; `None` if it has fewer events of the kind.
fn naming_from(options: SampleOptions, kind: Kind, field: &str, blobs: &[&str]) -> Option<Recorded> {
    let mut run = run(options);
    if run.records.iter().filter(|record| record.kind == kind).count() < blobs.len() {
        return None;
    }
    let store = run.directory.blob_store();
    let mut records = std::mem::take(&mut run.records);
    let named = records.iter_mut().filter(|record| record.kind == kind);
    for (blob, record) in blobs.iter().zip(named) {
        record.payload[field] = json!(as_text(&store.put(blob.as_bytes(), Durability::Os).unwrap()));
    }
    run.write_log(&records);
    run.records = records;
    Some(run)
}

fn by(rules: &[(&str, Option<&str>, Option<&str>)]) -> ExportOptions {
    let rule = |(name, pattern, path): &(&str, Option<&str>, Option<&str>)| RedactionRule {
        name: (*name).into(),
        pattern: pattern.map(Into::into),
        path: path.map(Into::into),
        ..RedactionRule::default()
    };
    let rules = rules.iter().map(rule).collect();
    ExportOptions { redact: Some(RedactOptions { builtin: true, rules }), ..ExportOptions::default() }
}

fn hash_of(text: &str) -> String {
    as_text(&sha256_hex([text.as_bytes()])).to_owned()
}

/// The files of a bundle that contain a text or are named by it.
fn holders(directory: &Path, text: &str) -> Vec<String> {
    let holds = |(path, bytes): &(String, Vec<u8>)| {
        path.contains(text) || memchr::memmem::find(bytes, text.as_bytes()).is_some()
    };
    files(directory).into_iter().filter(holds).map(|(path, _)| path).collect()
}

/// Exports in both forms, checks that both verify and that a second export changes nothing, and returns the directory.
fn sealed(run: &Recorded, root: &Path, options: &ExportOptions) -> std::path::PathBuf {
    let [directory, archive, unpacked, again] = ["d", "a.tar.zst", "unpacked", "again"].map(|name| root.join(name));
    let info = try_export(run.directory.root(), &directory, options).unwrap();
    assert_eq!(try_export(run.directory.root(), &archive, options).unwrap().bundle_id, info.bundle_id);
    imported(&archive, &unpacked).unwrap();
    assert!(files(&unpacked) == files(&directory));
    for path in [&directory, &archive] {
        assert_eq!(verified(path).problems, []);
        assert_eq!(verified(path).info.unwrap().redactions, info.redactions);
    }
    assert_eq!(try_export(&archive, &again, options).unwrap().bundle_id, info.bundle_id);
    assert!(files(&again) == files(&directory));
    directory
}

#[test]
fn original_hash_of_a_guessable_blob_is_in_no_file() {
    let value = "a value of many characters, which a pointer names";
    let pin = "{\"pin\":\"483920\"}";
    let pointed = format!("{{\"answer\":\"{value}\"}}");
    let built_in = "postgres://app:hunter2x@db/app";
    let rules = [("pin", None, Some("/pin")), ("answer", None, Some("/answer"))];
    for (kind, field) in [(Kind::BlobStored, "blob"), (Kind::ToolCompleted, "rawHash")] {
        let run = naming(kind, field, &[pin, &pointed, built_in]);
        let root = tempfile::tempdir().unwrap();
        let directory = sealed(&run, root.path(), &by(&rules));
        for blob in [pin, &pointed, built_in] {
            let hash = hash_of(blob);
            assert_eq!(holders(run.directory.root(), &hash).len(), 2, "the log and the blob");
            assert_eq!(holders(&directory, &hash), Vec::<String>::new(), "{blob}");
        }
        let redactions = verified(&directory).redactions;
        assert_eq!((redactions.blobs.len(), redactions.events.len()), (3, 3));
        assert!(redactions.blobs.iter().all(|(blob, entry)| *blob == entry.redacted));
        let redacted = hash_of("{\"pin\":\"[redacted:pin]\"}");
        assert_eq!(redactions.blobs[&redacted].rules, ["pin"]);
        assert_eq!(redactions.events.values().next().unwrap().rules, ["pin"]);
        let log = fs::read_to_string(directory.join("events.cath-log")).unwrap();
        let line = log.lines().find(|line| line.contains(&redacted)).unwrap();
        assert!(line.contains(&format!("\"{field}\":\"{redacted}\"")) && !line.contains("\"salt\""));
        assert_eq!(
            fs::read_to_string(directory.join(format!("blobs/{}/{redacted}", &redacted[..2]))).unwrap(),
            "{\"pin\":\"[redacted:pin]\"}"
        );
    }
}

#[test]
fn a_run_without_the_hashes_of_guessable_blobs_still_verifies() {
    let run = naming(Kind::ToolCompleted, "rawHash", &["{\"pin\":\"483920\"}", "the pin is 483920"]);
    let root = tempfile::tempdir().unwrap();
    let rules = [("pin", Some("pin is (?P<secret>[0-9]{6})"), None), ("field", None, Some("/pin"))];
    let directory = sealed(&run, root.path(), &by(&rules));
    let [before, after] = [verification(run.directory.root()), verification(&directory)];
    let chain = after.check(Aspect::Chain);
    assert_eq!((chain.checked, chain.failed, chain.unverifiable), (run.last() + 1, 0, 2));
    let outputs = |verification: &Verification| {
        let check = verification.check(Aspect::OutputHashes);
        (check.checked + check.unverifiable, check.unverifiable)
    };
    assert_eq!(outputs(&after).0, outputs(&before).0);
    assert!(outputs(&after).1 > outputs(&before).1, "an output of a redacted event is unverifiable");
    for aspect in [Aspect::Dag, Aspect::Schedule, Aspect::StateHashes] {
        assert!(after.check(aspect).holds(), "{aspect:?}");
    }
}

#[test]
fn the_hash_of_a_blob_with_a_long_secret_stays() {
    let blob = format!("the key is {LONG}");
    let run = naming(Kind::BlobStored, "blob", &[&blob]);
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[]));
    assert_eq!(holders(&directory, &hash_of(&blob)), ["events.cath-log", "redactions.json"]);
    assert_eq!(verified(&directory).redactions.events.len(), 0);
}

#[test]
fn two_originals_of_one_redacted_blob_are_one_entry() {
    let blobs = ["{\"pin\":\"483920\"}", "{\"pin\":\"111111\"}"];
    let run = naming(Kind::BlobStored, "blob", &blobs);
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    let redactions = verified(&directory).redactions;
    assert_eq!((redactions.blobs.len(), redactions.events.len()), (1, 2));
    for blob in blobs {
        assert_eq!(holders(&directory, &hash_of(blob)), Vec::<String>::new());
    }
}

#[test]
fn an_earlier_redaction_loses_its_original_hash_when_a_guessable_secret_is_found_later() {
    let blob = format!("{{\"pin\":\"483920\",\"key\":\"{LONG}\"}}");
    let run = naming(Kind::BlobStored, "blob", &[&blob]);
    let root = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| root.path().join(name));
    try_export(run.directory.root(), &first, &by(&[])).unwrap();
    assert_eq!(holders(&first, &hash_of(&blob)).len(), 2);
    try_export(&first, &second, &by(&[("pin", None, Some("/pin"))])).unwrap();
    assert_eq!(holders(&second, &hash_of(&blob)), Vec::<String>::new());
    assert_eq!(verified(&second).problems, []);
    let redactions = verified(&second).redactions;
    let entry = redactions.blobs.values().next().unwrap();
    assert_eq!(
        (redactions.blobs.len(), entry.rules.as_slice()),
        (1, ["aws-access-key-id".to_owned(), "pin".to_owned()].as_slice())
    );
}

#[test]
fn the_hash_of_a_guessable_blob_is_dropped_from_free_text_too() {
    let pin = "{\"pin\":\"483920\"}";
    let mut run = naming(Kind::BlobStored, "blob", &[pin]);
    let mut records = std::mem::take(&mut run.records);
    let error = records.iter_mut().find(|record| record.kind == Kind::Error).unwrap();
    error.payload["message"] = json!(format!("can't read blobs/{}!", hash_of(pin)));
    run.write_log(&records);
    run.records = records;
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    assert_eq!(holders(&directory, &hash_of(pin)), Vec::<String>::new());
    assert_eq!(verified(&directory).redactions.events.len(), 2);
}

/// A run with the messages of errors, and the hash of a blob with a PIN that its log names.
fn with_messages(messages: &dyn Fn(&str) -> Vec<String>) -> (Recorded, String) {
    let pin = "{\"pin\":\"483920\"}";
    let hash = hash_of(pin);
    let messages = messages(&hash);
    let errors = |run: &Recorded| run.records.iter().filter(|record| record.kind == Kind::Error).count();
    let options = |seed| SampleOptions { seed, max_events: 900, nodes: 12, trouble: 8, ..SampleOptions::default() };
    let runs = (3..).filter_map(|seed| naming_from(options(seed), Kind::BlobStored, "blob", &[pin]));
    let mut run = { runs }.find(|run| errors(run) >= messages.len()).unwrap();
    let mut records = std::mem::take(&mut run.records);
    let found = records.iter_mut().filter(|record| record.kind == Kind::Error);
    for (record, message) in found.zip(messages) {
        record.payload["message"] = json!(message);
    }
    run.write_log(&records);
    run.records = records;
    (run, hash)
}

#[test]
fn a_dropped_hash_is_removed_from_texts_however_it_stands_in_them() {
    let (run, hash) = with_messages(&|hash| {
        let json = json!({ "h": hash }).to_string();
        vec![
            json.clone(),
            format!("\"{hash}\""),
            format!("a\n{hash}\nb"),
            format!("\u{8}{hash}\u{c}é{hash}"),
            json!({ "of": json }).to_string(),
            format!("UP \"{}\"", hash.to_uppercase()),
            format!("sha256:{hash} sha256-{hash} _{hash} /x/{hash}.json"),
            format!("{{\"{hash}\":1}}"),
            hash.chars().map(|digit| format!("\\u{:04x}", digit as u32)).collect(),
        ]
    });
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    for hidden in [&hash, &hash.to_uppercase()] {
        assert_eq!(holders(&directory, hidden), Vec::<String>::new());
    }
    let redacted = hash_of("{\"pin\":\"[redacted:pin]\"}");
    let log = fs::read_to_string(directory.join("events.cath-log")).unwrap();
    let messages = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let messages: Vec<String> = messages
        .filter(|event| event["kind"] == "Error")
        .map(|event| event["payload"]["message"].as_str().unwrap().to_owned())
        .take(9)
        .collect();
    assert_eq!(messages[0], json!({ "h": redacted }).to_string());
    assert_eq!(messages[2], format!("a\n{redacted}\nb"));
    assert_eq!(messages[8], redacted);
    assert!(messages.iter().all(|message| message.contains(&redacted)), "{messages:?}");
}

#[test]
fn a_dropped_hash_in_a_path_of_the_store_leaves_no_digits_behind() {
    let path = |hash: &str| format!("blobs/{}/{hash}", &hash[..2]);
    let (run, hash) = with_messages(&|hash| vec![path(hash), json!({ "at": path(hash) }).to_string()]);
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    let redacted = hash_of("{\"pin\":\"[redacted:pin]\"}");
    assert_ne!(hash[..2], redacted[..2]);
    let log = fs::read_to_string(directory.join("events.cath-log")).unwrap();
    assert_eq!(log.matches(&path(&redacted)).count(), 2);
}

#[test]
fn a_dropped_hash_is_removed_from_other_blobs_and_then_their_hashes_are_dropped_too() {
    let pin = "{\"pin\":\"483920\"}";
    let index =
        json!({ "ref": hash_of(pin), "at": format!("blobs/{}/{}", &hash_of(pin)[..2], hash_of(pin)) }).to_string();
    let list = format!("index: {}\n", hash_of(&index).to_uppercase());
    let wide: Vec<u8> = format!("\u{feff}{}", hash_of(&list)).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let long = format!("{}{}", "x ".repeat((9 << 20) / 2), hash_of(&list));
    let other = "names nothing".to_owned();
    let run = naming(Kind::BlobStored, "blob", &[&list, &other, &long, pin, &index]);
    let wide_hash = as_text(&run.directory.blob_store().put(&wide, Durability::Os).unwrap()).to_owned();
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    for blob in [pin, &index, &list, &long] {
        assert_eq!(holders(&directory, &hash_of(blob)), Vec::<String>::new(), "{}", &blob[..20.min(blob.len())]);
    }
    assert_eq!(holders(&directory, &wide_hash), Vec::<String>::new());
    let found =
        |text: &[u8]| files(&directory).iter().any(|(path, bytes)| path.starts_with("blobs/") && *bytes == text);
    assert!(found(b"{\"at\":\"blobs/[redacted:pin]\",\"ref\":\"[redacted:pin]\"}"));
    assert!(found(b"index: [redacted:pin]\n"));
    let wide: Vec<u8> = "\u{feff}[redacted:pin]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(found(&wide) && found(other.as_bytes()));
    let redactions = verified(&directory).redactions;
    assert_eq!((redactions.blobs.len(), redactions.events.len()), (5, 4));
    assert!(redactions.blobs.iter().all(|(blob, entry)| *blob == entry.redacted && entry.rules == ["pin"]));
}

#[test]
fn a_dropped_hash_is_removed_from_the_workflow_and_from_its_name() {
    let pin = "{\"pin\":\"483920\"}";
    let mut run = naming(Kind::BlobStored, "blob", &[pin]);
    let mut records = std::mem::take(&mut run.records);
    let name = format!("of {}", hash_of(pin));
    records[0].payload["workflow"]["name"] = json!(name);
    run.write_log(&records);
    run.records = records;
    let path = run.directory.workflow();
    let mut workflow: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    workflow["name"] = json!(name);
    workflow["note"] = json!(format!("h \"{}\"", hash_of(pin)));
    fs::write(&path, workflow.to_string()).unwrap();
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(&run, root.path(), &by(&[("pin", None, Some("/pin"))]));
    assert_eq!(holders(&directory, &hash_of(pin)), Vec::<String>::new());
    assert!(verified(&directory).redactions.files.contains_key("workflow.json"));
}
