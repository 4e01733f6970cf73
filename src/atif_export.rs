//! `exportSession`.

use std::path::{Path, PathBuf};

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundles::NativeBundles;
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob};
use super::writing_job::{Reports, start_writing};
use session_tape_core::atif::{ExportError, Exported, export};
use session_tape_core::bundle::{ImportError, OpenedBundle, VerifyOptions, is_bundle, media_store};
use session_tape_core::lines::ReadError;
use session_tape_core::task::Task;

/// Writes the final history of the session at `source` to `destination`, in ATIF. The result has `steps` and `media`.
#[napi(catch_unwind)]
pub fn start_atif_export(
    bundles: &NativeBundles,
    source: String,
    destination: String,
    conversation: Option<String>,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes(false), move |task| match session_at(&source, task) {
        Ok((path, _opened)) => {
            let store = media_store(None, Path::new(&source), &path);
            end_of(export(&path, conversation, Path::new(&destination), store, task))
        }
        Err(refusal) => JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ)),
    })
}

/// The file of the session at a path, and the bundle that contains it, whose unpacked files are kept until it is dropped.
fn session_at(source: &str, task: &mut Task<'_>) -> std::result::Result<(PathBuf, Option<OpenedBundle>), ImportError> {
    if !is_bundle(Path::new(source)) {
        return Ok((PathBuf::from(source), None));
    }
    let opened = OpenedBundle::open(Path::new(source), &VerifyOptions::default(), task)?.expect_session()?;
    Ok((opened.log(), Some(opened)))
}

fn end_of(exported: std::result::Result<Exported, ExportError>) -> JobEnd {
    match exported {
        Ok(Exported { steps, media, damage }) => JobEnd::done_with(|json| {
            json.member("steps", &steps);
            json.member("media", &media);
            if let Some(damage) = damage {
                json.member("warnings", &[ReadError::Damaged(damage).to_string()]);
            }
        }),
        Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
    }
}
