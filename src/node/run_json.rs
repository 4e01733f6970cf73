//! What is said of a run, as JSON text: errors, and what else all of a run's functions have in common.

use super::json::JsonText;
use crate::disk::os_error::OsError;
use crate::run::error::RunError;

/// Appends what is wrong. What the system refused has the system's own code.
pub fn append_error(json: &mut JsonText, error: &RunError) {
    let code = error.system.as_ref().map_or(error.code.as_str(), |system| system.code);
    json.syntax("{\"code\":");
    json.string(code);
    append_text(json, "message", Some(&error.message));
    append_error_members(json, error);
    if let Some(system) = &error.system {
        append_system(json, system);
    }
    json.syntax("}");
}

/// Appends where it is, and what was expected and found.
pub fn append_error_members(json: &mut JsonText, error: &RunError) {
    if let Some(time) = error.time {
        append_key(json, "time");
        json.number(time as f64);
    }
    append_text(json, "eventId", error.event_id().as_deref());
    append_text(json, "expected", error.expected.as_deref());
    append_text(json, "found", error.found.as_deref());
}

/// Appends what the system said.
pub fn append_system(json: &mut JsonText, system: &OsError) {
    append_key(json, "errno");
    json.number(system.errno.into());
    append_text(json, "syscall", Some(system.syscall));
    append_text(json, "path", system.path.as_ref().map(|path| path.display().to_string()).as_deref());
}

/// Appends a member, if there is one, behind others.
pub fn append_text(json: &mut JsonText, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    append_key(json, key);
    json.string(value);
}

/// Appends the key of a member, behind others.
pub fn append_key(json: &mut JsonText, key: &str) {
    json.syntax(",\"");
    json.syntax(key);
    json.syntax("\":");
}
