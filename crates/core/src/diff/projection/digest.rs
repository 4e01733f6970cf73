//! A digest of an event as it is compared. Values that are equal by [`equal`](super::equal) have equal digests; other values have different
//! ones, except for a collision of 128 bits.
//!
//! The references of an event are not part of the digest but are listed separately, in a fixed order. So the digest does not depend on earlier
//! events of the log.

use twox_hash::XxHash3_128;

use super::equal::{number, set, unheld_integer};
use super::mark::{Mark, Reference, Tree};
use crate::json::{Index, ROOT, Shape};

/// Distinguish the types of values: a tag is combined with the hash of the value's own bytes.
mod tag {
    pub(crate) const DROPPED: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834;
    pub(crate) const REFERENCE: u128 = 0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb;
    pub(crate) const SET: u128 = 0xd6e8_feb8_6659_fd93_a076_1d64_78bd_642f;
    pub(crate) const NULL: u128 = 0xe703_7ed1_a0b4_28db_8ebc_6af0_9c88_c6e3;
    pub(crate) const TRUE: u128 = 0x5899_65cc_7537_4cc3_1d8e_4e27_c47d_124f;
    pub(crate) const FALSE: u128 = 0xeb44_acca_b455_d165_2e58_1ae7_2cd2_9d4b;
    pub(crate) const NUMBER: u128 = 0xc2b2_ae3d_27d4_eb4f_1656_67b1_9e37_79f9;
    pub(crate) const INTEGER: u128 = 0x94d0_49bb_1331_11eb_9e37_79b9_7f4a_7c16;
    pub(crate) const STRING: u128 = 0x27d4_eb2f_1656_67c5_85eb_ca6b_c2b2_ae35;
    pub(crate) const ARRAY: u128 = 0xff51_afd7_ed55_8ccd_c4ce_b9fe_1a85_ec53;
    pub(crate) const OBJECT: u128 = 0x2545_f491_4f6c_dd1d_6c62_272e_07bb_0142;
}

/// Computes digests. Reuses its buffers.
#[derive(Default)]
pub(crate) struct Digester {
    digests: Vec<u128>,
    bytes: Vec<u8>,
}

impl Digester {
    /// The digest of everything that counts. Appends the references in the value to `references`, ordered by the keys and indices of the paths
    /// to them.
    pub(crate) fn digest(&mut self, tree: &Tree<'_>, references: &mut Vec<Option<Reference>>) -> u128 {
        self.digests.clear();
        self.digests.resize(tree.count(), 0);
        let mut has_references = false;
        // Children come after their container, so they are done first.
        for index in (0..tree.count() as Index).rev() {
            has_references |= matches!(tree.mark(index), Mark::Refers(_));
            self.digests[index as usize] = self.digest_of(tree, index);
        }
        if has_references {
            list_references(tree, references);
        }
        self.digests.first().copied().unwrap_or_default()
    }

    /// The digest of a value whose children have theirs.
    fn digest_of(&mut self, tree: &Tree<'_>, index: Index) -> u128 {
        match (tree.mark(index), tree.shape(index)) {
            (Mark::Dropped, _) => tag::DROPPED,
            (Mark::Refers(_), _) => tag::REFERENCE,
            (Mark::Set, _) => self.set(tree, index),
            (_, Shape::Null) => tag::NULL,
            (_, Shape::True) => tag::TRUE,
            (_, Shape::False) => tag::FALSE,
            (_, Shape::Number) => number_digest(tree.text(index)),
            (_, Shape::String) => tree.string(index).map_or(0, |text| hash(text.as_json().as_bytes())) ^ tag::STRING,
            (_, Shape::Array) => self.array(tree, index),
            (_, Shape::Object) => self.object(tree, index),
        }
    }

    fn array(&mut self, tree: &Tree<'_>, index: Index) -> u128 {
        self.bytes.clear();
        // A dropped element keeps its index, unless only dropped elements follow.
        let mut end = 0;
        for child in tree.children(index) {
            self.bytes.extend(self.digests[child as usize].to_le_bytes());
            if tree.mark(child) != Mark::Dropped {
                end = self.bytes.len();
            }
        }
        hash(&self.bytes[..end]) ^ tag::ARRAY
    }

    /// Sums the hashes of the members, so that their order does not matter.
    fn object(&mut self, tree: &Tree<'_>, index: Index) -> u128 {
        let (mut sum, mut count) = (0_u128, 0_u64);
        for member in tree.members(index) {
            let mut pair = [0; 32];
            pair[..16].copy_from_slice(&hash(tree.key(member).as_json().as_bytes()).to_le_bytes());
            pair[16..].copy_from_slice(&self.digests[member as usize].to_le_bytes());
            sum = sum.wrapping_add(hash(&pair));
            count += 1;
        }
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&sum.to_le_bytes());
        bytes[16..].copy_from_slice(&count.to_le_bytes());
        hash(&bytes) ^ tag::OBJECT
    }

    fn set(&mut self, tree: &Tree<'_>, index: Index) -> u128 {
        self.bytes.clear();
        for element in set(tree, index) {
            self.bytes.extend((element.as_json().len() as u64).to_le_bytes());
            self.bytes.extend_from_slice(element.as_json().as_bytes());
        }
        hash(&self.bytes) ^ tag::SET
    }
}

fn number_digest(json: &str) -> u128 {
    match unheld_integer(json) {
        Some(digits) => hash(digits.as_bytes()) ^ tag::INTEGER,
        // Adding zero turns minus zero into zero.
        None => hash(&(number(json) + 0.0).to_bits().to_le_bytes()) ^ tag::NUMBER,
    }
}

/// The digest of bytes.
pub(crate) fn hash(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

/// Combines a digest with the places of the event's references.
pub(crate) fn with_references(digest: u128, references: impl ExactSizeIterator<Item = Option<Reference>>) -> u128 {
    if references.len() == 0 {
        return digest;
    }
    let mut bytes = digest.to_le_bytes().to_vec();
    for reference in references {
        match reference {
            Some(Reference { place, part }) => {
                bytes.push(1);
                bytes.extend(place.to_le_bytes());
                bytes.extend(part.to_le_bytes());
            }
            None => bytes.push(0),
        }
    }
    hash(&bytes)
}

/// Visits only containers of references, so the order of other keys and elements does not matter.
fn list_references(tree: &Tree<'_>, references: &mut Vec<Option<Reference>>) {
    let refers = |index: &Index| matches!(tree.mark(*index), Mark::Refers(_));
    let referring: Vec<Index> = (0..tree.count() as Index).filter(refers).collect();
    let mut open = vec![ROOT];
    while let Some(index) = open.pop() {
        match tree.mark(index) {
            Mark::Refers(reference) => references.push(reference),
            Mark::Plain => {
                let leads_there = |&member: &Index| {
                    let next = referring.partition_point(|&at| at < member);
                    referring.get(next).is_some_and(|&at| tree.holds(member, at))
                };
                let mut members: Vec<Index> = tree.members(index).filter(leads_there).collect();
                match tree.shape(index) {
                    Shape::Object if members.len() > 1 => {
                        members.sort_by_cached_key(|&member| std::cmp::Reverse(tree.key(member).into_owned()));
                    }
                    _ => members.reverse(),
                }
                open.extend(members);
            }
            Mark::Dropped | Mark::Set => {}
        }
    }
}

#[cfg(test)]
mod tests;
