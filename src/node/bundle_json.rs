//! What is said of a bundle, as JSON text.

use super::json::JsonText;
use super::run_json::{append_key, append_text};
use crate::bundle::error::BundleError;
use crate::bundle::export::BundleInfo;
use crate::bundle::import::ImportError;
use crate::hash::as_text;

/// Appends what is wrong. What the system refused has the system's own code.
pub fn append_bundle_error(json: &mut JsonText, error: &BundleError) {
    json.syntax("{");
    append_fields(json, error, &error.message);
    json.syntax("}");
}

/// Appends why a bundle was not imported, or can't be read: the first problem, and all of them as `problems`.
pub fn append_refusal(json: &mut JsonText, refusal: &ImportError, what: &str) {
    append_refusal_with(json, refusal, what, |_| ());
}

/// The same, with other members behind.
pub fn append_refusal_with(json: &mut JsonText, refusal: &ImportError, what: &str, more: impl FnOnce(&mut JsonText)) {
    json.syntax("{");
    match refusal {
        ImportError::Failed(error) => append_fields(json, error, &error.message),
        ImportError::Refused { problems } => {
            let nothing = BundleError::cancelled();
            let first = problems.first().unwrap_or(&nothing);
            append_fields(json, first, &refusal_message(refusal, what));
            append_key(json, "problems");
            json.array(problems, append_bundle_error);
        }
    }
    more(json);
    json.syntax("}");
}

/// The same for people.
pub fn refusal_message(refusal: &ImportError, what: &str) -> String {
    match refusal {
        ImportError::Failed(error) => error.message.clone(),
        ImportError::Refused { problems } => {
            let first = problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
            match problems.len().saturating_sub(1) {
                0 => format!("{what}: {first}"),
                1 => format!("{what}: {first} (and 1 more problem)"),
                more => format!("{what}: {first} (and {more} more problems)"),
            }
        }
    }
}

fn append_fields(json: &mut JsonText, error: &BundleError, message: &str) {
    let code = error.system.as_ref().map_or(error.code.as_str(), |system| system.code);
    json.syntax("\"code\":");
    json.string(code);
    append_text(json, "message", Some(message));
    append_text(json, "path", error.path.as_deref());
    if let Some(system) = &error.system {
        append_key(json, "errno");
        json.number(system.errno.into());
        append_text(json, "syscall", Some(system.syscall));
        append_text(json, "path", system.path.as_ref().map(|path| path.display().to_string()).as_deref());
    }
}

/// Appends what a bundle is, in short.
pub fn append_info(json: &mut JsonText, info: &BundleInfo) {
    json.syntax("{\"bundleId\":");
    json.string(as_text(&info.bundle_id));
    append_text(json, "kind", Some(info.kind.as_str()));
    append_text(json, "path", Some(&info.path.to_string_lossy()));
    for (key, count) in
        [("files", info.files), ("bytes", info.bytes), ("events", info.events), ("redactions", info.redactions)]
    {
        append_key(json, key);
        json.number(count as f64);
    }
    append_key(json, "partial");
    json.syntax(if info.partial { "true" } else { "false" });
    json.syntax("}");
}
