//! `diff` and `traceAncestors`: on a background thread, the answer handed to V8 as one text.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::json::JsonText;
use super::replay::NativeDelivery;
use super::run_json::{append_error_members, append_key, append_system, append_text};
use super::run_replay::start;
use crate::diff::ancestry::trace_ancestors;
use crate::diff::compare::{DiffOptions, diff};
use crate::diff::divergence::Compared;
use crate::diff::document::{print, print_chain};
use crate::diff::error::{DiffError, Side};
use crate::diff::ignore::Pointer;
use crate::diff::source::Source;

/// What a diff is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeDiffOptions {
    pub full: bool,
    pub heartbeats: bool,
    pub ignore: Vec<String>,
    pub progress: bool,
}

/// What is wrong with a JSON pointer. Nothing if it is one.
#[napi(catch_unwind)]
pub fn json_pointer_fault(pointer: String) -> Option<String> {
    match Pointer::parse(&pointer) {
        Err(DiffError::InvalidPointer { why, .. }) => Some(why.to_owned()),
        _ => None,
    }
}

/// Compares two recordings. Its delivery has one JSON text after the other: how far it is, and at last `{"done":{"diff"}}`, or
/// `{"done":{"error"}}`.
#[napi(catch_unwind)]
pub fn start_diff(
    left: String,
    right: String,
    options: NativeDiffOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let NativeDiffOptions { full, heartbeats, ignore, progress } = options;
    // They were found to be some.
    let ignore = ignore.iter().filter_map(|pointer| Pointer::parse(pointer).ok()).collect();
    let options = DiffOptions { compared: Compared { heartbeats, ignore }, full };
    start(on_ready, progress, move |watch, json| {
        let found = find(&left, Some(Side::Left))
            .and_then(|left| Ok((left, find(&right, Some(Side::Right))?)))
            .and_then(|(left, right)| diff(&left, &right, &options, watch));
        append(json, "diff", found.map(|found| print(found.as_ref())));
    })
}

/// Follows the causes of an event. The delivery is as that of a diff, with `chain` and `truncated` in `trace`.
#[napi(catch_unwind)]
pub fn start_trace(path: String, event_id: String, on_ready: Function<'_, (), ()>) -> Result<NativeDelivery> {
    start(on_ready, false, move |watch, json| {
        let found = find(&path, None).and_then(|source| trace_ancestors(&source, &event_id, watch));
        append(json, "trace", found.map(|chain| print_chain(&chain)));
    })
}

fn find(path: &str, side: Option<Side>) -> std::result::Result<Source, DiffError> {
    Source::find(Path::new(path)).map_err(|error| DiffError::of_system(error, PathBuf::from(path), side))
}

fn append(json: &mut JsonText, key: &str, found: std::result::Result<String, DiffError>) {
    match found {
        Ok(text) => {
            json.syntax("{\"");
            json.syntax(key);
            json.syntax("\":");
            json.raw(text.as_bytes());
        }
        Err(error) => {
            json.syntax("{\"error\":");
            append_error(json, &error);
        }
    }
    json.syntax("}");
}

fn append_error(json: &mut JsonText, error: &DiffError) {
    json.syntax("{\"code\":");
    json.string(error.code());
    append_text(json, "message", Some(&error.to_string()));
    if let Some(error) = error.run_error() {
        append_error_members(json, error);
    }
    if let Some(system) = error.system() {
        append_system(json, system);
    }
    if let Some(side) = error.side() {
        append_key(json, "side");
        json.string(side.as_str());
    }
    json.syntax("}");
}
