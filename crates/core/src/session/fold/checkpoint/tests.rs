use super::*;

fn raw(text: &str) -> Raw {
    text.as_bytes().into()
}

fn created(seq: f64, id: &str, name: &str) -> CheckpointEvent {
    CheckpointEvent { seq, id: raw(id), change: CheckpointChange::Created(raw(name)), ts: Some(raw("\"t\"")) }
}

fn renamed(seq: f64, id: &str, name: &str) -> CheckpointEvent {
    CheckpointEvent { seq, id: raw(id), change: CheckpointChange::Renamed(raw(name)), ts: None }
}

fn deleted(seq: f64, id: &str) -> CheckpointEvent {
    CheckpointEvent { seq, id: raw(id), change: CheckpointChange::Deleted, ts: None }
}

/// Name, watermark and whether it is deleted, of each checkpoint; then the warnings.
fn folded(events: &[CheckpointEvent]) -> (Vec<(String, f64, bool)>, Vec<String>) {
    let checkpoints = Checkpoints::of(events);
    let all =
        checkpoints.all.iter().map(|one| (String::from_utf8(one.name.to_vec()).unwrap(), one.sequence, one.deleted));
    (all.collect(), checkpoints.messages().iter().map(Message::to_string).collect())
}

#[test]
fn the_first_creation_counts_and_later_events_change_it() {
    let (all, warnings) = folded(&[
        created(9.0, "\"a\"", "\"one\""),
        created(3.0, "\"b\"", "\"two\""),
        renamed(10.0, "\"a\"", "\" three \""),
        deleted(11.0, "\"b\""),
    ]);
    assert_eq!(all, [("\"two\"".to_owned(), 3.0, true), ("\" three \"".to_owned(), 9.0, false)]);
    assert!(warnings.is_empty());
}

#[test]
fn ids_are_compared_decoded() {
    let (all, warnings) = folded(&[created(1.0, r#""a\u0062""#, "\"one\""), created(2.0, "\"ab\"", "\"two\"")]);
    assert_eq!(all.len(), 1);
    assert_eq!(warnings, ["Sequence 2: checkpoint_created duplicates checkpoint ab"]);
    // Bytes that are not UTF-8 are decoded as U+FFFD.
    let invalid = CheckpointEvent { id: (*b"\"\xff\"").into(), ..created(2.0, "\"x\"", "\"y\"") };
    assert_eq!(folded(&[created(1.0, "\"\u{fffd}\"", "\"one\""), invalid]).0.len(), 1);
    // Lone surrogates stay distinct.
    assert_eq!(folded(&[created(1.0, r#""\ud800""#, "\"a\""), created(2.0, r#""\ud801""#, "\"b\"")]).0.len(), 2);
}

#[test]
fn deletion_before_the_creation_counts_for_warnings() {
    let (all, warnings) = folded(&[
        deleted(2.0, "\"a\""),
        deleted(3.0, "\"a\""),
        created(4.0, "\"a\"", "\"one\""),
        renamed(5.0, "\"a\"", "\"two\""),
        renamed(6.0, "\"b\"", "\"three\""),
    ]);
    assert_eq!(all, [("\"two\"".to_owned(), 4.0, false)]);
    assert_eq!(
        warnings,
        [
            "Sequence 2: checkpoint_deleted references unknown checkpoint a",
            "Sequence 3: checkpoint_deleted references deleted checkpoint a",
            "Sequence 5: checkpoint_renamed references deleted checkpoint a",
            "Sequence 6: checkpoint_renamed references unknown checkpoint b",
        ]
    );
}

#[test]
fn equal_watermarks_stay_in_file_order() {
    let (all, _) =
        folded(&[created(0.0, "\"a\"", "\"1\""), created(-0.0, "\"b\"", "\"2\""), created(0.0, "\"c\"", "\"3\"")]);
    let names: Vec<_> = all.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["\"1\"", "\"2\"", "\"3\""]);
}

#[test]
fn a_hundred_warnings_are_shown() {
    let events: Vec<_> = (0..103).map(|seq| deleted(f64::from(seq), "\"a\"")).collect();
    let (_, warnings) = folded(&events);
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[99], "Sequence 99: checkpoint_deleted references deleted checkpoint a");
    assert_eq!(warnings[100], "Replay: 3 further checkpoint warnings not shown");
}
