//! The snapshot of a replay: a sidecar with the effect of what was already scanned, so that a file that has grown needs only
//! its tail scanned (`replaySession` with `snapshot: true`).
//!
//! A snapshot is disposable. It counts only if it shows that the part of the file it speaks of is unchanged; else it is ignored and
//! written anew. What shows that is, in this order:
//!
//! 1. The system's word: the same file, of the same size, not modified since. Trusted only if the file was at rest when it was scanned, for
//!    clocks of file systems tick slowly and a change within a tick leaves no trace.
//! 2. The digests of all its blocks, which are compared with the file.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::fold::{Effect, FoldOptions, Start};
use crate::disk::input_file::InputFile;
use crate::jsonl::digest::{Block, Digest, begins_with, digest};
use crate::jsonl::source::Source;

/// What a snapshot begins with. Another version of this library may fold otherwise, so its snapshots don't count.
const MAGIC: &str = concat!("session-tape snapshot 1, version ", env!("CARGO_PKG_VERSION"), "\n");

/// The digest of all before it, at the end.
const CHECKSUM_BYTES: usize = 16;

/// A snapshot takes less than its file, this much aside. Anything larger is none.
const LEAST_LIMIT_BYTES: u64 = 64 << 10;

/// For so long must a file be unmodified for its time of modification to tell. The slowest clock of a file system (FAT) ticks every two
/// seconds.
const AT_REST: Duration = Duration::from_secs(3);

/// More blocks than this, those that the file's size asks for aside, have gathered from many small tails. Scanning anew is due.
const MOST_SMALL_BLOCKS: u64 = 4096;

/// What a file's first lines came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Where these lines end, behind a `\n`.
    pub end: u64,
    /// Their bytes.
    pub blocks: Vec<Block>,
    /// Their effect.
    pub effect: Effect,
}

#[derive(Serialize, Deserialize)]
struct Stored<Blocks, E> {
    identity: Option<Identity>,
    end: u64,
    blocks: Blocks,
    effect: E,
}

/// What the system tells of a file that changes whenever the file is written to, replaced or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since 1970. The time of the last change can't be set by any program, unlike that of modification.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The system has no time of change that programs can't set.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether the file was at rest at `time`. Both by the system's clock and by that of the file system, which may be another's.
    fn was_at_rest(&self, time: SystemTime) -> bool {
        let since_1970 = |(seconds, nanoseconds): (i64, i64)| {
            Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?))
        };
        let last = since_1970(self.modified.max(self.changed));
        let time = time.duration_since(SystemTime::UNIX_EPOCH).ok();
        last.zip(time).is_some_and(|(last, time)| time >= last + AT_REST)
    }
}

/// A snapshot that counts.
pub struct Loaded {
    /// It.
    pub snapshot: Snapshot,
    /// Whether the system's word was enough. If not, a snapshot written now may spare the next reader the comparison.
    pub at_a_glance: bool,
}

/// Where the snapshot of the file at `path` is.
pub fn path_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".snap");
    name.into()
}

/// The snapshot of the file at `path`, which is open as `source`, if there is one that counts for a fold with these options.
pub fn load(path: &Path, source: &Arc<Source>, options: &FoldOptions) -> Option<Loaded> {
    let (text, written) = read(&path_of(path), source.size().saturating_add(LEAST_LIMIT_BYTES))?;
    let stored = decode(&text)?;
    let most_blocks = stored.end / crate::jsonl::segments::SEGMENT_BYTES * 2 + MOST_SMALL_BLOCKS;
    let is_consistent = stored.blocks.last().is_some_and(|last| last.end == stored.end)
        && stored.blocks.is_sorted_by(|one, next| one.end < next.end)
        && stored.end <= source.size()
        && stored.blocks.len() as u64 <= most_blocks
        && stored.effect.is_possible(stored.end);
    if !is_consistent || !is_wanted(&stored.effect, options) {
        return None;
    }
    let at_a_glance = stored
        .identity
        .is_some_and(|identity| Some(identity) == Identity::of(source.metadata()) && identity.was_at_rest(written));
    (at_a_glance || begins_with(source, &stored.blocks)).then_some(Loaded {
        snapshot: Snapshot { end: stored.end, blocks: stored.blocks, effect: stored.effect },
        at_a_glance,
    })
}

/// Writes the snapshot of the file at `path`, which is open as `source`: whole or not at all. Not synced to the disk: one that a crash
/// has damaged does not count.
pub fn save(path: &Path, source: &Source, snapshot: &Snapshot) -> io::Result<()> {
    let path = path_of(path);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".session-tape-").suffix(".snap").tempfile_in(directory)?;
    let stored = Stored {
        // Of a file that was not at rest when its scan began, it is not known which of its states has this identity.
        identity: Identity::of(source.metadata()).filter(|identity| identity.was_at_rest(source.opened())),
        end: snapshot.end,
        blocks: &snapshot.blocks,
        effect: &snapshot.effect,
    };
    encode(&stored, file.as_file())?;
    file.persist(path)?;
    Ok(())
}

/// Whether a snapshot may be made of this effect: it is that of a session that goes on whatever the options are.
pub fn is_worth_saving(effect: &Effect, source: &Source) -> bool {
    source.metadata().is_file() && !effect.stopped && matches!(effect.start, Start::Metadata(_))
}

fn is_wanted(effect: &Effect, options: &FoldOptions) -> bool {
    let Start::Metadata(metadata) = &effect.start else { return false };
    !effect.stopped && options.through_seq.is_none() && options.is_expected(&metadata.project_hash)
}

/// The content of a snapshot and when it was written, by the file system's clock.
fn read(path: &Path, limit: u64) -> Option<(Vec<u8>, SystemTime)> {
    let mut file = InputFile::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if metadata.len() > limit {
        return None;
    }
    Some((file.read_up_to(limit).ok()?, metadata.modified().ok()?))
}

fn decode(text: &[u8]) -> Option<Stored<Vec<Block>, Effect>> {
    let (content, checksum) = text.split_last_chunk::<CHECKSUM_BYTES>()?;
    if digest(content) != u128::from_le_bytes(*checksum) {
        return None;
    }
    let stored = content.strip_prefix(MAGIC.as_bytes())?;
    match postcard::take_from_bytes(stored) {
        Ok((stored, [])) => Some(stored),
        _ => None,
    }
}

fn encode(stored: &Stored<&Vec<Block>, &Effect>, file: &File) -> io::Result<()> {
    let mut writer = Checked { inner: BufWriter::new(file), digest: Digest::default() };
    writer.write_all(MAGIC.as_bytes())?;
    postcard::to_io(stored, &mut writer).map_err(io::Error::other)?;
    let checksum = writer.digest.value();
    writer.inner.write_all(&checksum.to_le_bytes())?;
    writer.inner.flush()
}

/// Makes a digest of what is written.
struct Checked<W> {
    inner: W,
    digest: Digest,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
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
        let spans = events.flat_map(|event| {
            [Some(event.message), event.ts].into_iter().flatten().map(|span| (event.line_offset, span))
        });
        let events = spans.map(|(offset, span)| item(offset + u64::from(span.start), span.len())).collect();
        let outcome = replay.outcome(None);
        Seen {
            items,
            events,
            metadata: outcome
                .metadata
                .map(|metadata| format!("{metadata:?}"))
                .map_err(|error| error.message().to_string()),
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
        load(path, &Arc::new(Source::open(path).unwrap()), &options(None))
    }

    #[test]
    fn what_was_scanned_is_not_scanned_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = session_of(directory.path(), 40_000);
        let size = fs::metadata(&path).unwrap().len();
        assert!(size > 3 << 20);
        replay_both_ways(&path);
        let loaded = load_from(&path).unwrap();
        assert_eq!((loaded.snapshot.end, loaded.at_a_glance), (size, false));
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
        assert!(load_from(&path).unwrap().at_a_glance);
        let written = fs::metadata(path_of(&path)).unwrap().modified().unwrap();
        replay_both_ways(&path);
        assert_eq!(fs::metadata(path_of(&path)).unwrap().modified().unwrap(), written, "written anew for nothing");

        // A byte is changed and the time of modification put back: the time of change gives it away.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let content = fs::read_to_string(&path).unwrap().replacen("\"ai\"", "\"io\"", 1);
        fs::write(&path, content).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
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
        for bad in
            [b"".to_vec(), b"notes of mine".to_vec(), [&other_version, &good[40..]].concat(), vec![b'x'; 200_000]]
        {
            fs::write(&snapshot, bad).unwrap();
            assert!(load_from(&path).is_none());
            replay_both_ways(&path);
            assert!(load_from(&path).is_some(), "written anew");
        }
        let source = Arc::new(Source::open(&path).unwrap());
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
        let source = Arc::new(Source::open(&path).unwrap());
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
        save(path, &Source::open(path).unwrap(), forged).unwrap();
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
            13 => effect.history.drop = crate::session::history::Drop::Last(number),
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
            save(&path, &Source::open(&path).unwrap(), &forged).unwrap();
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
}
