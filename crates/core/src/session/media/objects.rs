//! The objects that the references of a session name, each once, and whether a store has them.

use std::collections::BTreeMap;
use std::path::Path;

use super::record::RecordReferences;
use super::store::{MediaStore, Object};
use super::walk::{Reference, could_have_reference, references_of};
use crate::disk::OsError;
use crate::hash::{Hash, as_text, to_hex};
use crate::lines::ReadError;
use crate::session::read::{RecordOptions, RecordReader};

/// The objects that the references of a session name.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedObjects {
    /// The first line that names an object of this many bytes, by hash and number of bytes. Two sizes of one object are possible: one of them is wrong.
    lines: BTreeMap<(Hash, u64), u64>,
}

/// An object that references name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub hash: Hash,
    /// The number of its bytes, as the first reference says.
    pub bytes: u64,
    /// The line of that reference.
    pub line: u64,
    /// The line of a reference that says another number.
    pub contradicted: Option<u64>,
}

impl NamedObjects {
    /// Adds those of the line with this number, given without its ending.
    pub(crate) fn add_line(&mut self, number: u64, line: &[u8]) {
        let record = RecordReferences::of_line(line);
        self.add(number, record.into_iter().flat_map(|record| objects_of(record.references)));
    }

    /// Adds these, which the line with this number names: hash and number of bytes of each.
    pub(crate) fn add(&mut self, number: u64, objects: impl IntoIterator<Item = (Hash, u64)>) {
        for object in objects {
            self.lines.entry(object).or_insert(number);
        }
    }

    /// An upper bound of their number, in constant time.
    pub(crate) fn most(&self) -> usize {
        self.lines.len()
    }

    /// Each object once, in the order of their hashes.
    pub(crate) fn each(&self) -> impl Iterator<Item = Named> + '_ {
        let mut rest = self.lines.iter().map(|((hash, bytes), line)| (*hash, *bytes, *line)).peekable();
        std::iter::from_fn(move || {
            let (hash, mut bytes, mut line) = rest.next()?;
            let mut contradicted = None;
            while let Some((_, other_bytes, other)) = rest.next_if(|(next, ..)| *next == hash) {
                contradicted = contradicted.max(Some(line.max(other)));
                if other < line {
                    (bytes, line) = (other_bytes, other);
                }
            }
            Some(Named { hash, bytes, line, contradicted })
        })
    }
}

/// What the references in a JSON text name: hash and number of bytes of each object.
pub(crate) fn objects_in(json: &[u8]) -> impl Iterator<Item = (Hash, u64)> {
    objects_of(if could_have_reference(json) { references_of(json) } else { Vec::new() })
}

fn objects_of(references: Vec<Reference<'_>>) -> impl Iterator<Item = (Hash, u64)> {
    let objects = references.into_iter().flat_map(|reference| [reference.original, reference.selected]);
    objects.map(|object| (object.hash(), object.byte_length()))
}

/// The id of an object.
pub(crate) fn id_of(hash: &Hash) -> String {
    format!("sha256:{}", as_text(&to_hex(hash)))
}

/// The objects of a session, each once, by whether the store has them as the references say.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    /// How many are there.
    pub present: u64,
    /// The ids of those that are not there.
    pub missing: Vec<String>,
    /// The ids of those of another size or with other bytes.
    pub corrupt: Vec<String>,
}

/// Checks every object that the references of the session at `path` name, by its hash.
pub fn check_media(path: &Path, store: &MediaStore) -> Result<Checked, ReadError> {
    let mut named = NamedObjects::default();
    let mut reader = RecordReader::open(path, RecordOptions::default())?;
    while reader.read(&mut |line| {
        line.json.into_iter().for_each(|json| named.add_line(line.number, json));
        true
    })? {}
    let mut checked = Checked::default();
    for object in named.each() {
        match store.check(&object).map_err(system)? {
            Object::Present(_) => checked.present += 1,
            Object::Missing => checked.missing.push(id_of(&object.hash)),
            Object::Corrupt => checked.corrupt.push(id_of(&object.hash)),
        }
    }
    Ok(checked)
}

fn system(error: OsError) -> ReadError {
    ReadError::System(error)
}
