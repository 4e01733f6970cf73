//! The core of the run engine: how fast lines are split, hashes checked, and logs replayed.
//! `cargo bench --manifest-path bench/Cargo.toml --bench run`.

use std::sync::mpsc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use session_tape_core::disk::Durability;
use session_tape_core::json::Text;
use session_tape_core::lines::Lines;
use session_tape_core::run::record::{EventInput, RunRecorder, RunRecorderConfig};
use session_tape_core::run::{EventLine, Kind, ReplayOptions, RunDirectory, Scheduler, Verify};
use session_tape_core::task::{Cancellation, Task};

const NODES: usize = 400;
const CALLS: usize = 20;

/// A run of agent nodes with 20 tool calls each: its directory and its log.
struct Run {
    directory: RunDirectory,
    log: String,
    events: u64,
    _root: tempfile::TempDir,
}

/// A run that is being recorded.
struct Recorder(RunRecorder);

impl Recorder {
    fn append(&mut self, kind: Kind, node: Option<&str>, payload: &str) {
        let input = EventInput { kind, node: node.map(Text::from_plain), parent: None };
        let Ok(recorded) = self.0.append(&input, payload.as_bytes(), 1_770_825_600_000.0);
        recorded.unwrap_or_else(|error| panic!("{error}"));
    }

    fn node(&mut self, node: &str, hash: &str) {
        let task = format!(r#""task":"{node}#1""#);
        self.append(Kind::NodeScheduled, None, &format!(r#"{{{task},"dependsOn":[]}}"#));
        self.append(Kind::TaskAssigned, None, &format!(r#"{{{task},"worker":"w-1"}}"#));
        self.append(Kind::TaskAccepted, None, &format!(r#"{{{task},"worker":"w-1"}}"#));
        self.append(Kind::NodeStarted, None, &format!(r#"{{{task},"worker":"w-1","inputHash":"{hash}"}}"#));
        for call in 0..CALLS {
            let call = format!(r#""tool":"read_file","call":"call-{call}""#);
            self.append(Kind::ToolInvoked, Some(node), &format!(r#"{{{call},"requestHash":"{hash}"}}"#));
            let completed = format!(r#"{{{call},"rawHash":"{hash}","outputHash":"{hash}","normalizer":"none"}}"#);
            self.append(Kind::ToolCompleted, Some(node), &completed);
        }
        self.append(Kind::NodeCompleted, None, &format!(r#"{{{task},"outputHash":"{hash}"}}"#));
    }
}

fn run() -> Run {
    let root = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<String> = (0..NODES).map(|n| format!("node-{n:06}")).collect();
    let nodes: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","kind":"task"}}"#)).collect();
    let config = RunRecorderConfig {
        directory: root.path().join("run"),
        mode: 0o600,
        run_id: Text::from_plain("r"),
        workflow: &format!(r#"{{"name":"bench","version":"1","nodes":[{}]}}"#, nodes.join(",")),
        scheduler: Scheduler::External,
        capabilities: None,
        resume: false,
        durability: Durability::Os,
        owner: "a benchmark".to_owned(),
    };
    let recorder = RunRecorder::open(&config, 1_770_825_600_000.0, |failure| panic!("{}", failure.error));
    let mut recorder = Recorder(recorder.unwrap_or_else(|error| panic!("{error}")));
    recorder.append(Kind::RunStarted, None, r#"{"workers":[{"id":"w-1","capabilities":[]}]}"#);
    for id in &ids {
        recorder.node(id, &"0123456789abcdef".repeat(4));
    }
    let events = recorder.0.next_time();
    let (sender, disposed) = mpsc::channel();
    recorder.0.dispose(move || sender.send(()).unwrap_or_default());
    disposed.recv().unwrap_or_else(|error| panic!("{error}"));
    let directory = RunDirectory::new(&config.directory);
    let log = std::fs::read_to_string(directory.log()).unwrap_or_else(|error| panic!("{error}"));
    Run { directory, log, events, _root: root }
}

fn lines(log: &str) -> impl Iterator<Item = EventLine<'_>> {
    let line = |(start, line): (usize, &[u8])| &log[start..start + line.len()];
    Lines::new(log.as_bytes()).map(move |found| EventLine::split(line(found)).unwrap_or_else(|error| panic!("{error}")))
}

fn replay(run: &Run, verify: Verify) -> u64 {
    let options = ReplayOptions { verify, ..ReplayOptions::default() };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let replayed = run.directory.replay(&options, &mut task);
    replayed.unwrap_or_else(|failed| panic!("{}", failed.error)).event_count
}

fn check_chain(run: &Run) {
    let mut previous = None;
    for line in lines(&run.log) {
        line.check_hashes(previous).unwrap_or_else(|error| panic!("{error}"));
        previous = Some(line.hash);
    }
}

fn benches(criterion: &mut Criterion) {
    let run = run();
    let mut group = criterion.benchmark_group("run");
    group.throughput(Throughput::Elements(run.events));
    group.bench_function("lines taken apart", |bencher| bencher.iter(|| lines(&run.log).count()));
    for (name, verify) in
        [("replayed", Verify::None), ("replayed, chain", Verify::Chain), ("replayed, full", Verify::Full)]
    {
        group.bench_function(name, |bencher| bencher.iter(|| replay(&run, verify)));
    }
    group.bench_function("line and payload hashes", |bencher| bencher.iter(|| check_chain(&run)));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
