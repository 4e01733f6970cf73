//! Random legal runs for tests, with every kind of event and every transition, and any number of nodes and events.
//!
//! A run is determined by its options. It is created by a random walk: the state says which events are legal, and chance picks one.

mod walk;

use std::sync::Arc;

use serde_json::{Value, json};
use walk::Walk;

use super::format::{Kind, Payload};
use super::graph::{Dag, Scheduler};
use super::read::Event;
use super::state::State;
use crate::hash::HexHash;
use crate::json::{Nesting, Text};

/// Options of a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions {
    /// The seed of the random choices.
    pub seed: u64,
    /// Number of nodes of the graph.
    pub nodes: usize,
    /// Number of workers that RunStarted declares.
    pub workers: usize,
    /// The scheduler of the run.
    pub scheduler: Scheduler,
    /// Maximum number of events. The run ends there in any state, or earlier by itself.
    pub max_events: usize,
    /// Whether to use ids with quotes, line feeds, `#` and characters beyond ASCII.
    pub odd_ids: bool,
    /// Percentage of choices that go wrong: failures, rejections, time-outs, skips.
    pub trouble: u64,
}

impl Default for SampleOptions {
    fn default() -> Self {
        SampleOptions {
            seed: 1,
            nodes: 6,
            workers: 3,
            scheduler: Scheduler::RoundRobin,
            max_events: 400,
            odd_ids: true,
            trouble: 20,
        }
    }
}

/// An event of a sample.
#[derive(Clone, Debug)]
pub struct SampleEvent {
    /// Logical time.
    pub time: u64,
    /// The kind of the event.
    pub kind: Kind,
    /// The graph node concerned, not escaped.
    pub node: Option<String>,
    /// Logical time of the cause.
    pub parent: Option<u64>,
    /// The payload as JSON.
    pub payload: String,
    /// The hash of the state after the event.
    pub state_hash: HexHash,
}

/// A generated run.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The workflow as JSON.
    pub workflow: String,
    /// Its graph.
    pub dag: Arc<Dag>,
    /// The events, from RunCreated on.
    pub events: Vec<SampleEvent>,
}

impl SampleEvent {
    /// The decoded event.
    pub fn event(&self) -> Event<'_> {
        let payload = Payload::parse(self.kind, &self.payload, &mut Nesting::default()).unwrap();
        let node = self.node.as_deref().map(Text::from_plain);
        Event { time: self.time, node, parent: self.parent, payload }
    }
}

impl Sample {
    /// Generates a run.
    pub fn new(options: SampleOptions) -> Self {
        let mut chance = Chance(options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
        let workflow = workflow(&options, &mut chance);
        let dag = Arc::new(Dag::compile(&workflow).unwrap());
        let walk = Walk::new(options, dag.clone(), chance);
        Sample { workflow, dag, events: walk.events() }
    }

    /// The state after the first `count` events.
    pub fn state_after(&self, count: usize) -> State {
        let mut state = State::new(self.dag.clone());
        for event in &self.events[..count] {
            state.apply(&event.event()).unwrap();
        }
        state
    }
}

/// A small pseudo-random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// A random number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }

    /// Returns true with this probability, in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        (self.below(100) as u64) < percent
    }

    /// A random element of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

const CAPABILITIES: [&str; 3] = ["gpu", "net", "\"odd\" é"];
const TOOLS: [&str; 4] = ["web_fetch", "read_file", "sh \"x\"", "search"];

fn node_id(options: &SampleOptions, index: usize) -> String {
    let odd = ["\"q\"", "line\nfeed", "ü#7", "a#1", "tab\t\\", "😀"];
    match odd.get(index).filter(|_| options.odd_ids) {
        Some(id) => (*id).to_owned(),
        None => format!("node-{index:05}"),
    }
}

fn workflow(options: &SampleOptions, chance: &mut Chance) -> String {
    let node = |index: usize| {
        let count = if index == 0 { 0 } else { chance.below(4).min(index) };
        let depends_on: Vec<_> = (0..count).map(|_| node_id(options, index - 1 - chance.below(index.min(8)))).collect();
        let mut node = json!({ "id": node_id(options, index), "kind": "task", "dependsOn": depends_on });
        if chance.percent(40) {
            node["capabilities"] = json!([chance.pick(&CAPABILITIES), chance.pick(&CAPABILITIES)]);
        }
        if chance.percent(30) {
            node["tool"] = json!(chance.pick(&TOOLS));
        }
        node
    };
    let nodes: Vec<Value> = (0..options.nodes).map(node).collect();
    json!({ "name": "sample", "version": "1.0.0", "nodes": nodes }).to_string()
}

/// Options of small runs of all sorts, for property tests.
pub fn any_options() -> impl proptest::strategy::Strategy<Value = SampleOptions> {
    use proptest::prelude::*;
    let schedulers = [Scheduler::RoundRobin, Scheduler::LeastLoaded, Scheduler::External];
    (
        any::<u64>(),
        0usize..12,
        1usize..5,
        0usize..3,
        2usize..200,
        any::<bool>(),
        prop_oneof![Just(0u64), Just(20), Just(50)],
    )
        .prop_map(move |(seed, nodes, workers, scheduler, max_events, odd_ids, trouble)| SampleOptions {
            seed,
            nodes,
            workers,
            scheduler: schedulers[scheduler],
            max_events,
            odd_ids,
            trouble,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::state::TaskStatus;

    #[test]
    fn samples_hold_every_kind_and_end_in_both_ways() {
        let mut kinds = std::collections::HashSet::new();
        let mut tasks = std::collections::HashSet::new();
        for seed in 0..40 {
            let sample = Sample::new(SampleOptions { seed, max_events: 5000, ..SampleOptions::default() });
            kinds.extend(sample.events.iter().map(|event| event.kind));
            tasks.extend(sample.state_after(sample.events.len()).tasks().iter().map(|(_, task)| task.status));
        }
        assert_eq!(kinds.len(), Kind::ALL.len());
        assert!(tasks.contains(&TaskStatus::Done) && tasks.contains(&TaskStatus::Failed));
    }

    #[test]
    fn a_sample_is_a_function_of_its_options() {
        let [one, other] = [7, 7].map(|seed| Sample::new(SampleOptions { seed, ..SampleOptions::default() }));
        assert_eq!(format!("{:?}", one.events), format!("{:?}", other.events));
    }

    #[test]
    fn a_sample_can_be_large() {
        let options = SampleOptions { nodes: 2000, max_events: 100_000, trouble: 5, ..SampleOptions::default() };
        let sample = Sample::new(options);
        assert!(sample.events.len() > 10_000);
        assert!(sample.state_after(sample.events.len()).run().unwrap().status.is_end());
    }
}
