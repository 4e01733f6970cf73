use super::super::message::Message;
use super::super::replay::Replay;
use super::*;
use crate::jsonl::scan::Span;
use proptest::prelude::*;
use std::fs;

const START: &str = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;

fn line(kind: u8, seq: u64) -> String {
    let body = match kind {
        0..=5 => r#""type":"content","payload":{"content":{"speaker":"ai","blocks":["é"]}}"#,
        6 => r#""type":"compressed","payload":{"summary":{"speaker":"ai"},"itemsCompressed":1}"#,
        7 => r#""type":"rewind","payload":{"itemsRemoved":2}"#,
        8 => r#""type":"provider_switch","payload":{"provider":"p","model":"m"}"#,
        9 => r#""type":"session_event","payload":{"severity":"info","message":"x"}"#,
        10 => r#""type":"new","payload":1"#,
        11 => return "not json".to_owned(),
        _ => return String::new(),
    };
    format!("{{\"v\":1,\"seq\":{seq},{body}}}")
}

/// Everything that a replay says.
#[derive(Debug, PartialEq)]
struct Seen {
    items: Vec<Vec<u8>>,
    events: Vec<Vec<u8>>,
    metadata: Result<String, String>,
    numbers: (f64, u64),
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
        metadata: outcome.metadata.map(|metadata| format!("{metadata:?}")).map_err(|error| error.message().to_string()),
        numbers: (outcome.last_seq, outcome.event_count),
        warnings: outcome.warnings.iter().map(Message::to_string).collect(),
    }
}

fn options(hash: Option<&str>) -> FoldOptions {
    FoldOptions { project_hash: hash.map(|hash| hash.encode_utf16().collect()), through_seq: None }
}

fn replay_both_ways(path: &Path) -> Seen {
    let with = replay(Replay::open_with_snapshot(path, options(None)).unwrap());
    assert_eq!(with, replay(Replay::open(path, options(None)).unwrap()));
    with
}

/// What may become of a session file between two replays.
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
    let lines = || proptest::collection::vec(0u8..13, 0..12);
    prop_oneof![
        6 => lines().prop_map(Change::Append),
        3 => (0u8..11).prop_map(Change::AppendTorn),
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
    fn whatever_happens_in_between_the_replay_is_that_of_the_whole_file(
        changes in proptest::collection::vec(change(), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        fs::write(&path, format!("{START}\n")).unwrap();
        let mut seq = 1;
        replay_both_ways(&path);
        for change in &changes {
            apply(change, &path, &mut seq);
            replay_both_ways(&path);
        }
    }
}

fn session_of(directory: &Path, lines: u64) -> PathBuf {
    let path = directory.join("session.jsonl");
    let body: String = (2..lines).map(|seq| line((seq % 10) as u8, seq) + "\n").collect();
    fs::write(&path, format!("{START}\n{body}")).unwrap();
    path
}

fn load_from(path: &Path) -> Option<Loaded> {
    load(path, &Arc::new(LineSource::open(path).unwrap()), &options(None))
}

#[test]
fn what_was_scanned_is_not_scanned_again() {
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
    let resumed = Replay::open_with_snapshot(&path, options(None)).unwrap();
    assert_eq!(resumed.scanned(), size);
    replay_both_ways(&path);
    // The line without an end may be written on: it is no part of the snapshot.
    let behind = load_from(&path).unwrap().snapshot.end;
    assert_eq!(behind + torn.len() as u64, fs::metadata(&path).unwrap().len());
}

#[cfg(unix)]
#[test]
fn a_file_at_rest_is_known_at_a_glance() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 10);
    std::thread::sleep(AT_REST + Duration::from_millis(300));
    replay_both_ways(&path);
    assert!(load_from(&path).unwrap().matches_metadata);
    let written = fs::metadata(path_of(&path)).unwrap().modified().unwrap();
    replay_both_ways(&path);
    assert_eq!(fs::metadata(path_of(&path)).unwrap().modified().unwrap(), written, "written anew for nothing");

    // A byte is changed and the time of modification put back: the time of change gives it away.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let content = fs::read_to_string(&path).unwrap().replacen("\"ai\"", "\"io\"", 1);
    fs::write(&path, content).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(load_from(&path).is_none());
    replay_both_ways(&path);
}

#[test]
fn a_snapshot_of_something_else_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 50);
    let snapshot = path_of(&path);
    replay_both_ways(&path);
    let good = fs::read(&snapshot).unwrap();
    let other_version = String::from_utf8_lossy(&good[..40]).replace("snapshot 1", "snapshot 0").into_bytes();
    for bad in [b"".to_vec(), b"notes of mine".to_vec(), [&other_version, &good[40..]].concat(), vec![b'x'; 200_000]] {
        fs::write(&snapshot, bad).unwrap();
        assert!(load_from(&path).is_none());
        replay_both_ways(&path);
        assert!(load_from(&path).is_some(), "written anew");
    }
    let source = Arc::new(LineSource::open(&path).unwrap());
    assert!(load(&path, &source, &options(Some("other"))).is_none());
    assert!(load(&path, &source, &FoldOptions { through_seq: Some(3.0), ..options(None) }).is_none());
    assert!(load(&path, &source, &options(Some("h"))).is_some());
}

#[test]
fn a_place_where_no_snapshot_can_be_is_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 50);
    fs::create_dir(path_of(&path)).unwrap();
    fs::write(path_of(&path).join("kept"), "x").unwrap();
    replay_both_ways(&path);
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_session_that_does_not_replay_gets_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    for content in ["", "\n", "{}\n", "{\"type\":\"session_start\",\"payload\":{}}\n", START] {
        fs::write(&path, content).unwrap();
        replay_both_ways(&path);
        assert!(!path_of(&path).exists(), "{content}");
    }
    fs::write(&path, format!("{START}\n")).unwrap();
    replay(Replay::open_with_snapshot(&path, options(Some("other"))).unwrap());
    assert!(!path_of(&path).exists());
}

#[test]
fn what_cannot_be_of_these_lines_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 46);
    replay_both_ways(&path);
    let source = Arc::new(LineSource::open(&path).unwrap());
    let good = load_from(&path).unwrap().snapshot;
    let mut forged = good.clone();
    forged.effect.history.items[0].offset = good.end;
    save(&path, &source, &forged).unwrap();
    assert!(load_from(&path).is_none());
    let mut forged = good.clone();
    forged.effect.tally.malformed = forged.effect.tally.events + 1;
    save(&path, &source, &forged).unwrap();
    assert!(load_from(&path).is_none());
    let mut forged = good.clone();
    forged.blocks.clear();
    save(&path, &source, &forged).unwrap();
    assert!(load_from(&path).is_none());
    save(&path, &source, &good).unwrap();
    assert_eq!(load_from(&path).unwrap().snapshot, good);
}

/// Saves a forged snapshot of the file at `path`, its digests right, and expects the replay to be that of the file alone.
fn replay_forged(path: &Path, forged: &Snapshot) {
    save(path, &LineSource::open(path).unwrap(), forged).unwrap();
    assert!(load_from(path).is_none(), "{forged:?}");
    replay_both_ways(path);
    assert!(load_from(path).is_some(), "written anew");
}

#[test]
fn no_number_that_cannot_be_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = session_of(directory.path(), 46);
    replay_both_ways(&path);
    let good = load_from(&path).unwrap().snapshot;
    type Forge = fn(&mut Effect);
    let forgeries: [Forge; 17] = [
        |effect| effect.session_events[0].message = Span { start: 9, end: 8 },
        |effect| effect.session_events[0].message = Span { start: 9, end: 9 },
        |effect| effect.session_events[0].message.end = u32::MAX,
        |effect| effect.session_events[0].ts = Some(Span { start: u32::MAX, end: 0 }),
        |effect| effect.session_events[0].line_offset = u64::MAX,
        |effect| effect.session_events[0].seq = Some(f64::NAN),
        |effect| effect.history.items[0].length = 0,
        |effect| effect.history.items[0].length = u32::MAX,
        |effect| effect.history.items[0].offset = u64::MAX,
        |effect| effect.last_seq = Some(f64::NAN),
        |effect| effect.last_seq = None,
        |effect| effect.lines = u64::MAX,
        |effect| effect.tally.events = u64::MAX,
        |effect| effect.tally.unknown = effect.tally.events + 1,
        |effect| effect.tally.events = 1,
        |effect| effect.provider = Some((*b"\"p\",\"x\":1").into()),
        |effect| effect.warnings.push(u64::MAX, super::super::warnings::Problem::Unparseable),
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

/// Lets one of the numbers of an effect be another.
fn forge(effect: &mut Effect, which: usize, at: prop::sample::Index, number: u64) {
    let item = at.index(effect.history.items.len());
    let event = at.index(effect.session_events.len());
    let (items, events) = (&mut effect.history.items, &mut effect.session_events);
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
        13 => effect.history.drop = crate::session::history::Truncation::Last(number),
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
    /// Whether a forged sidecar counts or not: nothing panics or overflows, and all that is named is in the file.
    #[test]
    fn any_numbers_in_a_forged_sidecar_do_no_harm(
        forgeries in proptest::collection::vec((0usize..15, any::<prop::sample::Index>(), number()), 1..4),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = session_of(directory.path(), 46);
        replay_both_ways(&path);
        let size = fs::metadata(&path).unwrap().len();
        let mut forged = load_from(&path).unwrap().snapshot;
        for (which, at, number) in forgeries {
            forge(&mut forged.effect, which, at, number);
        }
        save(&path, &LineSource::open(&path).unwrap(), &forged).unwrap();
        let counts = load_from(&path).is_some();
        // More lines, so that the effect is combined with another.
        let more = format!("{}\nnot json\n{}\n", line(0, 47), line(7, 48));
        fs::write(&path, [fs::read(&path).unwrap(), more.into_bytes()].concat()).unwrap();
        let seen = replay(Replay::open_with_snapshot(&path, options(None)).unwrap());
        if counts {
            prop_assert!(seen.numbers.1 <= size + 3 && !seen.numbers.0.is_nan());
        } else {
            prop_assert_eq!(seen, replay(Replay::open(&path, options(None)).unwrap()));
        }
    }
}
