//! What a disk may have after a power cut: everything that was synced, and all, nothing or a part of each other operation.
//!
//! A write reaches the disk by sectors, in any order. The new size may be there without the new bytes. Where those are missing, the file then has
//! zeros or, on disks that show previous content, garbage.

use std::collections::BTreeSet;

use super::tree::{Op, Tree};

pub const SECTOR: usize = 512;

/// Maximum number of sectors of a write that is torn in every possible way; longer writes are torn in each kind of way.
const ALL_WAYS_SECTORS: usize = 3;

/// How much of an operation has reached the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    Whole,
    Nothing,
    /// The first sectors of a write, and the size up to there.
    Prefix(usize),
    /// The size of a write, and those of its sectors that are `true`.
    Sectors(Vec<bool>, Fill),
}

/// The content of a sector that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    Zeros,
    Garbage,
}

/// A disk at the moment of a power cut.
#[derive(Clone)]
pub struct Cut {
    durable: Tree,
    /// The operations that are not durable, in the order in which they were issued.
    pub pending: Vec<Op>,
    /// What the program had acknowledged.
    pub acknowledged: BTreeSet<u64>,
}

impl Cut {
    /// A power cut after these operations, on a disk on which all of `base` was durable.
    pub fn after(base: &Tree, log: &[Op]) -> Self {
        let mut cut = Cut { durable: base.clone(), pending: Vec::new(), acknowledged: BTreeSet::new() };
        // The operations that no later sync makes durable, because a sync of them has failed.
        let mut lost: Vec<bool> = Vec::new();
        let mut cache = base.clone();
        for op in log {
            cache.add_inode(op);
            cache.apply(op);
            match op {
                Op::Sync { inode } => cut.make_durable(|op| op.is_synced_by(*inode), &mut lost),
                Op::SyncFileSystem => cut.make_durable(|_| true, &mut lost),
                Op::FailedSync { inode } => {
                    for (op, lost) in cut.pending.iter().zip(&mut lost) {
                        *lost |= op.is_synced_by(*inode);
                    }
                }
                Op::Acknowledge(what) => drop(cut.acknowledged.insert(*what)),
                _ => {
                    cut.durable.add_inode(op);
                    cut.pending.push(of_whole_sectors(op, &mut cache));
                    lost.push(false);
                }
            }
        }
        cut
    }

    fn make_durable(&mut self, is_synced: impl Fn(&Op) -> bool, lost: &mut Vec<bool>) {
        let mut waiting = (Vec::new(), Vec::new());
        for (op, is_lost) in std::mem::take(&mut self.pending).into_iter().zip(lost.drain(..)) {
            if is_synced(&op) && !is_lost {
                self.durable.apply(&op);
            } else {
                waiting.0.push(op);
                waiting.1.push(is_lost);
            }
        }
        (self.pending, *lost) = waiting;
    }

    /// The disk with these shares of the pending operations.
    pub fn state(&self, shares: &[Share]) -> Tree {
        let mut tree = self.durable.clone();
        self.pending.iter().zip(shares).for_each(|(op, share)| apply_share(&mut tree, op, share));
        tree
    }

    /// The disk without any pending operation.
    pub fn durable(&self) -> &Tree {
        &self.durable
    }

    /// For each pending operation, the shares of it that may have reached the disk.
    pub fn choices(&self, fills: &[Fill]) -> Vec<Vec<Share>> {
        self.pending.iter().map(|op| shares_of(op, fills)).collect()
    }
}

/// Applies a share of an operation to a disk.
pub fn apply_share(tree: &mut Tree, op: &Op, share: &Share) {
    match (share, op) {
        (Share::Nothing, _) => {}
        (Share::Whole, _) => tree.apply(op),
        (_, Op::Write { inode, offset, bytes, at }) => {
            let (content, modified) = tree.file(*inode);
            write_share(content, *offset, bytes, share);
            *modified = *at;
        }
        (Share::Prefix(_) | Share::Sectors(..), _) => panic!("{op:?} can't be there in part"),
    }
}

/// Extends a write to whole sectors, as the kernel has them: with the changes of earlier writes.
fn of_whole_sectors(op: &Op, cache: &mut Tree) -> Op {
    let Op::Write { inode, offset, bytes, at } = op else { return op.clone() };
    let (content, _) = cache.file(*inode);
    let begin = offset / SECTOR * SECTOR;
    let end = (offset + bytes.len()).next_multiple_of(SECTOR).min(content.len());
    Op::Write { inode: *inode, offset: begin, bytes: content[begin..end].to_vec(), at: *at }
}

/// The range of bytes of each sector that a write touches.
fn sectors(offset: usize, length: usize) -> Vec<std::ops::Range<usize>> {
    let end = offset + length;
    let first_end = (offset / SECTOR + 1) * SECTOR;
    let ends = (first_end..end).step_by(SECTOR).chain([end]);
    ends.scan(offset, |begin, end| Some(std::mem::replace(begin, end)..end)).collect()
}

fn write_share(content: &mut Vec<u8>, offset: usize, bytes: &[u8], share: &Share) {
    let sectors = sectors(offset, bytes.len());
    let (is_there, fill): (Vec<bool>, _) = match share {
        Share::Prefix(count) => (vec![true; *count], Fill::Zeros),
        Share::Sectors(is_there, fill) => (is_there.clone(), *fill),
        Share::Whole | Share::Nothing => panic!("no part"),
    };
    for (sector, is_there) in sectors.iter().zip(&is_there) {
        if *is_there {
            if content.len() < sector.end {
                content.resize(sector.end, 0);
            }
            content[sector.clone()].copy_from_slice(&bytes[sector.start - offset..sector.end - offset]);
        } else {
            // Previous content stays.
            while content.len() < sector.end {
                content.push(filling(fill, content.len()));
            }
        }
    }
}

fn filling(fill: Fill, at: usize) -> u8 {
    match fill {
        Fill::Zeros => 0,
        // With newlines and quotes, as left by a text file.
        Fill::Garbage => match (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56 {
            0..16 => b'\n',
            16..40 => b'"',
            byte => byte as u8,
        },
    }
}

fn shares_of(op: &Op, fills: &[Fill]) -> Vec<Share> {
    let mut shares = vec![Share::Whole, Share::Nothing];
    let Op::Write { offset, bytes, .. } = op else { return shares };
    let count = sectors(*offset, bytes.len()).len();
    let masks: Vec<Vec<bool>> = if count <= ALL_WAYS_SECTORS {
        shares.extend((1..count).map(Share::Prefix));
        (0..(1 << count) - 1).map(|bits: u32| (0..count).map(|at| bits >> at & 1 == 1).collect()).collect()
    } else {
        shares.extend([1, count / 2, count - 1].map(Share::Prefix));
        let missing: [&dyn Fn(usize) -> bool; 6] =
            [&|_| true, &|at| at == 0, &|at| at == count / 2, &|at| at == count - 1, &|at| at > count / 2, &|at| {
                at % 2 == 0
            }];
        missing.iter().map(|missing| (0..count).map(|at| !missing(at)).collect()).collect()
    };
    for fill in fills {
        shares.extend(masks.iter().map(|mask| Share::Sectors(mask.clone(), *fill)));
    }
    shares
}
