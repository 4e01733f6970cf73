//! `repairSession`.

use std::path::Path;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use serde::Serialize;

use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob};
use super::writing_job::{Reports, start_writing};
use session_tape_core::hash::{as_text, to_hex};
use session_tape_core::repair::{RepairOptions, RepairReceipt, repair};

/// The options of a repair.
#[napi(object, object_to_js = false)]
pub struct NativeRepairOptions {
    pub project_hash: Option<String>,
    pub session_id: Option<String>,
    pub receipt_path: Option<String>,
    pub dry_run: bool,
    /// The current time in milliseconds since 1970.
    pub now: f64,
    pub progress: bool,
}

/// A receipt, as JavaScript has it.
#[derive(Serialize)]
struct ReceiptJson<'r> {
    source: SourceJson<'r>,
    destination: &'r str,
    #[serde(flatten)]
    receipt: &'r RepairReceipt,
}

#[derive(Serialize)]
struct SourceJson<'r> {
    bytes: u64,
    sha256: &'r str,
}

/// Repairs the session at `source`. The result is a receipt.
#[napi(catch_unwind)]
pub fn start_repair(
    bundles: &NativeBundles,
    source: String,
    destination: String,
    options: NativeRepairOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes(options.progress), move |task| {
        let options = RepairOptions {
            project_hash: options.project_hash,
            session_id: options.session_id,
            receipt_path: options.receipt_path.map(Into::into),
            is_dry_run: options.dry_run,
            now: options.now,
        };
        match repair(Path::new(&source), Path::new(&destination), &options, task) {
            Ok(receipt) => {
                let sha256 = to_hex(&receipt.sha256);
                let source = SourceJson { bytes: receipt.bytes, sha256: as_text(&sha256) };
                JobEnd::done(|json| json.value(&ReceiptJson { source, destination: &destination, receipt: &receipt }))
            }
            Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
        }
    })
}
