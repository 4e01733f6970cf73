//! Checks rows against the bytes that they came from.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBuilder, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use session_tape_core::{LineSource, Recording};
use sha2::{Digest, Sha256};

use crate::convert::CANCELLED;
use crate::input::{is_archive, is_archive_name, log_of};
use crate::source_name::{path_of, split_conversation};
use session_tape_core::Cancellation;

/// The columns that verification needs.
pub const COLUMNS: [&str; 4] = ["source", "byte_offset", "byte_length", "line_sha256"];

/// Maximum number of files that are kept open.
const MAX_OPEN: usize = 64;

/// Verifies rows of `events`.
pub struct Verifier {
    cancelled: Cancellation,
    open: HashMap<String, Option<OpenedSource>>,
}

struct OpenedSource {
    lines: LineSource,
    /// Keeps the unpacked files of a bundle.
    _recording: Option<Recording>,
}

impl Verifier {
    /// Creates a verifier that ends once `cancelled` is set.
    pub fn new(cancelled: Cancellation) -> Self {
        Verifier { cancelled, open: HashMap::new() }
    }

    /// Appends for each row whether its bytes have its hash. Null for a row in which one of the `COLUMNS` is null.
    pub fn verify(&mut self, batch: &RecordBatch, verified: &mut BooleanBuilder) -> Result<(), String> {
        let [source, offset, length, hash] = columns_of(batch)?;
        let (source, hash) = (source.as_string::<i32>(), hash.as_binary::<i64>());
        let (offset, length) = (offset.as_primitive::<Int64Type>(), length.as_primitive::<Int64Type>());
        for row in 0..batch.num_rows() {
            if self.cancelled.is_cancelled() {
                return Err(CANCELLED.to_owned());
            }
            let is_known = [source as &dyn Array, offset, length, hash].iter().all(|column| column.is_valid(row));
            verified.append_option(
                is_known
                    .then(|| self.has_hash(source.value(row), offset.value(row), length.value(row), hash.value(row))),
            );
        }
        Ok(())
    }

    fn has_hash(&mut self, source: &str, offset: i64, length: i64, hash: &[u8]) -> bool {
        let (Ok(mut at), Ok(mut rest)) = (u64::try_from(offset), u64::try_from(length)) else { return false };
        if !self.open.contains_key(source) {
            if self.open.len() >= MAX_OPEN {
                self.open.clear();
            }
            self.open.insert(source.to_owned(), open(&path_of(source), &self.cancelled));
        }
        let Some(Some(opened)) = self.open.get(source) else { return false };
        // Nothing is read of an empty line, but it must be in the file: at least its line ending is.
        if at >= opened.lines.size() {
            return false;
        }
        let (mut hasher, mut buffer) = (Sha256::new(), [0; 16 << 10]);
        while rest > 0 {
            let wanted = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
            match opened.lines.read_at(&mut buffer[..wanted], at) {
                Ok(count) if count > 0 => {
                    hasher.update(&buffer[..count]);
                    at += count as u64;
                    rest -= count as u64;
                }
                _ => return false,
            }
        }
        hasher.finalize()[..] == *hash
    }
}

fn open(path: &Path, cancelled: &Cancellation) -> Option<OpenedSource> {
    let opened = LineSource::open(path).ok().or_else(|| LineSource::open(&split_conversation(path)?.0).ok());
    let lines = opened.filter(|lines| !is_archive(lines));
    if let Some(lines) = lines.filter(|_| !is_archive_name(path)) {
        return Some(OpenedSource { lines, _recording: None });
    }
    let recording = Recording::open(path, cancelled).ok()?;
    let lines = LineSource::open(log_of(&recording)).ok()?;
    Some(OpenedSource { lines, _recording: Some(recording) })
}

fn columns_of(batch: &RecordBatch) -> Result<[ArrayRef; 4], String> {
    let types = [DataType::Utf8, DataType::Int64, DataType::Int64, DataType::LargeBinary];
    let column = |at: usize| {
        let found =
            batch.column_by_name(COLUMNS[at]).ok_or_else(|| format!("table has no column '{}'", COLUMNS[at]))?;
        cast(found, &types[at]).map_err(|_| format!("the column '{}' of table is {}", COLUMNS[at], found.data_type()))
    };
    Ok([column(0)?, column(1)?, column(2)?, column(3)?])
}
