//! `repairSession`.

use std::path::Path;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use serde::Serialize;

use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob};
use super::writing_job::{Reports, start_writing};
use session_tape_core::hash::to_hex;
use session_tape_core::repair::{Fragment, OtherSession, RepairOptions, RepairReceipt, repair};

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
#[serde(rename_all = "camelCase")]
struct ReceiptJson<'r> {
    source: SourceJson,
    destination: &'r str,
    changed: bool,
    records: u64,
    recovered: u64,
    fragments: Vec<FragmentJson<'r>>,
    lost_bytes: u64,
    versioned: u64,
    duplicates: u64,
    renumbered: bool,
    start_invented: bool,
    others: Vec<OtherJson<'r>>,
    warnings: &'r [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtherJson<'r> {
    session_id: Option<&'r str>,
    first_line: u64,
    last_line: u64,
}

#[derive(Serialize)]
struct SourceJson {
    bytes: u64,
    sha256: String,
}

#[derive(Serialize)]
struct FragmentJson<'r> {
    offset: u64,
    length: u64,
    reason: &'r str,
}

impl<'r> ReceiptJson<'r> {
    fn new(receipt: &'r RepairReceipt, destination: &'r str) -> Self {
        let fragment = |Fragment { offset, length, reason }: &'r Fragment| FragmentJson {
            offset: *offset,
            length: *length,
            reason,
        };
        let other = |OtherSession { session_id, first_line, last_line }: &'r OtherSession| OtherJson {
            session_id: session_id.as_deref(),
            first_line: *first_line,
            last_line: *last_line,
        };
        ReceiptJson {
            source: SourceJson {
                bytes: receipt.bytes,
                sha256: String::from_utf8_lossy(&to_hex(&receipt.sha256)).into_owned(),
            },
            destination,
            changed: receipt.changed,
            records: receipt.records,
            recovered: receipt.recovered,
            fragments: receipt.fragments.iter().map(fragment).collect(),
            lost_bytes: receipt.lost_bytes,
            versioned: receipt.versioned,
            duplicates: receipt.duplicates,
            renumbered: receipt.renumbered,
            start_invented: receipt.start_invented,
            others: receipt.others.iter().map(other).collect(),
            warnings: &receipt.warnings,
        }
    }
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
            Ok(receipt) => JobEnd::done(|json| json.value(&ReceiptJson::new(&receipt, &destination))),
            Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
        }
    })
}
