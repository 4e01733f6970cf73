//! `replayRun` and `verifyRun`: on a background thread, progress and result handed to V8 as texts.

use std::path::Path;
use std::sync::atomic::Ordering;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundle_json::append_refusal;
use super::bundle_source::{CANT_BE_READ, Halves, open_source};
use super::bundles::{NativeBundles, Work};
use super::delivery::Consumer;
use super::json::JsonText;
use super::replay::{JavaScript, NativeDelivery};
use super::run_json::{append_error, append_key};
use crate::bundle::import::ImportError;
use crate::bundle::open::{Opened, open_verified};
use crate::bundle::replay::{replay, verify_run};
use crate::bundle::watch::Progress;
use crate::hash::to_hex;
use crate::run::check::{Aspect, Check};
use crate::run::error::{ErrorCode, RunError};
use crate::run::fold::Watch;
use crate::run::redactions::Redactions;
use crate::run::replay::{Failed, ReplayOptions, Replayed, Verify};
use crate::run::snapshot::SUFFIX as SNAPSHOT_SUFFIX;
use crate::run::start_from::StartFrom;
use crate::run::state::State;
use crate::run::state_hash::state_hash;
use crate::run::verify::Verification;
use crate::signature::TrustedKeys;

/// How much further a run must be for another word about it.
const PROGRESS_BYTES: u64 = 1 << 20;

/// What a replay of a run is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeRunReplayOptions {
    /// `latest`, or a snapshot's id or file.
    pub from_snapshot: Option<String>,
    pub until: Option<f64>,
    /// `none`, `chain` or `full`.
    pub verify: String,
    pub trusted_keys: Vec<String>,
    pub progress: bool,
}

impl NativeRunReplayOptions {
    fn read(self) -> (ReplayOptions, bool) {
        let beginning = match self.from_snapshot {
            None => StartFrom::Log,
            Some(latest) if latest == "latest" => StartFrom::LatestSnapshot,
            Some(path) if is_path(&path) => StartFrom::SnapshotFile(path.into()),
            Some(id) => StartFrom::Snapshot(id),
        };
        let verify = match &self.verify[..] {
            "none" => Verify::None,
            "full" => Verify::Full,
            _ => Verify::Chain,
        };
        let until = self.until.filter(|until| until.is_finite()).map(|until| until as u64);
        let (trusted, redactions) = (trusted_keys(&self.trusted_keys), Redactions::default());
        (ReplayOptions { beginning, until, verify, trusted, redactions }, self.progress)
    }
}

/// Whether a snapshot is named by its file, not its id.
fn is_path(snapshot: &str) -> bool {
    snapshot.ends_with(SNAPSHOT_SUFFIX) || snapshot.contains(['/', std::path::MAIN_SEPARATOR])
}

/// What is wrong with a public key. Nothing if it is one.
#[napi(catch_unwind)]
pub fn public_key_fault(pem: String) -> Option<String> {
    TrustedKeys::from_pems(&[pem]).err().map(|error| error.to_string())
}

/// Keys that `public_key_fault` has found to be some.
pub(super) fn trusted_keys(pems: &[String]) -> TrustedKeys {
    TrustedKeys::from_pems(pems).unwrap_or_default()
}

/// Replays the run at `path`. Its delivery has one JSON text after the other: how far it is, and at last `{"done"}`.
#[napi(catch_unwind)]
pub fn start_run_replay(
    bundles: &NativeBundles,
    path: String,
    options: NativeRunReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let (options, progress) = options.read();
    let trusted = options.trusted.clone();
    start(bundles, on_ready, path, open_source, trusted, progress, move |opened, watch, json| match opened {
        Ok(opened) => match replay(opened, &options, watch) {
            Ok(replayed) => append_replayed(json, &replayed),
            Err(failed) => append_failed(json, &failed),
        },
        Err(refusal) => append_refused(json, &refusal),
    })
}

/// Verifies the run at `path`. The delivery is as that of a replay. `is_verified` says that it is in a bundle's directory that was
/// verified already.
#[napi(catch_unwind)]
pub fn start_run_verification(
    bundles: &NativeBundles,
    path: String,
    is_verified: bool,
    trusted_keys: Vec<String>,
    progress: bool,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let trusted = self::trusted_keys(&trusted_keys);
    let open = if is_verified { open_unseen } else { open_source };
    start(bundles, on_ready, path, open, trusted.clone(), progress, move |opened, watch, json| match opened {
        Ok(opened) => {
            let found = verify_run(opened, &trusted, watch);
            append_verification(json, &found.unwrap_or_else(unreadable), None);
        }
        Err(refusal) => append_verification(json, &Verification::default(), Some(&refusal)),
    })
}

/// How what is at a path is opened.
type Open = fn(&str, TrustedKeys, &Work, &mut dyn FnMut(Progress)) -> std::result::Result<Opened, ImportError>;

/// Opens a bundle's directory that was verified already.
fn open_unseen(
    path: &str,
    trusted: TrustedKeys,
    _: &Work,
    _: &mut dyn FnMut(Progress),
) -> std::result::Result<Opened, ImportError> {
    open_verified(Path::new(path), &trusted)
}

/// Opens what is at `path` in the background, and hands it to `work`; what that appends becomes the result.
fn start(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    path: String,
    open: Open,
    trusted: TrustedKeys,
    progress: bool,
    work: impl FnOnce(std::result::Result<&Opened, ImportError>, &mut Watch<'_>, &mut JsonText) + Send + 'static,
) -> Result<NativeDelivery> {
    start_reading(bundles, on_ready, vec![path], progress, move |paths, begun, tell, json| {
        let mut halves = Halves::default();
        let path = paths.first().map_or("", String::as_str);
        let opened = open(path, trusted, begun, &mut |progress| tell(halves.verifying(progress)));
        let mut watch =
            Watch { cancelled: begun.cancelled(), progress: &mut |bytes, of| tell(halves.reading(bytes, of)) };
        match opened.and_then(Opened::of_run) {
            Ok(opened) => work(Ok(&opened), &mut watch, json),
            Err(refusal) => work(Err(refusal), &mut watch, json),
        }
    })
}

/// Told how many bytes are done, and of how many.
pub(super) type Tell<'t> = &'t mut dyn FnMut((u64, u64));

/// Runs `work`, which reads what is at `paths`, in the background; what it appends becomes the result. Nothing that it unpacked is there
/// any more when the result is.
pub(super) fn start_reading(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    paths: Vec<String>,
    progress: bool,
    work: impl FnOnce(&[String], &Work, Tell<'_>, &mut JsonText) + Send + 'static,
) -> Result<NativeDelivery> {
    let (javascript, delivery) = JavaScript::new(on_ready)?;
    let under_way = bundles.under_way();
    javascript.run_in_background(move |javascript| {
        let begun = under_way.begin_reading(&paths);
        let cancelled = begun.work().cancelled();
        let (mut total, mut told) = (0, 0);
        let mut json = JsonText::default();
        json.syntax("{\"done\":");
        let mut tell = |(bytes, of): (u64, u64)| {
            // Who only asks whether to go on says nothing of bytes.
            total = total.max(of);
            if javascript.is_cancelled() {
                cancelled.store(true, Ordering::Relaxed);
            } else if progress && bytes >= told + PROGRESS_BYTES && javascript.has_room() {
                told = bytes;
                javascript.take(progress_part(bytes, of).finish());
            }
        };
        work(&paths, begun.work(), &mut tell, &mut json);
        if progress {
            append_progress(&mut json, total, total);
        }
        json.syntax("}");
        javascript.take(json.finish());
    });
    Ok(delivery)
}

fn progress_part(bytes: u64, total: u64) -> JsonText {
    let mut json = JsonText::default();
    json.syntax("{\"done\":null");
    append_progress(&mut json, bytes, total);
    json.syntax("}");
    json
}

fn append_progress(json: &mut JsonText, bytes: u64, total: u64) {
    append_count(json, "bytes", bytes);
    append_count(json, "total", total);
}

fn append_count(json: &mut JsonText, key: &str, count: u64) {
    append_key(json, key);
    json.number(count as f64);
}

fn append_flag(json: &mut JsonText, key: &str, holds: bool) {
    append_key(json, key);
    json.syntax(if holds { "true" } else { "false" });
}

fn append_replayed(json: &mut JsonText, replayed: &Replayed) {
    let Replayed { state, state_hash, event_count, from_snapshot, metrics, warnings } = replayed;
    json.syntax("{\"ok\":true");
    append_state(json, Some((state, state_hash)));
    append_count(json, "eventCount", *event_count);
    append_key(json, "fromSnapshot");
    match from_snapshot {
        Some(id) => json.string(id),
        None => json.syntax("null"),
    }
    json.syntax(",\"metrics\":{\"events\":");
    json.number(metrics.events as f64);
    append_count(json, "bytes", metrics.bytes);
    append_key(json, "seconds");
    json.number(metrics.elapsed.as_secs_f64());
    json.syntax("}");
    append_warnings(json, warnings);
    json.syntax("}");
}

fn append_failed(json: &mut JsonText, failed: &Failed) {
    let Failed { error, state, warnings } = failed;
    json.syntax("{\"ok\":false,\"error\":");
    append_error(json, error);
    let hash = state.as_ref().and_then(state_hash).map(|hash| to_hex(&hash));
    append_state(json, state.as_ref().zip(hash.as_ref()));
    append_warnings(json, warnings);
    json.syntax("}");
}

/// A bundle that is not replayed, since it is not what its manifest says.
fn append_refused(json: &mut JsonText, refusal: &ImportError) {
    json.syntax("{\"ok\":false,\"error\":");
    append_refusal(json, refusal, CANT_BE_READ);
    json.syntax(",\"state\":null,\"warnings\":[]}");
}

fn append_state(json: &mut JsonText, state: Option<(&State, &[u8; 64])>) {
    let mut text = Vec::new();
    if !state.is_some_and(|(state, hash)| state.write_run_state(&mut text, hash)) {
        text.extend_from_slice(b"null");
    }
    append_key(json, "state");
    json.raw(&text);
}

fn append_warnings(json: &mut JsonText, warnings: &[String]) {
    append_key(json, "warnings");
    json.array(warnings, |json, warning| json.string(warning));
}

/// Appends what was found, or why nothing was: a bundle that is refused has a log of which nothing is known but that it fails.
fn append_verification(json: &mut JsonText, verification: &Verification, refusal: Option<&ImportError>) {
    json.syntax("{\"ok\":");
    json.syntax(if refusal.is_none() && verification.is_ok() { "true" } else { "false" });
    for (flag, aspect) in [
        ("dagMatch", Aspect::Dag),
        ("scheduleMatch", Aspect::Schedule),
        ("stateHashesMatch", Aspect::StateHashes),
        ("outputHashesMatch", Aspect::OutputHashes),
    ] {
        append_flag(json, flag, verification.check(aspect).holds());
    }
    for (name, aspect) in [
        ("chain", Aspect::Chain),
        ("dag", Aspect::Dag),
        ("schedule", Aspect::Schedule),
        ("stateHashes", Aspect::StateHashes),
        ("outputHashes", Aspect::OutputHashes),
        ("snapshots", Aspect::Snapshots),
    ] {
        append_key(json, name);
        match refusal {
            Some(refusal) if aspect == Aspect::Chain => append_refused_check(json, refusal),
            _ => append_check(json, verification.check(aspect)),
        }
    }
    json.syntax("}");
}

fn append_check(json: &mut JsonText, check: &Check) {
    json.syntax("{\"checked\":");
    json.number(check.checked as f64);
    append_count(json, "failed", check.failed);
    append_count(json, "unverifiable", check.unverifiable);
    if let Some(failure) = &check.first_failure {
        append_key(json, "firstFailure");
        append_error(json, &failure.error);
    }
    json.syntax("}");
}

fn append_refused_check(json: &mut JsonText, refusal: &ImportError) {
    json.syntax("{\"checked\":1,\"failed\":1,\"unverifiable\":0,\"firstFailure\":");
    append_refusal(json, refusal, CANT_BE_READ);
    json.syntax("}");
}

/// What was found of a run that can't be read: its log is not whole, as far as anybody can say.
fn unreadable(error: RunError) -> Verification {
    let mut verification = Verification::default();
    // Whoever cancelled takes no result.
    if error.code != ErrorCode::Cancelled {
        let chain = verification.findings.of_mut(Aspect::Chain);
        chain.checked = 1;
        chain.fail(0, error);
    }
    verification
}
