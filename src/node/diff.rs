//! `diff` and `traceAncestors`: on a background thread, the answer handed to V8 as one text.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundle_json::append_refusal_with;
use super::bundle_source::{CANT_BE_READ, open_source};
use super::bundles::{NativeBundles, Work};
use super::json::JsonText;
use super::replay::NativeDelivery;
use super::run_json::{append_error_members, append_system, append_text};
use super::run_replay::{Tell, start_reading};
use crate::bundle::import::ImportError;
use crate::bundle::manifest::BundleKind;
use crate::bundle::open::{Opened, is_bundle};
use crate::diff::ancestry::trace_ancestors;
use crate::diff::compare::{DiffOptions, diff};
use crate::diff::divergence::Compared;
use crate::diff::document::{print, print_chain};
use crate::diff::error::{DiffError, Side};
use crate::diff::ignore::Pointer;
use crate::diff::source::Source;
use crate::run::fold::Watch;
use crate::signature::TrustedKeys;

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
    bundles: &NativeBundles,
    left: String,
    right: String,
    options: NativeDiffOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    let NativeDiffOptions { full, heartbeats, ignore, progress } = options;
    // They were found to be some.
    let ignore = ignore.iter().filter_map(|pointer| Pointer::parse(pointer).ok()).collect();
    let options = DiffOptions { compared: Compared { heartbeats, ignore }, full };
    start_reading(bundles, on_ready, vec![left, right], progress, move |paths, work, tell, json| {
        let mut open = |at: usize, side| Recording::open(&paths[at], Some(side), work, tell);
        let opened = open(0, Side::Left).and_then(|left| Ok((left, open(1, Side::Right)?)));
        if let Ok((left, right)) = &opened {
            // Also where they part at once, both are done with at the end.
            tell((0, left.size() + right.size()));
        }
        let mut watch = Watch { cancelled: work.cancelled(), progress: &mut |bytes, of| tell((bytes, of)) };
        let found = opened.and_then(|(left, right)| {
            diff(&left.source, &right.source, &options, &mut watch).map_err(Fault::Recording)
        });
        append(json, "diff", found.map(|found| print(found.as_ref())));
    })
}

/// Follows the causes of an event. The delivery is as that of a diff, with `chain` and `truncated` in `trace`.
#[napi(catch_unwind)]
pub fn start_trace(
    bundles: &NativeBundles,
    path: String,
    event_id: String,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeDelivery> {
    start_reading(bundles, on_ready, vec![path], false, move |paths, work, tell, json| {
        let opened = Recording::open(&paths[0], None, work, tell);
        let mut watch = Watch { cancelled: work.cancelled(), progress: &mut |bytes, of| tell((bytes, of)) };
        let found =
            opened.and_then(|opened| trace_ancestors(&opened.source, &event_id, &mut watch).map_err(Fault::Recording));
        append(json, "trace", found.map(|chain| print_chain(&chain)));
    })
}

/// A recording that is read. A bundle of it stays unpacked until this is dropped.
struct Recording {
    source: Source,
    _opened: Option<Opened>,
}

impl Recording {
    fn size(&self) -> u64 {
        std::fs::metadata(&self.source.log).map_or(0, |metadata| metadata.len())
    }

    fn open(path: &str, side: Option<Side>, work: &Work, tell: Tell<'_>) -> std::result::Result<Self, Fault> {
        let of_system = |error| DiffError::of_system(error, PathBuf::from(path), side);
        if !is_bundle(Path::new(path)) {
            let source = Source::find(Path::new(path)).map_err(of_system).map_err(Fault::Recording)?;
            return Ok(Recording { source, _opened: None });
        }
        // How far verifying is, is not told: the bytes that count are those of the comparison.
        let opened = open_source(path, TrustedKeys::default(), work, &mut |_| tell((0, 0)));
        let opened = opened.map_err(|refusal| Fault::Bundle(refusal, side))?;
        Ok(Recording { source: source_of(path, &opened), _opened: Some(opened) })
    }
}

/// What is compared of a bundle.
fn source_of(path: &str, opened: &Opened) -> Source {
    let source = match opened.kind {
        BundleKind::Run => Source::run(opened.root()),
        BundleKind::Session => Source::session(&opened.log()),
    };
    let partial = opened.manifest.as_ref().and_then(|manifest| manifest.partial.as_ref());
    Source {
        path: PathBuf::from(path),
        first: Some(partial.map_or(0, |partial| partial.logical_time + 1)),
        redactions: opened.redactions.of_run(),
        is_redacted: opened.redactions.count() > 0,
        run_id: opened.run_id(),
        ..source
    }
}

/// Why there is no answer.
enum Fault {
    Recording(DiffError),
    Bundle(ImportError, Option<Side>),
}

fn append(json: &mut JsonText, key: &str, found: std::result::Result<String, Fault>) {
    match found {
        Ok(text) => {
            json.syntax("{\"");
            json.syntax(key);
            json.syntax("\":");
            json.raw(text.as_bytes());
        }
        Err(fault) => {
            json.syntax("{\"error\":");
            match fault {
                Fault::Recording(error) => append_error(json, &error),
                Fault::Bundle(refusal, side) => append_refusal_of(json, &refusal, side),
            }
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
    append_side(json, error.side());
    json.syntax("}");
}

fn append_refusal_of(json: &mut JsonText, refusal: &ImportError, side: Option<Side>) {
    append_refusal_with(json, refusal, CANT_BE_READ, |json| append_side(json, side));
}

fn append_side(json: &mut JsonText, side: Option<Side>) {
    append_text(json, "side", side.map(Side::as_str));
}
