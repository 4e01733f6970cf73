//! Export: a run or a session becomes a bundle, whole or not at all.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use twox_hash::XxHash3_128;

use super::archive::{Compression, tar_bytes};
use super::checksums;
use super::container::{read_failed, read_up_to};
use super::error::{BundleCode, BundleError};
pub use super::info::BundleInfo;
use super::limits::Limits;
use super::manifest::Manifest;
use super::path::{BundlePath, CHECKSUMS, MANIFEST, METADATA, REDACTIONS, SIGNATURE};
use super::planned_file::{ByteSource, PlannedFile, changed};
use super::redact::leak_check::LeakCheck;
use super::redact::staging::Staging;
use super::redact::{RedactOptions, RuleSet, redact};
use super::signed;
use super::sink::{Finished, Sink};
use super::source::{ExportFrom, ExportPlan, ExportSource, plan};
use super::watch::{JobWatch, Progress};
use crate::disk::parent::parent;
use crate::signature::SigningKey;

/// zstd's level where the caller names none. Of a run's log most is hashes, of which a higher level makes nothing smaller but the
/// throughput; of a session it takes a twentieth off.
pub const DEFAULT_LEVEL: i32 = 1;

/// How much is written at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// How a source is exported.
pub struct ExportOptions {
    /// Where the bundle begins.
    pub from: ExportFrom,
    /// The key that signs the manifest. `None`: it is not signed.
    pub key: Option<SigningKey>,
    /// zstd's level for an archive, 1 to 22. None: [`DEFAULT_LEVEL`].
    pub level: Option<i32>,
    /// What no bundle may exceed. A source that would is not exported, since no reader would take the bundle.
    pub limits: Limits,
    /// What is redacted. None: nothing. Unless told otherwise, what the built-in rules hit.
    pub redact: Option<RedactOptions>,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let redact = Some(RedactOptions::default());
        ExportOptions { from: ExportFrom::default(), key: None, level: None, limits: Limits::default(), redact }
    }
}

impl fmt::Debug for ExportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs = self.key.is_some();
        f.debug_struct("ExportOptions")
            .field("from", &self.from)
            .field("signs", &signs)
            .field("level", &self.level)
            .field("redact", &self.redact)
            .finish()
    }
}

/// Exports `source` to `destination`: an archive if that ends in `.tar.zst`, else a directory.
///
/// The bundle is a function of the source, the options and this release. On an error or a cancellation there is nothing at the
/// destination that was not there before, nor beside it.
pub fn export(
    source: &Path,
    destination: &Path,
    options: &ExportOptions,
    watch: &mut JobWatch<'_>,
) -> Result<BundleInfo, BundleError> {
    let level = options.level.unwrap_or(DEFAULT_LEVEL);
    if !(1..=22).contains(&level) {
        let message = format!("The level of compression must be from 1 to 22, and is {level}");
        return Err(BundleError::new(BundleCode::InvalidOption, message));
    }
    // Before anything is read, so that a wrong option fails at once.
    let rules = options.redact.as_ref().map(RuleSet::new).transpose()?;
    let compression = Compression::new(level);
    drop(Sink::new(destination, compression, 0)?);
    let source = ExportSource::open(source, &options.limits, watch)?;
    let prefilter = rules.as_ref().and_then(RuleSet::prefilter);
    let mut plan = plan(&source, &options.from, prefilter, &options.limits, watch)?;
    let mut leak_check = None;
    if let Some(rules) = &rules {
        (plan, leak_check) = redact(plan, rules, parent(destination), &options.limits, watch)?;
    }
    let total = plan.source_bytes;
    let parts = HashedParts::of(plan, options.key.as_ref())?;
    parts.check(&options.limits)?;
    let tar_bytes = tar_bytes(parts.items.values().map(|item| item.listed.size));
    let mut writer = Writer { meter: Meter::new(total, parts.bytes()), block: vec![0; BLOCK_BYTES], leak_check };
    let mut written = writer.write_all(&parts, Sink::new(destination, compression, tar_bytes)?, watch)?;
    if written.expands_too_much(tar_bytes) {
        // It was written in no time, or it would not: once more, with more blocks.
        drop(written);
        let bounded = Compression { is_bounded: true, ..compression };
        written = writer.write_all(&parts, Sink::new(destination, bounded, tar_bytes)?, watch)?;
    }
    watch.check()?;
    written.commit(tar_bytes, &options.limits)?;
    (watch.progress)(Progress { bytes: total, total, files: parts.items.len() as u64 });
    Ok(BundleInfo::new(destination, &parts.manifest, parts.redactions))
}

/// A bundle that is to be written.
struct HashedParts {
    items: BTreeMap<BundlePath, PlannedFile>,
    manifest: Manifest,
    redactions: u64,
    /// Holds redacted items until they are written.
    _staging: Option<Staging>,
}

impl HashedParts {
    /// Adds the files that only a bundle has.
    fn of(plan: ExportPlan, key: Option<&SigningKey>) -> Result<Self, BundleError> {
        let ExportPlan { kind, mut items, log, partial, metadata, redactions, staging, .. } = plan;
        let add = |items: &mut BTreeMap<_, _>, path: &str, bytes: Vec<u8>| -> Result<(), BundleError> {
            items.insert(BundlePath::parse(path.as_bytes())?, PlannedFile::of_bytes(bytes));
            Ok(())
        };
        add(&mut items, METADATA, metadata.print())?;
        if redactions.count() > 0 {
            add(&mut items, REDACTIONS, redactions.print())?;
        }
        let files = items.iter().map(|(path, item)| (path.as_str().to_owned(), item.listed)).collect();
        let manifest = Manifest { kind, files, log, partial };
        let document = manifest.print();
        add(&mut items, CHECKSUMS, checksums::print(&manifest, &document))?;
        if let Some(key) = key {
            add(&mut items, SIGNATURE, signed::sign(key, &document))?;
        }
        add(&mut items, MANIFEST, document)?;
        Ok(HashedParts { items, manifest, redactions: redactions.count(), _staging: staging })
    }

    fn bytes(&self) -> u64 {
        self.items.values().map(|item| item.listed.size).sum()
    }

    /// Whether a reader with these limits takes it.
    fn check(&self, limits: &Limits) -> Result<(), BundleError> {
        for (path, item) in &self.items {
            limits.check_file(path, item.listed.size)?;
        }
        if self.items.len() as u64 > limits.files {
            let message = format!("The bundle would have {} files, more than {}", self.items.len(), limits.files);
            return Err(BundleError::new(BundleCode::TooManyFiles, message));
        }
        let bytes = self.bytes();
        if bytes > limits.total_bytes {
            let message = format!("The bundle would hold {bytes} bytes, more than {}", limits.total_bytes);
            return Err(BundleError::new(BundleCode::TotalTooLarge, message));
        }
        Ok(())
    }
}

/// How far the second half of an export is.
struct Meter {
    /// How many bytes the source has.
    total: u64,
    /// How many bytes there are to write, and how many were written.
    to_write: u64,
    written: u64,
    told: Progress,
}

impl Meter {
    fn new(total: u64, to_write: u64) -> Self {
        Meter { total, to_write, written: 0, told: Progress { bytes: total / 2, total, files: 0 } }
    }

    /// Begins once more. What was told stays, until there is more.
    fn restart(&mut self) {
        self.written = 0;
    }

    fn add(&mut self, bytes: u64) -> Progress {
        self.written = (self.written + bytes).min(self.to_write);
        let second_half = self.total - self.total / 2;
        let part = u128::from(second_half) * u128::from(self.written) / u128::from(self.to_write.max(1));
        self.told.bytes = self.told.bytes.max(self.total / 2 + part as u64);
        self.told
    }
}

struct Writer {
    meter: Meter,
    block: Vec<u8>,
    /// That nothing is left of what was redacted.
    leak_check: Option<LeakCheck>,
}

impl Writer {
    /// Writes all files of a bundle, from the first.
    fn write_all(
        &mut self,
        parts: &HashedParts,
        mut sink: Sink,
        watch: &mut JobWatch<'_>,
    ) -> Result<Finished, BundleError> {
        self.meter.restart();
        for (number, (path, item)) in parts.items.iter().enumerate() {
            sink.begin(path, item.listed.size)?;
            self.write(path, item, &mut sink, watch)?;
            sink.end()?;
            self.meter.told.files = self.meter.told.files.max(number as u64 + 1);
        }
        sink.finish()
    }

    /// Writes a file, whose bytes must still be those that were hashed. Who changes a source so that its fingerprint stays the same
    /// makes a bundle that does not verify, and nothing else.
    fn write(
        &mut self,
        path: &BundlePath,
        item: &PlannedFile,
        sink: &mut Sink,
        watch: &mut JobWatch<'_>,
    ) -> Result<(), BundleError> {
        let mut input = item.open()?;
        let mut left = item.listed.size;
        let mut fingerprint = XxHash3_128::new();
        if let Some(leak_check) = &mut self.leak_check {
            leak_check.begin(path.as_str())?;
        }
        while left > 0 {
            let wanted = self.block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = read_up_to(&mut *input, &mut self.block[..wanted]).map_err(read_failed)?;
            if count == 0 {
                break;
            }
            left -= count as u64;
            fingerprint.write(&self.block[..count]);
            if let Some(leak_check) = &mut self.leak_check {
                leak_check.update(&self.block[..count])?;
            }
            sink.write(&self.block[..count])?;
            watch.tell(self.meter.add(count as u64))?;
        }
        match &item.origin {
            ByteSource::File(disk, _, known) if left > 0 || fingerprint.finish_128() != *known => Err(changed(disk)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
