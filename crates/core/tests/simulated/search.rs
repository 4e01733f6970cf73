//! Searches the states that a disk may be in after a power cut at any moment, and finds the simplest one that is wrong.

use std::collections::{BTreeSet, HashSet};
use std::iter::empty;
use std::panic::{AssertUnwindSafe, catch_unwind};

use session_tape_core::disk::Durability;

use super::cut::{Cut, Fill, Share, apply_share};
use super::tree::{Op, Tree};

/// Maximum number of operations that are not durable for which every state is tried.
const SHORT: usize = 8;

/// How thoroughly to search.
#[derive(Clone, Copy)]
pub struct Search {
    /// A cut with at most `SHORT` operations that are not durable is tried in all its states, unless there are more states than this.
    pub most_of_short: u64,
    /// Any other cut is tried in this many states, chosen by the seed.
    pub most_states: u64,
    pub seed: u64,
    pub fills: &'static [Fill],
    /// The first cut follows this many operations.
    pub from: usize,
}

impl Search {
    /// Options from the environment variables `CUT_SHORT`, `CUT_STATES` and `CUT_SEED`.
    pub fn from_environment(fills: &'static [Fill]) -> Self {
        let (most_of_short, most_states) = (number("CUT_SHORT", 24), number("CUT_STATES", 16));
        Search { most_of_short, most_states, seed: number("CUT_SEED", 1), fills, from: 0 }
    }
}

#[allow(dead_code)] // Not used by every test that includes this module.
impl Search {
    /// Tries all states of a short cut, unless there are more than `states`.
    pub fn all_of_short(self, states: u64) -> Self {
        Search { most_of_short: self.most_of_short.max(states), ..self }
    }
}

/// Numbers of operations after which a first process ends; `CUT_EVERY` is the step between them.
pub fn lengths(log: &[Op]) -> impl Iterator<Item = usize> + use<> {
    (0..log.len()).step_by(number("CUT_EVERY", 30) as usize)
}

/// The first operations of a log, as a second process finds them. Without `Fsync`, acknowledgements do not count, since they promise nothing here.
pub fn first_life(log: &[Op], length: usize, durability: Durability) -> Vec<Op> {
    let counts = |op: &&Op| durability == Durability::Fsync || !matches!(op, Op::Acknowledge(_));
    log[..length].iter().filter(counts).cloned().collect()
}

/// A number from the environment, or `otherwise`.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Counts of what was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Moments at which the power was cut.
    pub cuts: u64,
    /// Cuts with at most `SHORT` operations that were not durable, and those of them whose states were all tried.
    pub short: u64,
    pub exhausted: u64,
    /// States that differ from each other or in what was acknowledged.
    pub states: u64,
}

impl std::ops::AddAssign for Tried {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.short += other.short;
        self.exhausted += other.exhausted;
        self.states += other.states;
    }
}

/// Pseudorandom numbers from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// Returns an error if a state is wrong, given what was acknowledged.
pub type Judge<'j> = dyn Fn(&Tree, &BTreeSet<u64>) -> Result<(), String> + 'j;

/// Cuts the power after each operation, and judges the states that the disk may be in. The message of an error has the seed, the shortest trace and
/// the smallest loss that reproduce it.
pub fn search(base: &Tree, log: &[Op], options: Search, judge: &Judge<'_>) -> Result<Tried, String> {
    let (mut tried, mut seen) = (Tried::default(), HashSet::new());
    for length in options.from..=log.len() {
        let cut = Cut::after(base, &log[..length]);
        let choices = cut.choices(options.fills);
        let is_short = cut.pending.len() <= SHORT;
        let all = if is_short { States::all(&cut, &choices, &options) } else { None };
        tried.cuts += 1;
        tried.short += u64::from(is_short);
        tried.exhausted += u64::from(all.is_some());
        let numbers = all.unwrap_or_else(|| some(&choices, &options, length));
        for numbers in numbers {
            let shares = shares_at(&choices, &numbers);
            let tree = cut.state(&shares);
            if !seen.insert((tree.fingerprint(empty()), cut.acknowledged.len())) {
                continue;
            }
            tried.states += 1;
            judged(judge, &tree, &cut.acknowledged).map_err(|error| {
                let (shares, error) = shrink(&cut, shares, judge, error);
                report(&cut, &shares, &log[..length], options.seed, &error)
            })?;
        }
    }
    Ok(tried)
}

/// The index of the share of each pending operation.
type Numbers = Vec<u16>;

fn shares_at(choices: &[Vec<Share>], numbers: &[u16]) -> Vec<Share> {
    choices.iter().zip(numbers).map(|(shares, number)| shares[usize::from(*number)].clone()).collect()
}

/// All distinct states, found operation by operation: shares that leave the same disk, as far as it can still be reached, are followed by the same
/// states.
struct States<'c> {
    cut: &'c Cut,
    choices: &'c [Vec<Share>],
    options: &'c Search,
    /// For each number of operations, the fingerprints of the disks found.
    seen: Vec<HashSet<u64>>,
    found: Vec<Numbers>,
}

impl<'c> States<'c> {
    /// `None` if there are more states than are wanted.
    fn all(cut: &'c Cut, choices: &'c [Vec<Share>], options: &'c Search) -> Option<Vec<Numbers>> {
        let seen = vec![HashSet::new(); choices.len()];
        let mut states = States { cut, choices, options, seen, found: Vec::new() };
        states.extend(cut.durable(), &mut Vec::new()).then_some(states.found)
    }

    /// Returns `false` if there are too many states.
    fn extend(&mut self, tree: &Tree, numbers: &mut Numbers) -> bool {
        let at = numbers.len();
        let Some(shares) = self.choices.get(at) else {
            self.found.push(numbers.clone());
            return self.found.len() as u64 <= self.options.most_of_short;
        };
        for (number, share) in (0..).zip(shares) {
            let mut next = tree.clone();
            apply_share(&mut next, &self.cut.pending[at], share);
            let named = self.cut.pending[at + 1..].iter().filter_map(Op::named);
            if self.seen[at].insert(next.fingerprint(named)) {
                numbers.push(number);
                let goes_on = self.extend(&next, numbers);
                numbers.pop();
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }
}

/// The states with all pending operations and with none, and others chosen by the seed.
fn some(choices: &[Vec<Share>], options: &Search, length: usize) -> Vec<Numbers> {
    let mut random = Random::new(options.seed ^ (length as u64) << 32);
    let mut pick = |shares: &Vec<Share>| random.below(shares.len() as u64) as u16;
    let picked = (2..options.most_states).map(|_| choices.iter().map(&mut pick).collect()).collect::<Vec<_>>();
    [0, 1].into_iter().map(|number| vec![number; choices.len()]).chain(picked).collect()
}

/// Calls `judge`; a panic counts as an error.
pub fn judged(judge: &Judge<'_>, tree: &Tree, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| judge(tree, acknowledged))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// Simplifies shares to `Whole`, or else to `Nothing`, as long as the state stays wrong. As much as possible has then reached the disk.
fn shrink(cut: &Cut, mut shares: Vec<Share>, judge: &Judge<'_>, mut error: String) -> (Vec<Share>, String) {
    for at in 0..shares.len() {
        for simpler in [Share::Whole, Share::Nothing] {
            if shares[at] == simpler {
                break;
            }
            let before = std::mem::replace(&mut shares[at], simpler);
            match judged(judge, &cut.state(&shares), &cut.acknowledged) {
                Err(still) => {
                    error = still;
                    break;
                }
                Ok(()) => shares[at] = before,
            }
        }
    }
    (shares, error)
}

fn report(cut: &Cut, shares: &[Share], log: &[Op], seed: u64, error: &str) -> String {
    let trace: String = log.iter().map(|op| format!("  {}\n", brief(op))).collect();
    let missing = cut.pending.iter().zip(shares).filter(|(_, share)| **share != Share::Whole);
    let missing: String = missing.map(|(op, share)| format!("  {share:?} of {}\n", brief(op))).collect();
    let (acknowledged, length) = (&cut.acknowledged, log.len());
    format!(
        "{error}\nseed {seed}; acknowledged {acknowledged:?}; the power was cut after {length} operations:\n{trace}of which there was\n{missing}"
    )
}

fn brief(op: &Op) -> String {
    match op {
        Op::Write { inode, offset, bytes, .. } => format!("Write {} bytes at {offset} of inode {inode}", bytes.len()),
        other => format!("{other:?}"),
    }
}
