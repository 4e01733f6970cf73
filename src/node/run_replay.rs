//! `replayRun` and `verifyRun`: on a background thread, progress and result handed to V8 as texts.

use std::sync::atomic::{AtomicBool, Ordering};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::delivery::Consumer;
use super::json::JsonText;
use super::replay::{JavaScript, NativeDelivery};
use super::run_json::{append_error, append_key};
use crate::hash::to_hex;
use crate::run::check::{Aspect, Check};
use crate::run::directory::RunDirectory;
use crate::run::error::{ErrorCode, RunError};
use crate::run::fold::Watch;
use crate::run::redactions::Redactions;
use crate::run::replay::{Beginning, Failed, ReplayOptions, Replayed, Verify, replay};
use crate::run::state::State;
use crate::run::state_hash::state_hash;
use crate::run::verify::{Verification, verify};
use crate::signature::TrustedKeys;

/// How much further a run must be for another word about it.
const PROGRESS_BYTES: u64 = 1 << 20;

/// What a replay of a run is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeRunReplayOptions {
    /// `latest`, or the id of a snapshot.
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
            None => Beginning::Log,
            Some(latest) if latest == "latest" => Beginning::LatestSnapshot,
            Some(id) => Beginning::Snapshot(id),
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

/// What is wrong with a public key. Nothing if it is one.
#[napi(catch_unwind)]
pub fn public_key_fault(pem: String) -> Option<String> {
    TrustedKeys::from_pems(&[pem]).err().map(|error| error.to_string())
}

/// Keys that `public_key_fault` has found to be some.
fn trusted_keys(pems: &[String]) -> TrustedKeys {
    TrustedKeys::from_pems(pems).unwrap_or_default()
}

/// Replays the run in `directory`. Its delivery has one JSON text after the other: how far it is, and at last `{"done"}`.
#[napi(catch_unwind)]
pub fn start_run_replay(
    directory: String,
    options: NativeRunReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let (options, progress) = options.read();
    let directory = RunDirectory::new(directory);
    start(on_ready, progress, move |watch, json| match replay(&directory, &options, watch) {
        Ok(replayed) => append_replayed(json, &replayed),
        Err(failed) => append_failed(json, &failed),
    })
}

/// Verifies the run in `directory`. The delivery is as that of a replay.
#[napi(catch_unwind)]
pub fn start_run_verification(
    directory: String,
    trusted_keys: Vec<String>,
    progress: bool,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let trusted = self::trusted_keys(&trusted_keys);
    let directory = RunDirectory::new(directory);
    start(on_ready, progress, move |watch, json| {
        let found = verify(&directory, &trusted, &Redactions::default(), watch);
        append_verification(json, &found.unwrap_or_else(unreadable));
    })
}

/// Runs `work` in the background; what it appends becomes the result.
pub(super) fn start(
    on_ready: Function<'_, (), ()>,
    progress: bool,
    work: impl FnOnce(&mut Watch<'_>, &mut JsonText) + Send + 'static,
) -> Result<NativeDelivery> {
    let (javascript, delivery) = JavaScript::new(on_ready)?;
    javascript.run_in_background(move |javascript| {
        let (cancelled, mut total, mut told) = (AtomicBool::new(false), 0, 0);
        let mut json = JsonText::default();
        json.syntax("{\"done\":");
        let mut tell = |bytes: u64, of: u64| {
            // Who only asks whether to go on says nothing of bytes.
            total = total.max(of);
            if javascript.is_cancelled() {
                cancelled.store(true, Ordering::Relaxed);
            } else if progress && bytes >= told + PROGRESS_BYTES && javascript.has_room() {
                told = bytes;
                javascript.take(progress_part(bytes, of).finish());
            }
        };
        work(&mut Watch { cancelled: &cancelled, progress: &mut tell }, &mut json);
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

fn append_verification(json: &mut JsonText, verification: &Verification) {
    json.syntax("{\"ok\":");
    json.syntax(if verification.is_ok() { "true" } else { "false" });
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
        append_check(json, verification.check(aspect));
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
