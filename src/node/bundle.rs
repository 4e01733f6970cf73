//! `exportBundle`, `verifyBundle` and `importBundle`: on a background thread. Unlike a replay, whoever stops one waits until it has
//! stopped, so that nothing is left of it when its promise rejects.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundle_json::{append_bundle_error, append_info, append_refusal};
use super::bundles::{NativeBundles, Work};
use super::delivery::Consumer;
use super::json::JsonText;
use super::replay::{JavaScript, NativeDelivery};
use super::run_json::append_key;
use super::run_replay::trusted_keys;
use super::text::Text;
use crate::bundle::error::{BundleCode, BundleError};
use crate::bundle::export::{ExportOptions, export};
use crate::bundle::import::{import, import_for_reader, verify_onto};
use crate::bundle::limits::Limits;
use crate::bundle::redact::{RedactOptions, RedactionRule};
use crate::bundle::signed::SignaturePolicy;
use crate::bundle::source::From;
use crate::bundle::verify::{Report, VerifyOptions, verify};
use crate::bundle::watch::{Progress, Watch};
use crate::signature::SigningKey;

/// The least time between two words about progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What an export is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeExportOptions {
    /// `latest`, or the id of a snapshot.
    pub from_snapshot: Option<String>,
    /// A key that `private_key_fault` has found to be one.
    pub sign_with: Option<String>,
    pub level: Option<i32>,
    /// Nothing: as it is.
    pub redact: Option<NativeRedactOptions>,
    pub progress: bool,
}

/// What is redacted.
#[napi(object, object_to_js = false)]
pub struct NativeRedactOptions {
    pub builtin: bool,
    pub rules: Vec<NativeRedactionRule>,
}

/// A rule, not looked at yet.
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
            None => From::FirstEvent,
            Some(latest) if latest == "latest" => From::LatestSnapshot,
            Some(id) => From::Snapshot(id),
        };
        let key = self.sign_with.as_deref().map(SigningKey::from_pem).transpose();
        // It was one when it was asked for.
        let key =
            key.map_err(|error| BundleError::new(BundleCode::InvalidOption, format!("signWith is no key: {error}")))?;
        let redact = self.redact.map(NativeRedactOptions::read);
        Ok(ExportOptions { from, key, level: self.level, redact, ..ExportOptions::default() })
    }
}

/// What a bundle has to be.
#[napi(object, object_to_js = false)]
pub struct NativeVerifyOptions {
    pub trusted_keys: Vec<String>,
    /// `required`, `ifPresent` or `ignore`.
    pub signature: String,
    pub limits: NativeLimits,
    pub progress: bool,
}

/// Those that are not given stay as they are.
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
        // Infinity is as much as there can be.
        let limit = |given: Option<f64>, default| given.map_or(default, |limit| limit as u64);
        let limits = Limits {
            line_bytes: limit(given.line_bytes, default.line_bytes),
            blob_bytes: limit(given.blob_bytes, default.blob_bytes),
            files: limit(given.files, default.files),
            expansion: limit(given.expansion, default.expansion),
            total_bytes: limit(given.total_bytes, default.total_bytes),
            ..default
        };
        VerifyOptions { trusted: trusted_keys(&self.trusted_keys), signature, limits }
    }
}

/// What is wrong with a private key. Nothing if it is one.
#[napi(catch_unwind)]
pub fn private_key_fault(pem: String) -> Option<String> {
    SigningKey::from_pem(&pem).err().map(|error| error.to_string())
}

/// The codes of bundles, in the order of the documentation.
#[napi(catch_unwind)]
pub fn bundle_codes() -> Vec<String> {
    BundleCode::ALL.iter().map(|code| code.as_str().to_owned()).collect()
}

/// Work on a bundle. It delivers one JSON text after the other: how far it is, and at last `{"done"}` or `{"error"}`.
#[napi]
pub struct NativeBundleWork {
    delivery: NativeDelivery,
    work: Arc<Work>,
}

#[napi]
impl NativeBundleWork {
    /// The next text. Nothing if it is not there yet: `on_ready` is called when it is.
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Option<Text> {
        self.delivery.take()
    }

    /// Asks it to stop. It says so when it has.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.work.stop();
    }
}

/// Exports `source` to `destination`.
#[napi(catch_unwind)]
pub fn start_export(
    bundles: &NativeBundles,
    source: String,
    destination: String,
    options: NativeExportOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeBundleWork> {
    start(bundles, on_ready, options.progress, move |watch, json| {
        let exported =
            options.read().and_then(|options| export(Path::new(&source), Path::new(&destination), &options, watch));
        match exported {
            Ok(info) => append(json, "done", |json| append_info(json, &info)),
            Err(error) => append(json, "error", |json| append_bundle_error(json, &error)),
        }
    })
}

/// Verifies the bundle at `path`. If nothing is wrong and `unpack_to` is given, its files are there then, for a reader.
#[napi(catch_unwind)]
pub fn start_verification(
    bundles: &NativeBundles,
    path: String,
    unpack_to: Option<String>,
    options: NativeVerifyOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeBundleWork> {
    start(bundles, on_ready, options.progress, move |watch, json| {
        let (path, options) = (Path::new(&path), options.read());
        let report = match &unpack_to {
            Some(directory) => verify_onto(path, Path::new(directory), &options, watch),
            None => verify(path, &options, watch),
        };
        match report {
            Ok(report) => append(json, "done", |json| append_report(json, &report)),
            Err(error) => append(json, "error", |json| append_bundle_error(json, &error)),
        }
    })
}

/// Imports the bundle at `path` to `directory`: to stay there, or for a reader.
#[napi(catch_unwind)]
pub fn start_import(
    bundles: &NativeBundles,
    path: String,
    directory: String,
    is_to_stay: bool,
    options: NativeVerifyOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeBundleWork> {
    start(bundles, on_ready, options.progress, move |watch, json| {
        let import = if is_to_stay { import } else { import_for_reader };
        match import(Path::new(&path), Path::new(&directory), &options.read(), watch) {
            Ok(info) => append(json, "done", |json| append_info(json, &info)),
            Err(refusal) => append(json, "error", |json| append_refusal(json, &refusal, "The bundle was not imported")),
        }
    })
}

/// Runs `work` in the background; what it writes is the last text.
fn start(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    progress: bool,
    work: impl FnOnce(&mut Watch<'_>, &mut JsonText) + Send + 'static,
) -> Result<NativeBundleWork> {
    let (javascript, delivery) = JavaScript::new(on_ready)?;
    let begun = bundles.under_way().begin();
    let handle = begun.work().clone();
    javascript.run_in_background(move |javascript| {
        let cancelled = begun.work().cancelled();
        let (mut told, mut last) = (Instant::now(), Progress::default());
        let mut tell = |now: Progress| {
            last = now;
            if javascript.is_cancelled() {
                cancelled.store(true, Ordering::Relaxed);
            } else if progress && told.elapsed() >= PROGRESS_EVERY && javascript.has_room() {
                told = Instant::now();
                javascript.take(close(begin(false), now));
            }
        };
        let mut json = begin(true);
        let mut watch = Watch { cancelled, progress: &mut tell };
        begun.work().cancellation().during(|| work(&mut watch, &mut json));
        javascript.take(close(json, last));
    });
    Ok(NativeBundleWork { delivery, work: handle })
}

/// Begins a text whose first member says whether it is the last text.
fn begin(is_last: bool) -> JsonText {
    let mut json = JsonText::default();
    json.syntax(if is_last { "{\"last\":true" } else { "{\"last\":false" });
    json
}

fn close(mut json: JsonText, progress: Progress) -> Text {
    for (key, count) in [("bytes", progress.bytes), ("total", progress.total), ("files", progress.files)] {
        append_key(&mut json, key);
        json.number(count as f64);
    }
    json.syntax("}");
    json.finish()
}

fn append(json: &mut JsonText, key: &str, value: impl FnOnce(&mut JsonText)) {
    append_key(json, key);
    value(json);
}

fn append_report(json: &mut JsonText, report: &Report) {
    json.syntax("{\"ok\":");
    json.syntax(if report.is_ok() { "true" } else { "false" });
    append_key(json, "info");
    match &report.info {
        Some(info) => append_info(json, info),
        None => json.syntax("null"),
    }
    append_key(json, "problems");
    json.array(&report.problems, append_bundle_error);
    json.syntax("}");
}
