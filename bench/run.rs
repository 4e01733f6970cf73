//! The core of the run engine on one thread: how fast lines are split, decoded and folded, and what the hashes cost.
//! `cargo bench --manifest-path bench/Cargo.toml --bench run`.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use session_tape_core::json::{Nesting, Text};
use session_tape_core::lines::Lines;
use session_tape_core::run::{
    Dag, EntrySink, Event, EventInput, EventLine, Kind, NoSink, Recording, State, StateHasher, chain, compile,
};

const NODES: usize = 400;
const CALLS: usize = 20;

/// A run of agent nodes with 20 tool calls each: its graph and its log.
struct Run {
    dag: Arc<Dag>,
    log: String,
    events: u64,
}

/// A run that is being recorded.
struct Recorder {
    recording: Recording,
    log: Vec<u8>,
    line: Vec<u8>,
}

impl Recorder {
    fn append(&mut self, kind: Kind, node: Option<&str>, payload: &str) {
        let input = EventInput { kind, node: node.map(Text::from_plain), parent: None };
        let recorded = self.recording.record(&input, payload, "2026-02-11T16:00:00.000Z", &[b'5'; 32], &mut self.line);
        recorded.unwrap_or_else(|error| panic!("{error}"));
        self.log.extend_from_slice(&self.line);
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
    let ids: Vec<String> = (0..NODES).map(|n| format!("node-{n:06}")).collect();
    let nodes: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","kind":"task"}}"#)).collect();
    let workflow = format!(r#"{{"name":"bench","version":"1","nodes":[{}]}}"#, nodes.join(","));
    let dag = Arc::new(Dag::compile(&workflow).unwrap_or_else(|error| panic!("{error}")));
    let mut recorder = Recorder { recording: Recording::new(dag.clone()), log: Vec::new(), line: Vec::new() };
    let created = format!(
        r#"{{"runId":"r","workflow":{{"name":"bench","version":"1"}},"dagHash":"{}","scheduler":"external","capabilities":[]}}"#,
        dag.hash()
    );
    recorder.append(Kind::RunCreated, None, &created);
    recorder.append(Kind::RunStarted, None, r#"{"workers":[{"id":"w-1","capabilities":[]}]}"#);
    for id in &ids {
        recorder.node(id, &"0123456789abcdef".repeat(4));
    }
    let events = recorder.recording.state().next_time();
    Run { dag, log: String::from_utf8(recorder.log).unwrap_or_default(), events }
}

fn lines(log: &str) -> impl Iterator<Item = EventLine<'_>> {
    let line = |(start, line): (usize, &[u8])| &log[start..start + line.len()];
    Lines::new(log.as_bytes()).map(move |found| EventLine::split(line(found)).unwrap_or_else(|error| panic!("{error}")))
}

fn fold(run: &Run, sink: &mut impl EntrySink) -> State {
    let (mut state, mut nesting) = (State::new(run.dag.clone()), Nesting::default());
    for line in lines(&run.log) {
        let event = Event::decode(&line, &mut nesting).unwrap_or_else(|error| panic!("{error}"));
        state.apply_into(&event, sink).unwrap_or_else(|error| panic!("{error}"));
    }
    state
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
    group.bench_function("read and folded", |bencher| bencher.iter(|| fold(&run, &mut NoSink)));
    group.bench_function("read, folded, entries hashed", |bencher| {
        bencher.iter(|| fold(&run, &mut StateHasher::default()));
    });
    group.bench_function("line and payload hashes", |bencher| bencher.iter(|| check_chain(&run)));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
