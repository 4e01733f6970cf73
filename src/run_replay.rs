//! `replayRun` and `verifyRun`: jobs that read.

use super::bundles::NativeBundles;
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob};
use super::json::JsonText;
use super::opened_run::OpenedRun;
use super::reading::{TwoPhaseProgress, start_reading};
use super::run_json::{MetricsJson, VerificationJson};
use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use session_tape_core::bundle::ImportError;
use session_tape_core::hash::to_hex;
use session_tape_core::run::{
    Aspect, ErrorCode, Failed, Redactions, ReplayOptions, Replayed, RunError, Snapshot, StartFrom, State, Verification,
    Verify,
};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{self, Cancellation, Task, background};

/// The options of a replay.
#[napi(object, object_to_js = false)]
pub struct NativeRunReplayOptions {
    /// `latest`, or the id or file of a snapshot.
    pub from_snapshot: Option<String>,
    pub until: Option<f64>,
    /// `none`, `chain` or `full`.
    pub verify: String,
    pub trusted_keys: Vec<String>,
    pub progress: bool,
}

impl NativeRunReplayOptions {
    fn read(self) -> (ReplayOptions, bool) {
        let start_from = match self.from_snapshot {
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
        (ReplayOptions { start_from, until, verify, trusted, redactions }, self.progress)
    }
}

/// Whether a snapshot is given by its file instead of its id.
fn is_path(snapshot: &str) -> bool {
    snapshot.ends_with(Snapshot::SUFFIX) || snapshot.contains(['/', std::path::MAIN_SEPARATOR])
}

/// The fault of a public key. Returns null if it is valid.
#[napi(catch_unwind)]
pub fn public_key_fault(pem: String) -> Option<String> {
    TrustedKeys::from_pems(&[pem]).err().map(|error| error.to_string())
}

/// Parses keys that `public_key_fault` has accepted.
pub(super) fn trusted_keys(pems: &[String]) -> TrustedKeys {
    TrustedKeys::from_pems(pems).unwrap_or_default()
}

/// Replays the run at `path`. If `is_verified`, it is in the directory of a bundle that has already been verified.
#[napi(catch_unwind)]
pub fn start_run_replay(
    bundles: &NativeBundles,
    path: String,
    is_verified: bool,
    options: NativeRunReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    let (options, progress) = options.read();
    let trusted = options.trusted.clone();
    start(bundles, on_ready, path, opening(is_verified), trusted, progress, move |run, task| {
        let end = JobEnd::done(|json| match run {
            Ok(run) => match run.replay(&options, task) {
                Ok(replayed) => {
                    append_replayed(json, &replayed);
                    // Giving back the memory of a large state takes milliseconds.
                    background::spawn_helper(move || drop(replayed));
                }
                Err(failed) => append_failed(json, &failed),
            },
            Err(refusal) => append_error_and_state(json, &ErrorJson::refusal(&refusal, CANT_BE_READ), None, &[]),
        });
        // The state grows with the graph.
        end.in_pieces()
    })
}

/// Verifies the run at `path`. If `is_verified`, it is in the directory of a bundle that has already been verified.
#[napi(catch_unwind)]
pub fn start_run_verification(
    bundles: &NativeBundles,
    path: String,
    is_verified: bool,
    trusted_keys: Vec<String>,
    progress: bool,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    let trusted = self::trusted_keys(&trusted_keys);
    let open = opening(is_verified);
    start(bundles, on_ready, path, open, trusted.clone(), progress, move |run, task| match run {
        Ok(run) => {
            let found = run.verify(&trusted, task).unwrap_or_else(unreadable);
            JobEnd::done(|json| json.value(&VerificationJson::from(&found)))
        }
        Err(refusal) => JobEnd::done(|json| json.value(&VerificationJson::refused(&refusal, &Verification::default()))),
    })
}

/// How to open a run. If `is_verified`, it is in the directory of a bundle that has already been verified.
fn opening(is_verified: bool) -> Open {
    if is_verified { OpenedRun::open_verified } else { OpenedRun::open }
}

/// Opens the run at a path.
type Open =
    fn(&str, TrustedKeys, &Cancellation, &mut dyn FnMut(task::Progress)) -> std::result::Result<OpenedRun, ImportError>;

/// Starts a job that opens the run at `path` and passes it to `work`.
fn start(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    path: String,
    open: Open,
    trusted: TrustedKeys,
    progress: bool,
    work: impl FnOnce(std::result::Result<&OpenedRun, ImportError>, &mut Task<'_>) -> JobEnd + Send + 'static,
) -> Result<NativeJob> {
    start_reading(bundles, on_ready, vec![path], progress, move |paths, reporter| {
        let (cancellation, mut phases) = (reporter.cancellation(), TwoPhaseProgress::default());
        let path = paths.first().map_or("", String::as_str);
        let run = open(path, trusted, cancellation, &mut |progress| reporter.report(phases.verifying(progress)));
        let progress = &mut |progress| reporter.report(phases.reading(progress));
        let mut task = Task { cancellation, progress };
        match run {
            Ok(run) => work(Ok(&run), &mut task),
            Err(refusal) => work(Err(refusal), &mut task),
        }
    })
}

fn append_replayed(json: &mut JsonText, replayed: &Replayed) {
    let Replayed { state, state_hash, event_count, from_snapshot, warnings, .. } = replayed;
    json.object(|json| {
        json.member("ok", &true);
        append_state(json, Some((state, state_hash)));
        json.member("eventCount", event_count);
        json.member("fromSnapshot", from_snapshot);
        json.member("metrics", &MetricsJson::from(replayed));
        json.member("warnings", warnings);
    });
}

fn append_failed(json: &mut JsonText, failed: &Failed) {
    let Failed { error, state, warnings } = failed;
    let hash = state.as_ref().and_then(State::hash).map(|hash| to_hex(&hash));
    append_error_and_state(json, &error.into(), state.as_ref().zip(hash.as_ref()), warnings);
}

fn append_error_and_state(
    json: &mut JsonText,
    error: &ErrorJson<'_>,
    state: Option<(&State, &[u8; 64])>,
    warnings: &[String],
) {
    json.object(|json| {
        json.member("ok", &false);
        json.member("error", error);
        append_state(json, state);
        json.member("warnings", warnings);
    });
}

/// Appends the state, or `null` if there is none. The state can be large, so it writes its JSON text itself.
fn append_state(json: &mut JsonText, state: Option<(&State, &[u8; 64])>) {
    let out = json.key("state").buffer();
    if !state.is_some_and(|(state, hash)| state.write_run_state(out, hash)) {
        out.extend_from_slice(b"null");
    }
}

/// The verification of a run that can't be read: its log counts as failed.
fn unreadable(error: RunError) -> Verification {
    let mut verification = Verification::default();
    // The result of a cancelled job is never taken.
    if error.code != ErrorCode::Cancelled {
        let chain = verification.findings.of_mut(Aspect::Chain);
        chain.checked = 1;
        chain.fail(0, error);
    }
    verification
}
