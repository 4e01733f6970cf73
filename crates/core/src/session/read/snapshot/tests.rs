use super::*;
use crate::json::Span;
use crate::session::format::Message;
use crate::session::read::replay::{Replay, ReplayError};
use proptest::prelude::*;
use std::fs;

const START: &str = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h","cwd":"/w","provider":"p","model":"m","startTime":"t"}}"#;

fn line(kind: u8, seq: u64) -> String {
    let body = match kind {
        0..=5 => r#""type":"content","payload":{"content":{"speaker":"ai","blocks":["é"]}}"#,
        6 => r#""type":"compressed","payload":{"summary":{"speaker":"ai"},"itemsCompressed":1}"#,
        7 => r#""type":"rewind","payload":{"itemsRemoved":2}"#,
        8 => r#""type":"provider_switch","payload":{"provider":"p","model":"m"}"#,
        9 => r#""type":"session_event","payload":{"severity":"info","message":"x"}"#,
        10 => r#""type":"new","payload":1"#,
        11 => return "not json".to_owned(),
        12 => return String::new(),
        13 => r#""type":"checkpoint_created","payload":{"checkpointId":"a","name":"first é"}"#,
        14 => r#""ts":"t","type":"checkpoint_created","payload":{"checkpointId":"b","name":"second"}"#,
        15 => r#""type":"checkpoint_renamed","payload":{"checkpointId":"a","name":"third"}"#,
        16 => r#""type":"checkpoint_deleted","payload":{"checkpointId":"b"}"#,
        17 => r#""type":"session_metadata","payload":{"title":"a title"}"#,
        18 => r#""type":"session_named","payload":{"name":null}"#,
        19 => {
            r#""type":"session_forked","payload":{"parentSessionId":"p","parentSequence":1,"checkpointId":"c","checkpointName":""}"#
        }
        20 => return r#"{"seq":1.5,"type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}}"#.to_owned(),
        _ => return r#"{"seq":1,"type":"content","payload":{"content":{"speaker":"user"}}}"#.to_owned(),
    };
    format!("{{\"v\":1,\"seq\":{seq},{body}}}")
}

/// Everything that a replay reports.
#[derive(Debug, PartialEq)]
struct Seen {
    items: Vec<Vec<u8>>,
    events: Vec<Vec<u8>>,
    metadata: Result<String, String>,
    numbers: (f64, u64),
    is_out_of_sequence: bool,
    presented: String,
    warnings: Vec<String>,
}

fn replay(mut replay: Replay) -> Seen {
    while replay.scan_on().unwrap().is_some() {}
    replay.keep_snapshot();
    replay.settle();
    let mut scratch = Vec::new();
    let mut item =
        |offset: u64, length: usize| replay.source().bytes_at(offset, length, &mut scratch).unwrap().to_vec();
    let items = replay.items().iter().map(|place| item(place.offset, place.length as usize)).collect();
    let events = replay.session_events().iter();
    let spans = events
        .flat_map(|event| [Some(event.message), event.ts].into_iter().flatten().map(|span| (event.line_offset, span)));
    let events = spans.map(|(offset, span)| item(offset + u64::from(span.start), span.len())).collect();
    let outcome = replay.outcome(None);
    Seen {
        items,
        events,
        is_out_of_sequence: outcome.is_out_of_sequence,
        presented: format!("{:?} {:?} {:?}", outcome.checkpoints, outcome.session_name, outcome.ancestry),
        metadata: outcome.metadata.map(|metadata| format!("{metadata:?}")).map_err(|error| error.message().to_string()),
        numbers: (outcome.last_seq, outcome.event_count),
        warnings: outcome.warnings.iter().map(Message::to_string).collect(),
    }
}

fn options(hash: Option<&str>) -> FoldOptions {
    FoldOptions { project_hash: hash.map(|hash| hash.encode_utf16().collect()), ..FoldOptions::default() }
}

fn open_with_snapshot(path: &Path, options: FoldOptions) -> Result<Replay, ReplayError> {
    Replay::open_with(path, options, &Snapshots::Beside, Threads::All)
}

fn replay_both_ways(path: &Path) -> Seen {
    replay_both_ways_in(Mode::Lenient, path)
}

fn replay_both_ways_in(mode: Mode, path: &Path) -> Seen {
    let options = FoldOptions { mode, ..options(None) };
    let with = replay(open_with_snapshot(path, options.clone()).unwrap());
    assert_eq!(with, replay(Replay::open(path, options).unwrap()));
    with
}

/// Saves a snapshot beside the file at `path`.
fn save_beside(path: &Path, snapshot: &Snapshot) {
    save(&SnapshotFile::beside(path), &LineSource::open(path).unwrap(), snapshot, Mode::Lenient).unwrap();
}

/// What may happen to a session file between two replays.
#[derive(Clone, Debug)]
enum Change {
    Append(Vec<u8>),
    AppendTorn(u8),
    CutTo(prop::sample::Index),
    Edit(prop::sample::Index, u8),
    Replace(Vec<u8>),
    DamageSnapshot(prop::sample::Index, u8),
    CutSnapshot(prop::sample::Index),
    Nothing,
}

fn change() -> impl Strategy<Value = Change> {
    let lines = || proptest::collection::vec(0u8..22, 0..12);
    prop_oneof![
        6 => lines().prop_map(Change::Append),
        3 => prop_oneof![0u8..11, 13u8..22].prop_map(Change::AppendTorn),
        2 => any::<prop::sample::Index>().prop_map(Change::CutTo),
        3 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Edit(at, byte)),
        1 => lines().prop_map(Change::Replace),
        2 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::DamageSnapshot(at, byte)),
        1 => any::<prop::sample::Index>().prop_map(Change::CutSnapshot),
        1 => Just(Change::Nothing),
    ]
}

fn apply(change: &Change, path: &Path, seq: &mut u64) {
    let mut lines = |kinds: &[u8]| -> Vec<u8> {
        let mut text = Vec::new();
        for kind in kinds {
            *seq += 1;
            text.extend_from_slice(line(*kind, *seq).as_bytes());
            text.push(b'\n');
        }
        text
    };
    let snapshot = path_of(path);
    let edit = |path: &Path, edit: &dyn Fn(&mut Vec<u8>)| {
        let Ok(mut content) = fs::read(path) else { return };
        edit(&mut content);
        fs::write(path, content).unwrap();
    };
    match change {
        Change::Append(kinds) => {
            let more = lines(kinds);
            edit(path, &|content| content.extend_from_slice(&more));
        }
        Change::AppendTorn(kind) => {
            let more = lines(&[*kind]);
            edit(path, &|content| content.extend_from_slice(&more[..more.len() / 2]));
        }
        Change::CutTo(at) => edit(path, &|content| content.truncate(at.index(content.len() + 1))),
        Change::Edit(at, byte) => edit(path, &|content| {
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] = *byte;
            }
        }),
        Change::Replace(kinds) => {
            let more = lines(kinds);
            fs::write(path, [START.as_bytes(), b"\n", &more].concat()).unwrap();
        }
        Change::DamageSnapshot(at, byte) => edit(&snapshot, &|content| {
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] ^= (*byte).max(1);
            }
        }),
        Change::CutSnapshot(at) => edit(&snapshot, &|content| content.truncate(at.index(content.len() + 1))),
        Change::Nothing => {}
    }
}

proptest! {
    #[test]
    fn replay_with_snapshots_equals_full_replay(
        changes in proptest::collection::vec((change(), any::<bool>()), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        fs::write(&path, format!("{START}\n")).unwrap();
        let mut seq = 1;
        replay_both_ways(&path);
        for (change, is_strict) in &changes {
            apply(change, &path, &mut seq);
            replay_both_ways_in(if *is_strict { Mode::Strict } else { Mode::Lenient }, &path);
        }
    }
}

fn session_of(directory: &Path, lines: u64) -> PathBuf {
    let path = directory.join("session.jsonl");
    let kinds: Vec<u8> = (0..10).chain(13..20).collect();
    let kind = |seq: u64| if lines < 1000 { kinds[seq as usize % kinds.len()] } else { (seq % 10) as u8 };
    let body: String = (2..lines).map(|seq| line(kind(seq), seq) + "\n").collect();
    fs::write(&path, format!("{START}\n{body}")).unwrap();
    path
}

fn load_from(path: &Path) -> Option<Loaded> {
    load(&SnapshotFile::beside(path), &Arc::new(LineSource::open(path).unwrap()), &options(None), Threads::All)
}

#[test]
fn snapshot_avoids_rescanning() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 40_000);
    let size = fs::metadata(&path).unwrap().len();
    assert!(size > 3 << 20);
    replay_both_ways(&path);
    let loaded = load_from(&path).unwrap();
    assert_eq!((loaded.snapshot.end, loaded.matches_metadata), (size, false));
    assert_eq!(loaded.snapshot.blocks.len() as u64, size.div_ceil(1 << 20));
    let torn = line(0, 40_001);
    fs::write(&path, [fs::read(&path).unwrap(), (line(0, 40_000) + "\n" + &torn).into_bytes()].concat()).unwrap();
    let resumed = open_with_snapshot(&path, options(None)).unwrap();
    assert_eq!(resumed.scanned(), size);
    replay_both_ways(&path);
    // The line without an ending may be continued, so it is not part of the snapshot.
    let behind = load_from(&path).unwrap().snapshot.end;
    assert_eq!(behind + torn.len() as u64, fs::metadata(&path).unwrap().len());
}

#[cfg(unix)]
#[test]
fn unchanged_file_is_recognised_by_metadata() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 10);
    std::thread::sleep(AT_REST + Duration::from_millis(300));
    replay_both_ways(&path);
    assert!(load_from(&path).unwrap().matches_metadata);
    let written = fs::metadata(path_of(&path)).unwrap().modified().unwrap();
    replay_both_ways(&path);
    assert_eq!(fs::metadata(path_of(&path)).unwrap().modified().unwrap(), written, "written anew for nothing");

    // The metadata vouch for the file, not for the content of a sidecar.
    let good = load_from(&path).unwrap().snapshot;
    let mut beyond = good.clone();
    beyond.end += 1;
    beyond.blocks.last_mut().unwrap().end += 1;
    save_beside(&path, &beyond);
    assert!(load_from(&path).is_none());
    save_beside(&path, &good);
    assert!(load_from(&path).unwrap().matches_metadata);

    // A byte is changed and the time of modification restored: the time of change reveals it.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let content = fs::read_to_string(&path).unwrap().replacen("\"ai\"", "\"io\"", 1);
    fs::write(&path, content).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(load_from(&path).is_none());
    replay_both_ways(&path);
}

/// The file may have changed while it was scanned, within a tick of the clock.
#[cfg(unix)]
#[test]
fn file_changed_during_the_scan_is_not_recognised_by_metadata() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 10);
    replay_both_ways(&path);
    let snapshot = load_from(&path).unwrap().snapshot;
    // Written anew: on a busy machine the file would be at rest by now.
    fs::write(&path, fs::read(&path).unwrap()).unwrap();
    let source = LineSource::open(&path).unwrap();
    std::thread::sleep(AT_REST + Duration::from_millis(300));
    save(&SnapshotFile::beside(&path), &source, &snapshot, Mode::Lenient).unwrap();
    assert!(!load_from(&path).unwrap().matches_metadata);
}

#[test]
fn snapshot_of_another_file_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 50);
    let snapshot = path_of(&path);
    replay_both_ways(&path);
    let good = fs::read(&snapshot).unwrap();
    let other_version = String::from_utf8_lossy(&good[..40]).replace("snapshot 4", "snapshot 3").into_bytes();
    for bad in [b"".to_vec(), b"notes of mine".to_vec(), [&other_version, &good[40..]].concat(), vec![b'x'; 200_000]] {
        fs::write(&snapshot, bad).unwrap();
        assert!(load_from(&path).is_none());
        replay_both_ways(&path);
        assert!(load_from(&path).is_some(), "written anew");
    }
    let source = Arc::new(LineSource::open(&path).unwrap());
    let place = SnapshotFile::beside(&path);
    assert!(load(&place, &source, &options(Some("other")), Threads::All).is_none());
    assert!(load(&place, &source, &FoldOptions { through_seq: Some(3.0), ..options(None) }, Threads::All).is_none());
    assert!(load(&place, &source, &FoldOptions { mode: Mode::Strict, ..options(None) }, Threads::All).is_none());
    assert!(load(&place, &source, &options(Some("h")), Threads::All).is_some());
}

#[test]
fn snapshot_of_another_mode_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 50);
    fs::write(&path, fs::read_to_string(&path).unwrap() + &line(20, 0) + "\n" + &line(21, 0) + "\n").unwrap();
    let lenient = replay_both_ways_in(Mode::Lenient, &path);
    let strict = replay_both_ways_in(Mode::Strict, &path);
    assert_ne!(lenient, strict);
    assert_eq!(replay_both_ways_in(Mode::Lenient, &path), lenient);
    assert!(load_from(&path).is_some(), "written anew");
}

#[test]
fn a_directory_for_snapshots_is_made_and_has_one_for_each_file() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let snapshots = root.join("some/where");
    for name in ["one", "two"] {
        fs::create_dir(root.join(name)).unwrap();
        let path = session_of(&root.join(name), 20);
        let with = || {
            replay(
                Replay::open_with(&path, options(None), &Snapshots::Within(snapshots.clone()), Threads::All).unwrap(),
            )
        };
        assert_eq!(with(), replay(Replay::open(&path, options(None)).unwrap()));
        let place = SnapshotFile::within(&snapshots, &path).unwrap();
        let hash = crate::hash::sha256_hex([path.to_str().unwrap().as_bytes()]);
        let expected = format!("session.jsonl-{}.snap", std::str::from_utf8(&hash[..16]).unwrap());
        assert_eq!(place.path, snapshots.join(expected));
        assert!(load(&place, &Arc::new(LineSource::open(&path).unwrap()), &options(None), Threads::All).is_some());
        assert!(!path_of(&path).exists());
        let written = fs::metadata(&place.path).unwrap().modified().unwrap();
        with();
        assert!(fs::metadata(&place.path).unwrap().modified().unwrap() >= written);
    }
    assert_eq!(fs::read_dir(&snapshots).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn links_in_the_directory_of_a_file_are_resolved_and_a_link_to_the_file_is_not() {
    let root = tempfile::tempdir().unwrap();
    let path = session_of(root.path(), 20);
    let link = root.path().join("link");
    std::os::unix::fs::symlink(root.path(), &link).unwrap();
    let place = |path: &Path| SnapshotFile::within(Path::new("snapshots"), path).unwrap().path;
    assert_eq!(place(&link.join("session.jsonl")), place(&path));
    fs::create_dir(root.path().join("sub")).unwrap();
    assert_eq!(place(&link.join("sub/.././session.jsonl")), place(&path));
    std::os::unix::fs::symlink(&path, root.path().join("other.jsonl")).unwrap();
    assert_ne!(place(&root.path().join("other.jsonl")), place(&path));
    assert!(SnapshotFile::within(Path::new("snapshots"), &root.path().join("no/such")).is_err());
    assert!(SnapshotFile::within(Path::new("snapshots"), Path::new("/")).is_err());
}

#[test]
fn unwritable_snapshot_path_does_not_fail_the_replay() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 50);
    fs::create_dir(path_of(&path)).unwrap();
    fs::write(path_of(&path).join("kept"), "x").unwrap();
    replay_both_ways(&path);
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn failed_replay_writes_no_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    for content in ["", "\n", "{}\n", "{\"type\":\"session_start\",\"payload\":{}}\n", START] {
        fs::write(&path, content).unwrap();
        replay_both_ways(&path);
        assert!(!path_of(&path).exists(), "{content}");
    }
    fs::write(&path, format!("{START}\n")).unwrap();
    replay(open_with_snapshot(&path, options(Some("other"))).unwrap());
    assert!(!path_of(&path).exists());
}

/// A power cut may leave any sectors of a snapshot without their bytes, and another version reads lines differently.
#[test]
fn incomplete_or_foreign_snapshots_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 56);
    replay_both_ways(&path);
    let sidecar = path_of(&path);
    let good = fs::read(&sidecar).unwrap();
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 1;
        fs::write(&sidecar, damaged).unwrap();
        assert!(load_from(&path).is_none(), "byte {at} of {}", good.len());
    }
    let (content, _) = good.split_last_chunk::<CHECKSUM_BYTES>().unwrap();
    for (version, counts) in [(MAGIC.to_owned(), true), (MAGIC.replace("snapshot 4", "snapshot 3"), false)] {
        let content = [version.as_bytes(), &content[MAGIC.len()..]].concat();
        fs::write(&sidecar, [&content[..], &Digest::of(&content).to_le_bytes()].concat()).unwrap();
        assert_eq!(load_from(&path).is_some(), counts, "{version}");
    }
}

#[test]
fn snapshot_inconsistent_with_its_lines_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 56);
    replay_both_ways(&path);
    let good = load_from(&path).unwrap().snapshot;
    let mut forged = good.clone();
    forged.effect.history.plain.items[0].offset = good.end;
    save_beside(&path, &forged);
    assert!(load_from(&path).is_none());
    let mut forged = good.clone();
    forged.effect.tally.malformed = forged.effect.tally.events + 1;
    save_beside(&path, &forged);
    assert!(load_from(&path).is_none());
    let mut forged = good.clone();
    forged.blocks.clear();
    save_beside(&path, &forged);
    assert!(load_from(&path).is_none());
    save_beside(&path, &good);
    assert_eq!(load_from(&path).unwrap().snapshot, good);
}

/// Saves a forged snapshot of the file at `path`, with correct digests, and expects the replay to be that of the file
/// alone.
fn replay_forged(path: &Path, forged: &Snapshot) {
    save_beside(path, forged);
    assert!(load_from(path).is_none(), "{forged:?}");
    replay_both_ways(path);
    assert!(load_from(path).is_some(), "written anew");
}

#[test]
fn snapshot_with_impossible_numbers_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 56);
    replay_both_ways(&path);
    let good = load_from(&path).unwrap().snapshot;
    type Forge = fn(&mut Effect);
    let forgeries: [Forge; 31] = [
        |effect| effect.session_events[0].message = Span { start: 9, end: 8 },
        |effect| effect.session_events[0].message = Span { start: 9, end: 9 },
        |effect| effect.session_events[0].message.end = u32::MAX,
        |effect| effect.session_events[0].ts = Some(Span { start: u32::MAX, end: 0 }),
        |effect| effect.session_events[0].line_offset = u64::MAX,
        |effect| effect.session_events[0].seq = Some(f64::NAN),
        |effect| effect.history.plain.items[0].length = 0,
        |effect| effect.history.plain.items[0].length = u32::MAX,
        |effect| effect.history.plain.items[0].offset = u64::MAX,
        |effect| effect.last_seq = Some(f64::NAN),
        |effect| effect.last_seq = None,
        |effect| effect.lines = u64::MAX,
        |effect| effect.tally.events = u64::MAX,
        |effect| effect.tally.unknown = effect.tally.events + 1,
        |effect| effect.tally.events = 1,
        |effect| effect.provider = Some((*b"\"p\",\"x\":1").into()),
        |effect| effect.warnings.push(u64::MAX, crate::session::fold::Problem::Unparseable),
        |effect| effect.largest_seq = None,
        |effect| effect.largest_seq = Some(f64::NAN),
        |effect| effect.largest_seq = Some(1.0),
        |effect| effect.is_out_of_sequence = true,
        |effect| effect.tally.without_seq = 1,
        |effect| effect.title = Some((*b"{}").into()),
        |effect| effect.title = Some((*b"\"t").into()),
        |effect| effect.session_name = Some((*b"1").into()),
        |effect| effect.ancestry = Some((*b"\"p\"").into()),
        |effect| effect.checkpoint_events[0].seq = 1.5,
        |effect| effect.checkpoint_events[0].id = (*b"\"\"").into(),
        |effect| effect.checkpoint_events[0].id = (*b"a").into(),
        |effect| {
            effect.checkpoint_events[0].change = crate::session::fold::Change::Renamed { name: (*b"\" \"").into() };
        },
        |effect| effect.checkpoint_events = vec![effect.checkpoint_events[0].clone(); 10_000],
    ];
    for forge in forgeries {
        let mut forged = good.clone();
        forge(&mut forged.effect);
        replay_forged(&path, &forged);
    }
    let mut forged = good.clone();
    forged.blocks.insert(0, Block { end: good.end, digest: 0 });
    replay_forged(&path, &forged);
}

/// Replaces one of the numbers of an effect.
fn forge(effect: &mut Effect, which: usize, at: prop::sample::Index, number: u64) {
    let item = at.index(effect.history.items().len());
    let event = at.index(effect.session_events.len());
    let (items, events) = (&mut effect.history.plain.items, &mut effect.session_events);
    match which {
        0 => items[item].offset = number,
        1 => items[item].length = number as u32,
        2 => events[event].line_offset = number,
        3 => events[event].message.start = number as u32,
        4 => events[event].message.end = number as u32,
        5 => events[event].ts = Some(Span { start: number as u32, end: (number >> 32) as u32 }),
        6 => events[event].seq = Some(f64::from_bits(number)),
        7 => effect.last_seq = Some(f64::from_bits(number)),
        8 => effect.lines = number,
        9 => effect.tally.events = number,
        10 => effect.tally.unknown = number,
        11 => effect.tally.malformed = number,
        12 => effect.tally.unparseable = number,
        13 => effect.history.plain.drop = crate::session::fold::Truncation::Last(number),
        14 => effect.largest_seq = Some(f64::from_bits(number)),
        15 => effect.tally.without_seq = number,
        16 => effect.is_out_of_sequence = number.is_multiple_of(2),
        17 => {
            let event = at.index(effect.checkpoint_events.len());
            effect.checkpoint_events[event].seq = f64::from_bits(number);
        }
        _ => effect.torn = number.is_multiple_of(2),
    }
}

fn number() -> impl Strategy<Value = u64> {
    let nan = f64::NAN.to_bits();
    let near = |number: u64| (0u64..3).prop_map(move |by| number.wrapping_add(by).wrapping_sub(1));
    let edge = prop::sample::select(vec![0, 1 << 31, 1 << 32, 1 << 53, 1 << 63, u64::MAX, nan]);
    prop_oneof![edge.prop_flat_map(near), 0u64..5_000, any::<u64>()]
}

proptest! {
    /// Whether a forged sidecar is used or not, nothing panics or overflows, and all places are within the file.
    #[test]
    fn forged_snapshot_numbers_never_panic(
        forgeries in proptest::collection::vec((0usize..19, any::<prop::sample::Index>(), number()), 1..4),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = session_of(directory.path(), 56);
        replay_both_ways(&path);
        let size = fs::metadata(&path).unwrap().len();
        let mut forged = load_from(&path).unwrap().snapshot;
        for (which, at, number) in forgeries {
            forge(&mut forged.effect, which, at, number);
        }
        save_beside(&path, &forged);
        let counts = load_from(&path).is_some();
        // More lines, so that the effect is combined with another.
        let more = format!("{}\nnot json\n{}\n", line(0, 57), line(7, 58));
        fs::write(&path, [fs::read(&path).unwrap(), more.into_bytes()].concat()).unwrap();
        let seen = replay(open_with_snapshot(&path, options(None)).unwrap());
        if counts {
            prop_assert!(seen.numbers.1 <= size + 3 && !seen.numbers.0.is_nan());
        } else {
            prop_assert_eq!(seen, replay(Replay::open(&path, options(None)).unwrap()));
        }
    }
}
