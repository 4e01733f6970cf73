//! Shuts down a real file system under a recorder: ext4 and XFS on a loop device. A child records; at each step of its work the file system stops
//! writing, as in a power cut, and the child is killed. Then the file system is mounted again, recovers from its journal, and is checked like the
//! simulated disk.
//!
//! This needs root, loop devices and the programs that make file systems; a test that cannot run prints why it is skipped. `CUT_ROUNDS` sets the
//! number of visits of each step that are tried, `CUT_ONLY` selects a file system.

#![cfg(target_os = "linux")]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use session_tape_core::disk::Durability;
use session_tape_core::lines::LineSource;
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{ArchiveError, Archived, archive, fork, restore};
use session_tape_core::{Cancellation, Task};
use simulated::search::number;
use simulated::tree::Tree;
use simulated::{bundle, run, session};

/// `FS_IOC_SHUTDOWN`.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;

const POINTS: [&str; 15] = [
    "lock::before_owner",
    "recorder::before_create",
    "run_recorder::before_create",
    "append::before_write",
    "append::after_write",
    "append::before_sync",
    "writer::before_directory_sync",
    "writer::before_answer",
    "writer::after_answer",
    "recorder::after_create",
    "run_recorder::after_create",
    "run_recorder::before_snapshot",
    "atomic_file::before_sync",
    "atomic_file::before_rename",
    "atomic_file::after_rename",
];

/// Steps of a recorder whose file has no room for a whole batch.
const WITHOUT_ROOM: [&str; 2] = ["append::before_truncate", "append::after_truncate"];

/// Steps of a recorder that resumes a log which ends in the middle of a line.
const WITH_TORN_LOG: [&str; 2] = ["run_recorder::before_cut", "run_recorder::after_cut"];

/// What is made completely or not at all, with the steps of making it.
const MADE: [(&str, &[&str]); 4] = [
    ("bundle", &STAGED),
    ("bundle.tar.zst", &STAGED),
    ("import", &STAGED),
    ("fork", &["fork::created", "fork::written", "fork::synced", "fork::placed"]),
];

/// What a session becomes that is whole before and after, with the steps.
const CONVERTED: [(&str, &[&str]); 2] = [
    (
        "archive",
        &[
            "archive::created",
            "archive::compressed",
            "archive::synced",
            "archive::renamed",
            "archive::placed",
            "archive::removed",
            "archive::forgotten",
        ],
    ),
    (
        "restore",
        &[
            "restore::created",
            "restore::written",
            "restore::synced",
            "archive::renamed",
            "archive::placed",
            "archive::removed",
            "restore::forgotten",
        ],
    ),
];

const STAGED: [&str; 3] = ["staged::before_sync", "staged::before_rename", "staged::after_rename"];

/// Increment of the maximum file size from visit to visit, where there is too little room. Not a multiple of the size of a batch or a page.
const ROOM: u64 = 3700;

/// What a power cut leaves on the disk.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The journal is written, data is not.
    WithJournal = 1,
    /// Nothing more is written.
    AtOnce = 2,
    /// Every other page of each file is written first, and then the journal.
    SomePages = 3,
}

const WAYS: [Way; 3] = [Way::WithJournal, Way::AtOnce, Way::SomePages];

/// File systems: name, command that makes one, mount options, and size of the image in bytes.
const FILE_SYSTEMS: [(&str, &str, &str, u64); 3] = [
    ("ext4, ordered", "mkfs.ext4 -q -F", "data=ordered", 32 << 20),
    ("ext4, journal", "mkfs.ext4 -q -F", "data=journal", 32 << 20),
    ("XFS", "mkfs.xfs -q -f", "defaults", 320 << 20),
];

// ---- The child ----------------------------------------------------------------------------------

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(mounted) = std::env::var("CUT_MOUNTED") else { return };
    let root = PathBuf::from(mounted);
    cut_at(std::env::var("CUT_POINT").unwrap(), number("CUT_VISIT", 1), number("CUT_WAY", 1), &root);
    match number("CUT_MOST_BYTES", 0) {
        0 => {}
        most_bytes => limit_file_size(most_bytes),
    }
    match std::env::var("CUT_WORK").as_deref() {
        Ok("run") => record_a_run(&root),
        Ok("session") => record_a_session(&root),
        Ok(work @ ("archive" | "restore")) => {
            convert(work, &root).unwrap();
            say(1);
        }
        Ok(work) => {
            make(work, &root);
            say(1);
        }
        Err(_) => panic!("no work"),
    }
}

/// Makes a bundle, a fork, or a session from a bundle. Returns its path below `root`.
fn make(work: &str, root: &Path) -> PathBuf {
    match work {
        "fork" => {
            let (source, target) = bundle::fork_of(root);
            fork(&source, &target).unwrap().path.strip_prefix(root).unwrap().to_path_buf()
        }
        "import" => {
            bundle::import_from(root.join("sealed.tar.zst"))(&root.join(work));
            work.into()
        }
        _ => {
            bundle::export_from(root.join("session.jsonl"))(&root.join(work));
            work.into()
        }
    }
}

/// Archives or restores the session.
fn convert(work: &str, root: &Path) -> Result<Archived, ArchiveError> {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| () };
    let work = if work == "restore" { restore } else { archive };
    work(&root.join("session.jsonl"), "a test", &mut task)
}

fn say(what: u64) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("\n# acknowledged {what}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

fn record_a_session(root: &Path) {
    let recording = session::Recording::new(root, Durability::Fsync);
    let resumable = session::sessions(&Tree::read(root)).into_keys().find_map(|path| {
        let replay = Replay::open(&root.join(&path), FoldOptions::default()).and_then(Replay::complete).ok()?;
        replay.outcome(None).metadata.is_ok().then(|| (path, replay.outcome(None).last_seq))
    });
    let mut id = number("CUT_FIRST_ID", 0);
    if let Some((path, last_seq)) = resumable {
        assert!(recording.recorder.resume(root.join(path), last_seq));
    }
    for batch in 0..8 {
        for _ in 0..=batch * 5 {
            recording.record(id);
            id += 1;
        }
        if recording.flush(&say).is_err() {
            return;
        }
    }
    recording.end();
}

fn record_a_run(root: &Path) {
    let Ok(recording) = run::Recording::open(root, Durability::Fsync) else { return };
    recording.begin();
    for batch in 0..4 {
        if recording.node().is_err() || recording.flush(&say).is_err() {
            return;
        }
        if batch == 1 && recording.snapshot().is_err() {
            return;
        }
    }
    recording.end();
}

/// At the n-th visit of the point, stops the file system from writing, and ends this process.
fn cut_at(point: String, visit: u64, way: u64, root: &Path) {
    let (visits, root) = (AtomicU64::new(0), root.to_path_buf());
    fail::cfg_callback(point, move || {
        if visits.fetch_add(1, Ordering::SeqCst) + 1 != visit {
            return;
        }
        if way == Way::SomePages as u64 {
            write_some_pages(&root);
        }
        let flag: u32 = if way == Way::AtOnce as u64 { 2 } else { 1 };
        let mounted = File::open(&root).unwrap();
        // SAFETY: the descriptor is open, and the call reads one `u32` through the pointer.
        let result = unsafe { libc::ioctl(mounted.as_raw_fd(), SHUTDOWN, &raw const flag) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: takes no pointer; ending this process is the purpose.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        std::thread::sleep(Duration::from_secs(60));
    })
    .unwrap();
}

/// Limits the size of the files of this process: a write beyond it is done in part, as on a full disk.
fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is valid for this process; without the signal, a write without room reports an error.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

fn write_some_pages(root: &Path) {
    const PAGE: i64 = 4096;
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    for path in Tree::read(root).files().into_keys() {
        let Ok(file) = File::open(root.join(path)) else { continue };
        let pages = file.metadata().unwrap().len() as i64 / PAGE + 1;
        for page in (0..pages).filter(|page| page % 2 == 1) {
            // SAFETY: the descriptor is open; the call takes no pointer.
            unsafe { libc::sync_file_range(file.as_raw_fd(), page * PAGE, PAGE, flags) };
        }
    }
}

// ---- The harness --------------------------------------------------------------------------------

/// A file system on a loop device, which is mounted until this is dropped.
struct Mounted {
    image: PathBuf,
    at: PathBuf,
    options: &'static str,
    _directory: tempfile::TempDir,
}

fn shell(command: &str) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", command]).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{command}: {said}")) }
}

impl Mounted {
    fn new(make: &str, options: &'static str, size: u64) -> Result<Self, String> {
        let directory = tempfile::tempdir().unwrap();
        let (image, at) = (directory.path().join("image"), directory.path().join("mounted"));
        File::create(&image).unwrap().set_len(size).unwrap();
        std::fs::create_dir(&at).unwrap();
        shell(&format!("{make} {}", image.display()))?;
        let mounted = Mounted { image, at, options, _directory: directory };
        mounted.mount().map(|()| mounted)
    }

    fn mount(&self) -> Result<(), String> {
        shell(&format!("mount -o loop,{} {} {}", self.options, self.image.display(), self.at.display()))
    }

    /// Mounts the file system again, as a machine does when it has power again.
    fn restart(&self) {
        shell(&format!("umount {}", self.at.display())).unwrap();
        // A process that has just got a mount namespace of its own keeps the file system mounted until it ends.
        let is_free = || shell(&format!("test -z \"$(losetup -j {})\"", self.image.display())).is_ok();
        let waited = (0..1200).find(|_| {
            is_free() || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        });
        assert!(waited.is_some(), "something keeps the file system mounted");
        self.mount().unwrap();
    }

    /// Appends the beginning of a line to the run's log, if there is one.
    fn tear_log(&self) {
        let log = self.at.join(run::RUN).join("events.cath-log");
        if let Ok(mut log) = File::options().append(true).open(log) {
            log.write_all(br#"{"v":1,"time":"#).unwrap();
            log.sync_all().unwrap();
        }
    }

    fn clear(&self) {
        for entry in std::fs::read_dir(&self.at).unwrap().map(Result::unwrap) {
            if entry.file_name() != "lost+found" {
                let remove = if entry.path().is_dir() { std::fs::remove_dir_all } else { std::fs::remove_file };
                remove(entry.path()).unwrap();
            }
        }
        // SAFETY: takes no arguments and cannot fail.
        unsafe { libc::sync() };
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = shell(&format!("umount {}", self.at.display()));
    }
}

/// Why the test cannot run here, if it cannot.
fn obstacle() -> Option<String> {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("only root can mount".to_owned());
    }
    (!Path::new("/dev/loop-control").exists()).then(|| "there are no loop devices".to_owned())
}

/// Runs a child until the power is cut. Returns what it acknowledged, and whether the power was cut.
fn run_child(
    work: &str,
    at: &Path,
    point: &str,
    visit: u64,
    way: Way,
    first_id: u64,
    most_bytes: u64,
) -> (BTreeSet<u64>, bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env("CUT_MOUNTED", at).env("CUT_WORK", work).env("CUT_POINT", point).env("CUT_VISIT", visit.to_string());
    command.env("CUT_WAY", (way as u64).to_string()).env("CUT_FIRST_ID", first_id.to_string());
    command.env("CUT_MOST_BYTES", most_bytes.to_string());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let acknowledged = said.filter_map(|line| line.strip_prefix("# acknowledged ")?.parse().ok()).collect();
    (acknowledged, !child.wait().unwrap().success())
}

fn check(work: &str, at: &Path, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let tree = || {
        let mut tree = Tree::read(at);
        if let Some(simulated::tree::Inode::Directory(entries)) = tree.0.get_mut(&simulated::tree::ROOT) {
            entries.remove(std::ffi::OsStr::new("lost+found"));
        }
        tree
    };
    match work {
        "run" => run::go_on(at, &tree, acknowledged, 0),
        _ => session::go_on(at, &tree, acknowledged),
    }
}

/// Two processes make one recording, and a power cut ends each. Returns the number of cuts.
fn two_lives(disk: &Mounted, work: &str, point: &str, visit: u64, way: Way) -> u64 {
    disk.clear();
    let (mut acknowledged, mut cuts) = (BTreeSet::new(), 0);
    for life in 0..2 {
        if WITH_TORN_LOG.contains(&point) {
            disk.tear_log();
        }
        // Without room the recorder ends at its first visit, so that further visits are replaced by first visits with more room.
        let (visit, most_bytes) = if WITHOUT_ROOM.contains(&point) { (1, (visit + life) * ROOM) } else { (visit, 0) };
        let (said, was_cut) = run_child(work, &disk.at, point, visit, way, life * 10_000, most_bytes);
        acknowledged.extend(said);
        cuts += u64::from(was_cut);
        disk.restart();
        let is_last = life == 1;
        if is_last {
            let found = check(work, &disk.at, &acknowledged);
            found.unwrap_or_else(|fault| panic!("{work}, {point}, visit {visit}, {way:?}: {fault}"));
        }
    }
    cuts
}

/// Calls `work` for every file system that can be mounted here.
fn for_each_file_system(mut work: impl FnMut(&str, &Mounted)) {
    if let Some(reason) = obstacle() {
        println!("skipped: {reason}");
        return;
    }
    let only = std::env::var("CUT_ONLY").unwrap_or_default();
    for (name, make, options, size) in FILE_SYSTEMS.into_iter().filter(|(name, ..)| name.contains(&only)) {
        match Mounted::new(make, options, size) {
            Ok(disk) => work(name, &disk),
            Err(reason) => println!("skipped: {name}: {reason}"),
        }
    }
}

/// Ends one process by a power cut, after which there is the whole or nothing, and then makes another attempt. Returns whether the power was cut.
fn make_once(disk: &Mounted, work: &str, point: &str, visit: u64, way: Way) -> bool {
    disk.clear();
    std::fs::write(disk.at.join("session.jsonl"), bundle::session_text()).unwrap();
    bundle::export_from(disk.at.join("session.jsonl"))(&disk.at.join("sealed.tar.zst"));
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::sync() };
    let (said, was_cut) = run_child(work, &disk.at, point, visit, way, 0, 0);
    disk.restart();
    let is_made = |path: &Path| match work {
        "fork" => bundle::check_fork(&Tree::read(&disk.at), &disk.at, path),
        _ => bundle::check_whole(&bundle::files_of(&Tree::read(&disk.at), path)),
    };
    let name = match work {
        "fork" => Tree::read(&disk.at).files().into_keys().find(|path| path.to_string_lossy().contains("-fork.jsonl")),
        _ => disk.at.join(work).exists().then(|| PathBuf::from(work)),
    };
    let found = match name {
        Some(name) => is_made(&name),
        None if !said.is_empty() => Err("what had been made is gone".to_owned()),
        None => is_made(&make(work, &disk.at)),
    };
    found.unwrap_or_else(|fault| panic!("{work}, {point}, visit {visit}, {way:?}: {fault}"));
    was_cut
}

/// Lines of a session of more than one frame.
const OF_FRAMES: u64 = 120_000;
/// Lines of a session of many pages.
const OF_PAGES: u64 = 15_000;

/// A session whose content does not compress to nothing.
fn text_to_convert(lines: u64) -> String {
    let item = |at: u64| {
        format!("{{\"v\":1,\"seq\":{at},\"n\":\"{:x}\"}}\n", at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
    };
    (0..lines).map(item).collect()
}

/// Ends the archiving or restoring of a session by a power cut, after which the session is whole, and can be archived and restored. Returns whether
/// the power was cut.
fn convert_once(disk: &Mounted, text: &str, work: &str, point: &str, way: Way) -> bool {
    let context = format!("{work}, {point}, {way:?}");
    let check = || {
        let source =
            LineSource::open(&disk.at.join("session.jsonl")).unwrap_or_else(|error| panic!("{context}: {error}"));
        let mut content = String::new();
        source.into_reader().read_to_string(&mut content).unwrap();
        assert!(content == text, "{context}: {} of {} bytes", content.len(), text.len());
    };
    disk.clear();
    std::fs::write(disk.at.join("session.jsonl"), text).unwrap();
    if work == "restore" {
        convert("archive", &disk.at).unwrap();
    }
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::sync() };
    let (_, was_cut) = run_child(work, &disk.at, point, 1, way, 0, 0);
    disk.restart();
    check();
    for work in ["restore", "archive", "restore"] {
        convert(work, &disk.at).unwrap_or_else(|error| panic!("{context}, then {work}: {error}"));
        check();
    }
    was_cut
}

#[test]
fn shut_down_file_system_keeps_the_session_that_is_archived_or_restored() {
    let (rounds, mut turn) = (number("CUT_ROUNDS", 0), 0);
    for_each_file_system(|name, disk| {
        // Without rounds, one file system gets the long session.
        let text = text_to_convert(if rounds > 0 || turn == 0 { OF_FRAMES } else { OF_PAGES });
        turn += 1;
        let (mut trials, mut cuts) = (0, 0);
        let steps = CONVERTED.iter().flat_map(|(work, points)| points.iter().map(move |point| (work, point)));
        for (number, (work, point)) in steps.enumerate() {
            // Without rounds, each step is tried in one way.
            for (_, way) in WAYS.iter().enumerate().filter(|(at, _)| rounds > 0 || number % WAYS.len() == *at) {
                trials += 1;
                cuts += u64::from(convert_once(disk, &text, work, point, *way));
            }
        }
        println!("{name}: {trials} trials of archives, {cuts} cuts");
        assert_eq!(cuts, trials, "{name}");
    });
}

#[test]
fn shut_down_file_system_has_the_complete_result_or_nothing() {
    let rounds = number("CUT_ROUNDS", 0);
    for_each_file_system(|name, disk| {
        let (mut trials, mut cuts) = (0, 0);
        for (number, (work, points)) in MADE.iter().enumerate() {
            // Without rounds, each is tried in one way and at one step.
            let steps = points.iter().enumerate().filter(|(at, _)| rounds > 0 || (number + 1) % points.len() == *at);
            for (_, point) in steps {
                for (_, way) in WAYS.iter().enumerate().filter(|(at, _)| rounds > 0 || number % WAYS.len() == *at) {
                    for visit in 1..=rounds.clamp(1, 3) {
                        trials += 1;
                        cuts += u64::from(make_once(disk, work, point, visit, *way));
                    }
                }
            }
        }
        println!("{name}: {trials} trials of bundles and forks, {cuts} cuts");
        assert!(cuts > trials / 3, "{name}: {cuts} cuts in {trials} trials");
    });
}

#[test]
fn shut_down_file_system_keeps_acknowledged_records() {
    let rounds = number("CUT_ROUNDS", 0);
    for_each_file_system(|name, disk| {
        let (mut trials, mut cuts) = (0, 0);
        for (number, point) in POINTS.iter().enumerate() {
            // Without rounds, each point is tried in one way, so that every test run tries some points in each way.
            let ways = WAYS.iter().enumerate().filter(|(at, _)| rounds > 0 || number % WAYS.len() == *at);
            for (_, way) in ways {
                for visit in [1, 2, 3, 5, 8].into_iter().take(rounds.max(1) as usize) {
                    let works = ["session", "run"].into_iter().enumerate();
                    for (_, work) in works.filter(|(at, _)| rounds > 0 || (number / WAYS.len()) % 2 == *at) {
                        trials += 1;
                        cuts += two_lives(disk, work, point, visit, *way);
                    }
                }
            }
        }
        println!("{name}: {trials} trials, {cuts} cuts");
        assert!(cuts > trials / 2, "{name}: {cuts} cuts in {trials} trials");
    });
}

/// A batch for which there is no room, and a log that ends in the middle of a line: power cuts before and after the surplus is cut off.
#[test]
fn shut_down_during_a_cut_keeps_acknowledged_records() {
    let (rounds, mut turn) = (number("CUT_ROUNDS", 0), 0);
    for_each_file_system(|name, disk| {
        let points = WITHOUT_ROOM.iter().flat_map(|point| [("session", point), ("run", point)]);
        let points = points.chain(WITH_TORN_LOG.iter().map(|point| ("run", point)));
        let (mut trials, mut cuts) = (0, 0);
        // Without rounds, each file system gets its share of the steps, each in one way.
        for (number, (work, point)) in points.enumerate().filter(|(number, _)| rounds > 0 || number / 2 == turn) {
            for (_, way) in WAYS.iter().enumerate().filter(|(at, _)| rounds > 0 || number % WAYS.len() == *at) {
                // A log is cut only once.
                let visits = if WITH_TORN_LOG.contains(point) { 1 } else { rounds.clamp(1, 5) };
                for visit in 1..=visits {
                    trials += 1;
                    cuts += two_lives(disk, work, point, visit, *way);
                }
            }
        }
        turn += 1;
        println!("{name}: {trials} trials of what is cut off, {cuts} cuts");
        assert!(cuts > trials / 2, "{name}: {cuts} cuts in {trials} trials");
    });
}
