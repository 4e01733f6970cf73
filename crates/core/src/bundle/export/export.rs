//! Exports a run or a session as a bundle. The destination gets the complete bundle or nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

use super::planned_file::{ByteSource, PlannedFile, source_changed};
use super::sink::{Finished, Sink};
use super::source::{ExportFrom, ExportPlan, ExportSource, plan};
use crate::bundle::format::{
    BundleCode, BundleError, BundleInfo, BundlePath, CHECKSUMS, Limits, MANIFEST, METADATA, Manifest, MediaCounts,
    REDACTIONS, SIGNATURE, checksums, signed,
};
use crate::bundle::read::{Compression, read_failed, tar_bytes};
use crate::bundle::redact::{LeakCheck, RedactOptions, RuleSet, Staging, redact};
use crate::disk::{files, read_up_to};
use crate::order;
use crate::signature::SigningKey;
use crate::task::{Progress, Task};

/// The default zstd level. Higher levels cost throughput. They do not shrink a run's log, which is mostly hashes, and a session hardly.
pub(super) const DEFAULT_LEVEL: i32 = 3;

const BLOCK_BYTES: usize = 256 << 10;

/// Options of an export.
pub struct ExportOptions {
    /// Where the bundle's log begins.
    pub from: ExportFrom,
    /// The key that signs the manifest; `None` for an unsigned bundle.
    pub key: Option<SigningKey>,
    /// The zstd level of an archive, 1 to 22; `None` for [`DEFAULT_LEVEL`].
    pub level: Option<i32>,
    /// The limits of the bundle's readers. The export of a source that exceeds them fails.
    pub limits: Limits,
    /// The redaction rules; `None` to redact nothing. The built-in rules by default.
    pub redact: Option<RedactOptions>,
    /// Whether an archived session that is damaged is exported up to the damage.
    pub allows_damage: bool,
    /// What to do with the objects that a session refers to.
    pub media: MediaPolicy,
    /// The store that has them; `None` for the one beside the session, if there is one.
    pub media_dir: Option<PathBuf>,
}

/// What an export does with the objects that a session refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaPolicy {
    /// Seals all of them. The export fails if one is missing or altered.
    #[default]
    Seal,
    /// Seals those that are there.
    Skip,
    /// Seals none.
    Drop,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let redact = Some(RedactOptions::default());
        ExportOptions {
            from: ExportFrom::default(),
            key: None,
            level: None,
            limits: Limits::default(),
            redact,
            allows_damage: false,
            media: MediaPolicy::default(),
            media_dir: None,
        }
    }
}

/// Exports `source` to `destination`: an archive if the name ends in `.tar.zst`, otherwise a directory.
///
/// The same source, options and release yield the same bytes. An export that fails or is cancelled leaves nothing at the destination or next to it.
pub fn export(
    source: &Path,
    destination: &Path,
    options: &ExportOptions,
    task: &mut Task<'_>,
) -> Result<BundleInfo, BundleError> {
    let level = options.level.unwrap_or(DEFAULT_LEVEL);
    if !(1..=22).contains(&level) {
        let message = format!("The level of compression must be from 1 to 22, and is {level}");
        return Err(BundleError::new(BundleCode::InvalidOption, message));
    }
    // Options and destination are checked before the source is read, so that a mistake fails at once.
    let rules = options.redact.as_ref().map(RuleSet::new).transpose()?;
    let compression = Compression::new(level);
    drop(Sink::new(destination, compression, 0)?);
    let source = ExportSource::open(source, options, task)?;
    let prefilter = rules.as_ref().and_then(RuleSet::prefilter);
    let mut plan = plan(&source, options, rules.is_none(), prefilter, task)?;
    let mut leak_check = None;
    if let Some(rules) = &rules {
        (plan, leak_check) = redact(plan, rules, files::parent(destination), &options.limits, task)?;
    }
    let total = plan.source_bytes;
    let contents = BundleFiles::new(plan, options.key.as_ref())?;
    contents.check(&options.limits)?;
    let tar_bytes = tar_bytes(contents.files.values().map(|file| file.listed.size));
    let progress = Progress { bytes: total / 2, total, ..Progress::default() };
    let (to_write, block) = (contents.bytes(), vec![0; BLOCK_BYTES]);
    let mut writer = Writer { to_write, written: 0, progress, block, leak_check };
    let mut written = writer.write_all(&contents, Sink::new(destination, compression, tar_bytes)?, task)?;
    if written.expands_too_much(tar_bytes) {
        // Readers would refuse the archive: write it again with a bounded ratio. Such repetitive content compresses quickly.
        drop(written);
        let bounded = Compression { is_bounded: true, ..compression };
        written = writer.write_all(&contents, Sink::new(destination, bounded, tar_bytes)?, task)?;
    }
    task.report(Progress { bytes: total, total, files: contents.files.len() as u64, ..Progress::default() })?;
    task.conclude()?;
    written.commit(tar_bytes, &options.limits)?;
    Ok(BundleInfo::new(destination, &contents.manifest, contents.redactions, contents.media))
}

/// Every file of a bundle, ready to be written.
struct BundleFiles {
    files: BTreeMap<BundlePath, PlannedFile>,
    manifest: Manifest,
    redactions: u64,
    media: Option<MediaCounts>,
    /// Holds the redacted files until they are written.
    _staging: Option<Staging>,
}

impl BundleFiles {
    /// Adds metadata, redactions, manifest, checksums and signature to the planned files.
    fn new(plan: ExportPlan, key: Option<&SigningKey>) -> Result<Self, BundleError> {
        let ExportPlan { kind, mut files, log, partial, metadata, redactions, staging, .. } = plan;
        let add = |files: &mut BTreeMap<_, _>, path: &str, bytes: Vec<u8>| -> Result<(), BundleError> {
            files.insert(BundlePath::parse(path.as_bytes())?, PlannedFile::of_bytes(bytes));
            Ok(())
        };
        add(&mut files, METADATA, metadata.print())?;
        if redactions.count() > 0 {
            add(&mut files, REDACTIONS, redactions.print())?;
        }
        let listed = order::map(files.iter().map(|(path, file)| (path.as_str().to_owned(), file.listed)));
        let manifest = Manifest { kind, files: listed, log, partial };
        let document = manifest.print();
        add(&mut files, CHECKSUMS, checksums::print(&manifest, &document))?;
        if let Some(key) = key {
            add(&mut files, SIGNATURE, signed::sign(key, &document))?;
        }
        add(&mut files, MANIFEST, document)?;
        let media = metadata.media;
        Ok(BundleFiles { files, manifest, redactions: redactions.count(), media, _staging: staging })
    }

    fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.listed.size).sum()
    }

    /// Checks that a reader with these limits accepts the bundle.
    fn check(&self, limits: &Limits) -> Result<(), BundleError> {
        for (path, file) in &self.files {
            limits.check_file(path, file.listed.size)?;
        }
        if self.files.len() as u64 > limits.files {
            let message = format!("The bundle would have {} files, more than {}", self.files.len(), limits.files);
            return Err(BundleError::new(BundleCode::TooManyFiles, message));
        }
        limits.check_total(self.bytes())
    }
}

/// Writes the files of a bundle, which is the second half of the work.
struct Writer {
    /// The number of bytes to write, and of those that are written.
    to_write: u64,
    written: u64,
    /// In bytes of the source, of which each half of the work counts half. Does not go back when the files are written again.
    progress: Progress,
    block: Vec<u8>,
    leak_check: Option<LeakCheck>,
}

impl Writer {
    /// Writes all files of a bundle.
    fn write_all(
        &mut self,
        contents: &BundleFiles,
        mut sink: Sink,
        task: &mut Task<'_>,
    ) -> Result<Finished, BundleError> {
        self.written = 0;
        for (number, (path, file)) in contents.files.iter().enumerate() {
            sink.begin(path, file.listed.size)?;
            self.write(path, file, &mut sink, task)?;
            sink.end()?;
            self.progress.files = self.progress.files.max(number as u64 + 1);
        }
        sink.finish()
    }

    /// Writes a file, and fails if its bytes are no longer those that were hashed. The check compares a fast fingerprint: a change
    /// made to keep the fingerprint the same only produces a bundle that does not verify.
    fn write(
        &mut self,
        path: &BundlePath,
        file: &PlannedFile,
        sink: &mut Sink,
        task: &mut Task<'_>,
    ) -> Result<(), BundleError> {
        let mut input = file.open()?;
        let mut left = file.listed.size;
        let mut fingerprint = XxHash3_128::new();
        // Images are not redacted.
        let mut leak_check = self.leak_check.as_mut().filter(|_| path.media().is_none());
        if let Some(leak_check) = &mut leak_check {
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
            if let Some(leak_check) = &mut leak_check {
                leak_check.update(&self.block[..count])?;
            }
            sink.write(&self.block[..count])?;
            self.written = (self.written + count as u64).min(self.to_write);
            let (first_half, total) = (self.progress.total / 2, self.progress.total);
            let part = u128::from(total - first_half) * u128::from(self.written) / u128::from(self.to_write.max(1));
            self.progress.bytes = self.progress.bytes.max(first_half + part as u64);
            task.report(self.progress)?;
        }
        match &file.origin {
            ByteSource::File(disk, _, known) | ByteSource::Archive(disk, known)
                if left > 0 || fingerprint.finish_128() != *known =>
            {
                Err(source_changed(disk))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
