//! Goes through the states that a disk may show after a cut at any moment, and finds the simplest one that is wrong.

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::cut::{Cut, Fill, Share};
use super::tree::{Op, Tree};

/// With no more operations that are not durable, every state is tried.
const SHORT: usize = 8;

/// How thoroughly to search.
#[derive(Clone, Copy)]
pub struct Search {
    /// For a cut with more states so many of them are tried, chosen by the seed.
    pub most_states: u64,
    pub seed: u64,
    pub fills: &'static [Fill],
    /// The first cut is after so many operations.
    pub from: usize,
}

impl Search {
    /// As `CUT_STATES` and `CUT_SEED` say.
    pub fn from_environment(fills: &'static [Fill]) -> Self {
        Search { most_states: number("CUT_STATES", 16), seed: number("CUT_SEED", 1), fills, from: 0 }
    }
}

#[allow(dead_code)] // Not every test that has this module has states so few.
impl Search {
    /// With at least so many states of each cut.
    pub fn of_at_least(self, states: u64) -> Self {
        Search { most_states: self.most_states.max(states), ..self }
    }
}

/// After how many operations a first process ends: `CUT_EVERY` says how many lie between two such lengths.
pub fn lengths(log: &[Op]) -> impl Iterator<Item = usize> + use<> {
    (0..log.len()).step_by(number("CUT_EVERY", 30) as usize)
}

/// A number from the environment.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// How much was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Moments at which the power was cut.
    pub cuts: u64,
    /// Those of which all states were tried.
    pub exhausted: u64,
    /// States that differ from each other or in what was acknowledged.
    pub states: u64,
}

impl std::ops::AddAssign for Tried {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.exhausted += other.exhausted;
        self.states += other.states;
    }
}

/// Numbers that follow from a seed.
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

/// Whether a state is as it should be, given what was acknowledged.
pub type Judge<'j> = dyn Fn(&Tree, &BTreeSet<u64>) -> Result<(), String> + 'j;

/// Cuts the power after each operation and judges what the disk may show. The message of an error has the seed, and the shortest
/// trace and the smallest loss that show it.
pub fn search(base: &Tree, log: &[Op], options: Search, judge: &Judge<'_>) -> Result<Tried, String> {
    let (mut tried, mut seen) = (Tried::default(), HashSet::new());
    for length in options.from..=log.len() {
        let cut = Cut::after(base, &log[..length]);
        let choices = cut.choices(options.fills);
        let count = choices.iter().map(|shares| shares.len() as u64).try_fold(1u64, u64::checked_mul);
        let is_short = cut.pending.len() <= SHORT && count.is_some_and(|count| count <= options.most_states);
        tried.cuts += 1;
        tried.exhausted += u64::from(is_short);
        let mut try_one = |shares: Vec<Share>| -> Result<(), String> {
            let tree = cut.state(&shares);
            if !seen.insert((tree.fingerprint(), cut.acknowledged.len())) {
                return Ok(());
            }
            tried.states += 1;
            judged(judge, &tree, &cut.acknowledged).map_err(|error| {
                let (shares, error) = shrink(&cut, shares, judge, error);
                report(&cut, &shares, &log[..length], options.seed, &error)
            })
        };
        match count {
            Some(count) if is_short => (0..count).try_for_each(|number| try_one(nth(&choices, number)))?,
            _ => {
                let mut random = Random::new(options.seed ^ (length as u64) << 32);
                for number in 0..options.most_states {
                    let pick = |shares: &Vec<Share>| shares[random.below(shares.len() as u64) as usize].clone();
                    try_one(match number {
                        0 => vec![Share::Whole; choices.len()],
                        1 => vec![Share::Nothing; choices.len()],
                        _ => choices.iter().map(pick).collect(),
                    })?;
                }
            }
        }
    }
    Ok(tried)
}

fn nth(choices: &[Vec<Share>], mut number: u64) -> Vec<Share> {
    let pick = |shares: &Vec<Share>| {
        let share = &shares[(number % shares.len() as u64) as usize];
        number /= shares.len() as u64;
        share.clone()
    };
    choices.iter().map(pick).collect()
}

/// A panic is a fault too.
pub fn judged(judge: &Judge<'_>, tree: &Tree, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| judge(tree, acknowledged))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// As much as possible has reached the disk, and the state is wrong all the same.
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
