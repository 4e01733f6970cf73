//! Descriptions of bundles and the results of verifying them, as JSON.

use std::borrow::Cow;

use serde::Serialize;

use super::error_json::ErrorJson;
use session_tape_core::bundle::{BundleInfo, MediaCounts, Report};
use session_tape_core::hash::as_text;

/// A summary of a bundle.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InfoJson<'i> {
    bundle_id: &'i str,
    kind: &'static str,
    path: Cow<'i, str>,
    files: u64,
    bytes: u64,
    events: u64,
    redactions: u64,
    partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<MediaJson>,
}

/// What became of the objects that a session refers to.
#[derive(Serialize)]
struct MediaJson {
    sealed: u64,
    missing: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
}

impl From<MediaCounts> for MediaJson {
    fn from(MediaCounts { sealed, missing, bytes, dropped }: MediaCounts) -> Self {
        MediaJson { sealed, missing, bytes, dropped }
    }
}

impl<'i> From<&'i BundleInfo> for InfoJson<'i> {
    fn from(info: &'i BundleInfo) -> Self {
        let BundleInfo { bundle_id, kind, path, files, bytes, events, redactions, partial, media } = info;
        InfoJson {
            bundle_id: as_text(bundle_id),
            kind: kind.as_str(),
            path: path.to_string_lossy(),
            files: *files,
            bytes: *bytes,
            events: *events,
            redactions: *redactions,
            partial: *partial,
            media: media.map(MediaJson::from),
        }
    }
}

/// The result of a verification.
#[derive(Serialize)]
pub struct ReportJson<'r> {
    ok: bool,
    info: Option<InfoJson<'r>>,
    problems: Vec<ErrorJson<'r>>,
}

impl<'r> From<&'r Report> for ReportJson<'r> {
    fn from(report: &'r Report) -> Self {
        let problems = report.problems.iter().map(ErrorJson::from).collect();
        ReportJson { ok: report.is_ok(), info: report.info.as_ref().map(InfoJson::from), problems }
    }
}
