//! `exportBundle`, `verifyBundle` and `importBundle`.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundle_json::{InfoJson, ReportJson};
use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob};
use super::run_replay::trusted_keys;
use super::writing_job::{Reports, start_writing};
use session_tape_core::bundle::{
    BundleCode, BundleError, ExportFrom, ExportOptions, Limits, MediaPolicy, RedactOptions, RedactionRule,
    SignaturePolicy, VerifyOptions, export, import, verify,
};
use session_tape_core::signature::SigningKey;

/// The options of an export.
#[napi(object, object_to_js = false)]
pub struct NativeExportOptions {
    /// `latest`, or the id of a snapshot.
    pub from_snapshot: Option<String>,
    /// A key that `private_key_fault` has accepted.
    pub sign_with: Option<String>,
    pub level: Option<i32>,
    pub allow_damaged: Option<bool>,
    /// `skip` or `drop`.
    pub media: Option<String>,
    pub media_dir: Option<String>,
    /// If absent, nothing is redacted.
    pub redact: Option<NativeRedactOptions>,
    pub progress: bool,
}

/// The rules of a redaction.
#[napi(object, object_to_js = false)]
pub struct NativeRedactOptions {
    pub builtin: bool,
    pub rules: Vec<NativeRedactionRule>,
}

/// A rule that is not validated yet.
#[napi(object, object_to_js = false)]
pub struct NativeRedactionRule {
    pub name: String,
    pub pattern: Option<String>,
    pub path: Option<String>,
    pub kinds: Option<Vec<String>>,
    pub tools: Option<Vec<String>>,
}

impl NativeRedactOptions {
    fn read(self) -> RedactOptions {
        let rule = |NativeRedactionRule { name, pattern, path, kinds, tools }| RedactionRule {
            name,
            pattern,
            path,
            kinds,
            tools,
        };
        RedactOptions { builtin: self.builtin, rules: self.rules.into_iter().map(rule).collect() }
    }
}

impl NativeExportOptions {
    fn read(self) -> std::result::Result<ExportOptions, BundleError> {
        let from = match self.from_snapshot {
            None => ExportFrom::Log,
            Some(latest) if latest == "latest" => ExportFrom::LatestSnapshot,
            Some(id) => ExportFrom::Snapshot(id),
        };
        let key = self.sign_with.as_deref().map(SigningKey::from_pem).transpose();
        // The key was already accepted when the options were checked.
        let key =
            key.map_err(|error| BundleError::new(BundleCode::InvalidOption, format!("signWith is no key: {error}")))?;
        let redact = self.redact.map(NativeRedactOptions::read);
        let allows_damage = self.allow_damaged == Some(true);
        let media = match self.media.as_deref() {
            Some("skip") => MediaPolicy::Skip,
            Some("drop") => MediaPolicy::Drop,
            _ => MediaPolicy::Seal,
        };
        let (level, media_dir) = (self.level, self.media_dir.map(PathBuf::from));
        Ok(ExportOptions { from, key, level, redact, allows_damage, media, media_dir, ..ExportOptions::default() })
    }
}

/// The requirements for a bundle.
#[napi(object, object_to_js = false)]
pub struct NativeVerifyOptions {
    pub trusted_keys: Vec<String>,
    /// `required`, `ifPresent` or `ignore`.
    pub signature: String,
    pub limits: NativeLimits,
    /// Where an import puts media.
    pub media_dir: Option<String>,
    pub progress: bool,
}

/// Limits that are absent have their defaults.
#[napi(object, object_to_js = false)]
pub struct NativeLimits {
    pub line_bytes: Option<f64>,
    pub blob_bytes: Option<f64>,
    pub files: Option<f64>,
    pub expansion: Option<f64>,
    pub total_bytes: Option<f64>,
}

impl NativeVerifyOptions {
    fn read(&self) -> VerifyOptions {
        let signature = match &self.signature[..] {
            "required" => SignaturePolicy::Required,
            "ignore" => SignaturePolicy::Ignore,
            _ => SignaturePolicy::IfPresent,
        };
        let (given, default) = (&self.limits, Limits::default());
        // The conversion saturates: infinity becomes the largest number.
        let limit = |given: Option<f64>, default| given.map_or(default, |limit| limit as u64);
        let limits = Limits {
            line_bytes: limit(given.line_bytes, default.line_bytes),
            blob_bytes: limit(given.blob_bytes, default.blob_bytes),
            files: limit(given.files, default.files),
            expansion: limit(given.expansion, default.expansion),
            total_bytes: limit(given.total_bytes, default.total_bytes),
            ..default
        };
        let media_dir = self.media_dir.as_ref().map(PathBuf::from);
        VerifyOptions { trusted: trusted_keys(&self.trusted_keys), signature, limits, media_dir, is_for_reader: false }
    }
}

/// The fault of a private key. Returns null if it is valid.
#[napi(catch_unwind)]
pub fn private_key_fault(pem: String) -> Option<String> {
    SigningKey::from_pem(&pem).err().map(|error| error.to_string())
}

/// The codes of bundle errors, in the order of the documentation.
#[napi(catch_unwind)]
pub fn bundle_codes() -> Vec<String> {
    BundleCode::ALL.iter().map(|code| code.as_str().to_owned()).collect()
}

/// Exports `source` to `destination`.
#[napi(catch_unwind)]
pub fn start_export(
    bundles: &NativeBundles,
    source: String,
    destination: String,
    options: NativeExportOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes_and_files(options.progress), move |task| {
        let exported =
            options.read().and_then(|options| export(Path::new(&source), Path::new(&destination), &options, task));
        match exported {
            Ok(info) => JobEnd::done(|json| json.value(&InfoJson::from(&info))),
            Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
        }
    })
}

/// Verifies the bundle at `path`.
#[napi(catch_unwind)]
pub fn start_verification(
    bundles: &NativeBundles,
    path: String,
    options: NativeVerifyOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes_and_files(options.progress), move |task| {
        match verify(Path::new(&path), &options.read(), task) {
            Ok(report) => JobEnd::done(|json| json.value(&ReportJson::from(&report))),
            Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
        }
    })
}

/// Imports the bundle at `path` to `directory`, permanently or for a reader that removes it.
#[napi(catch_unwind)]
pub fn start_import(
    bundles: &NativeBundles,
    path: String,
    directory: String,
    is_to_stay: bool,
    options: NativeVerifyOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes_and_files(options.progress), move |task| {
        let options = VerifyOptions { is_for_reader: !is_to_stay, ..options.read() };
        match import(Path::new(&path), Path::new(&directory), &options, task) {
            Ok(info) => JobEnd::done(|json| json.value(&InfoJson::from(&info))),
            Err(refusal) => JobEnd::failed(&ErrorJson::refusal(&refusal, "The bundle was not imported")),
        }
    })
}
