//! Results of replaying and verifying runs, as JSON.

use serde::Serialize;

use super::error_json::{CANT_BE_READ, ErrorJson};
use session_tape_core::bundle::ImportError;
use session_tape_core::run::{Aspect, Replayed, Verification};

/// The cost of a replay.
#[derive(Serialize)]
pub struct MetricsJson {
    events: u64,
    bytes: u64,
    seconds: f64,
}

impl From<&Replayed> for MetricsJson {
    fn from(Replayed { metrics, .. }: &Replayed) -> Self {
        MetricsJson { events: metrics.events, bytes: metrics.bytes, seconds: metrics.elapsed.as_secs_f64() }
    }
}

/// The result of a verification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationJson<'v> {
    ok: bool,
    dag_match: bool,
    schedule_match: bool,
    state_hashes_match: bool,
    output_hashes_match: bool,
    chain: CheckJson<'v>,
    dag: CheckJson<'v>,
    schedule: CheckJson<'v>,
    state_hashes: CheckJson<'v>,
    output_hashes: CheckJson<'v>,
    blobs: CheckJson<'v>,
    snapshots: CheckJson<'v>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckJson<'v> {
    checked: u64,
    failed: u64,
    unverifiable: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_failure: Option<ErrorJson<'v>>,
}

impl<'v> From<&'v Verification> for VerificationJson<'v> {
    fn from(verification: &'v Verification) -> Self {
        let check = |aspect| CheckJson::of(verification, aspect);
        let holds = |aspect| verification.check(aspect).holds();
        VerificationJson {
            ok: verification.is_ok(),
            dag_match: holds(Aspect::Dag),
            schedule_match: holds(Aspect::Schedule),
            state_hashes_match: holds(Aspect::StateHashes),
            output_hashes_match: holds(Aspect::OutputHashes),
            chain: check(Aspect::Chain),
            dag: check(Aspect::Dag),
            schedule: check(Aspect::Schedule),
            state_hashes: check(Aspect::StateHashes),
            output_hashes: check(Aspect::OutputHashes),
            blobs: check(Aspect::Blobs),
            snapshots: check(Aspect::Snapshots),
        }
    }
}

impl<'v> VerificationJson<'v> {
    /// The verification of a bundle that is refused: its log counts as failed, and nothing else is known. `nothing` is an empty
    /// verification.
    pub fn refused(refusal: &'v ImportError, nothing: &'v Verification) -> Self {
        let first_failure = Some(ErrorJson::refusal(refusal, CANT_BE_READ));
        let chain = CheckJson { checked: 1, failed: 1, unverifiable: 0, first_failure };
        VerificationJson { ok: false, chain, ..nothing.into() }
    }
}

impl<'v> CheckJson<'v> {
    fn of(verification: &'v Verification, aspect: Aspect) -> Self {
        let check = verification.check(aspect);
        CheckJson {
            checked: check.checked,
            failed: check.failed,
            unverifiable: check.unverifiable,
            first_failure: check.first_failure.as_ref().map(|failure| ErrorJson::from(&failure.error)),
        }
    }
}
