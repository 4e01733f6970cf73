//! `metadata.json`: a description of the recording, for listings. Everything in it comes from the source, so that exports of the same
//! source have the same bytes on any machine.

use serde::Deserialize;

use super::error::{BundleCode, BundleError};
use super::manifest::BundleKind;
use super::path::METADATA;
use crate::json::{Field, FieldError, Nesting, Text, Writer, names};

/// Bundles are the same on every platform.
const PLATFORM: &str = "any";

/// The longest text, in bytes between the quotes. Longer ones are truncated, because readers limit the file to 1 MiB and the id of a
/// session may have any length.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The content of `metadata.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The kind of recording.
    pub kind: BundleKind,
    /// The id of the run or the session.
    pub id: Text<'static>,
    /// The name and version of a run's workflow.
    pub workflow: Option<(Text<'static>, Text<'static>)>,
    /// The status of a run after its last event. `None` for a session.
    pub status: Option<&'static str>,
    /// The number of lines in the log.
    pub events: u64,
    /// The number of blobs in the bundle.
    pub blobs: u64,
    /// What became of the objects that a session refers to. `None` if it refers to none.
    pub media: Option<MediaCounts>,
    /// `ts` of the first line, if it has one, as written in the line.
    pub started_at: Option<String>,
    /// `ts` of the event that ended a run, or of the last line of a session that has one.
    pub completed_at: Option<String>,
}

/// The objects that the references of a session name, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MediaCounts {
    /// How many are in the bundle.
    pub sealed: u64,
    /// How many are not, because they were missing or altered.
    pub missing: u64,
    /// The size of those in the bundle, in bytes.
    pub bytes: u64,
    /// How many were left out on purpose; `None` if none were to be.
    pub dropped: Option<u64>,
}

impl Metadata {
    /// Prints the document, as canonical JSON.
    pub(crate) fn print(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut object = Writer::new(&mut out).object();
        write_time(object.key("completedAt"), self.completed_at.as_deref());
        let mut counts = object.key("counts").object();
        counts.key("blobs").integer(self.blobs);
        counts.key("events").integer(self.events);
        counts.close();
        object.key("kind").text(self.kind.as_str());
        if let Some(MediaCounts { sealed, missing, bytes, dropped }) = self.media {
            let mut media = object.key("media").object();
            media.key("bytes").integer(bytes);
            if let Some(dropped) = dropped {
                media.key("dropped").integer(dropped);
            }
            media.key("missing").integer(missing);
            media.key("sealed").integer(sealed);
            media.close();
        }
        object.key("platform").text(PLATFORM);
        match self.kind {
            BundleKind::Run => write_truncated(object.key("runId"), &self.id),
            BundleKind::Session => write_truncated(object.key("sessionId"), &self.id),
        }
        write_time(object.key("startedAt"), self.started_at.as_deref());
        if let Some(status) = self.status {
            object.key("status").text(status);
        }
        let mut tool = object.key("tool").object();
        tool.key("name").text("session-tape");
        tool.key("version").text(env!("CARGO_PKG_VERSION"));
        tool.close();
        object.key("v").integer(1);
        if let Some((name, version)) = &self.workflow {
            let mut workflow = object.key("workflow").object();
            write_truncated(workflow.key("name"), name);
            write_truncated(workflow.key("version"), version);
            workflow.close();
        }
        object.close();
        out
    }
}

/// `time` is without the quotes and with its escapes.
fn write_time(out: Writer<'_>, time: Option<&str>) {
    match time {
        Some(time) => write_truncated(out, &Text::from_json(time)),
        None => out.json(b"null"),
    }
}

/// Writes a text, truncated to [`MAX_TEXT_BYTES`]. A truncated text is not truncated again when a bundle is exported.
fn write_truncated(out: Writer<'_>, text: &Text<'_>) {
    let inside = text.as_json();
    if inside.len() <= MAX_TEXT_BYTES {
        return out.text(inside);
    }
    let beginning = &inside[..last_boundary(inside, MAX_TEXT_BYTES - ELLIPSIS.len())];
    out.text(&[beginning, ELLIPSIS].concat());
}

/// The end of a truncated text.
const ELLIPSIS: &str = "…";

/// The last offset up to `limit` that is not in the middle of a character or an escape.
fn last_boundary(inside: &str, limit: usize) -> usize {
    let (mut at, mut rest) = (0, inside);
    loop {
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => rest.chars().next().map_or(0, char::len_utf8),
        };
        if length == 0 || at + length > limit {
            return at;
        }
        at += length;
        rest = rest.get(length..).unwrap_or_default();
    }
}

#[derive(Deserialize)]
struct Document {
    v: u64,
    kind: String,
    counts: Counts,
    media: Option<MediaCounts>,
}

#[derive(Deserialize)]
struct Counts {
    events: u64,
}

/// The metadata of a partial bundle about the beginning of the run, which its log does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunSummary {
    /// The run's id, and its workflow's name and version.
    pub created: [Text<'static>; 3],
    /// `ts` of the first event, as written in its line, if it is known.
    pub started_at: Option<String>,
}

/// Parses the metadata of a run.
pub(crate) fn summary_of_run(document: &str) -> Result<RunSummary, BundleError> {
    let nesting = &mut Nesting::default();
    let mut read = || {
        let [id, started_at, workflow] = Field::read(document, names!["runId", "startedAt", "workflow"], nesting)?;
        let [name, version] = Field::read(workflow.required("an object")?, names!["name", "version"], nesting)?;
        let created = [id.id()?, name.text()?, version.text()?].map(Text::into_owned);
        let started_at = started_at.optional(Field::text)?.map(|time| time.as_json().to_owned());
        Ok::<_, FieldError>(RunSummary { created, started_at })
    };
    read().map_err(|error| BundleError::about(BundleCode::MetadataInvalid, METADATA, error))
}

/// Checks that a document is valid metadata for a bundle of this kind whose log has `events` lines. Returns what it says of media.
pub(crate) fn check(document: &[u8], kind: BundleKind, events: u64) -> Result<Option<MediaCounts>, BundleError> {
    let invalid = |why: &str| BundleError::about(BundleCode::MetadataInvalid, METADATA, why);
    let read: Document = serde_json::from_slice(document).map_err(|error| invalid(&error.to_string()))?;
    if read.v != 1 {
        let message = format!("it is of version {}, and this release reads version 1; a newer one may", read.v);
        return Err(BundleError::about(BundleCode::UnsupportedVersion, METADATA, message));
    }
    if read.kind != kind.as_str() || read.counts.events != events {
        return Err(invalid("it says another kind or another number of events than the manifest"));
    }
    Ok(read.media)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_session(id: &str) -> Metadata {
        Metadata {
            kind: BundleKind::Session,
            id: Text::from_json(id).into_owned(),
            workflow: None,
            status: None,
            events: 1,
            blobs: 0,
            media: None,
            started_at: Some(id.to_owned()),
            completed_at: Some(id.to_owned()),
        }
    }

    #[test]
    fn long_texts_are_truncated_once() {
        for unit in ["x", "é", "\\ud800", "\\u0001", "\\\"", "😀", "x\\n"] {
            for padding in 0..7 {
                let id = "-".repeat(padding) + &unit.repeat(2 * MAX_TEXT_BYTES / unit.len());
                let document = of_session(&id).print();
                assert!(document.len() < 3 * MAX_TEXT_BYTES + 1000);
                assert_eq!(check(&document, BundleKind::Session, 1), Ok(None));
                let document = String::from_utf8(document).unwrap();
                let cut = document.split("\"sessionId\":\"").nth(1).unwrap().split("\",\"startedAt\"").next().unwrap();
                let beginning = cut.strip_suffix('…').unwrap();
                assert!(id.starts_with(beginning) && beginning.len() + 16 > MAX_TEXT_BYTES, "{}", beginning.len());
                assert_eq!(of_session(cut).print(), document.as_bytes());
            }
        }
    }

    #[test]
    fn metadata_is_canonical_and_independent_of_the_machine() {
        let metadata = Metadata {
            kind: BundleKind::Run,
            id: Text::from_plain("r\"1").into_owned(),
            workflow: Some((Text::from_plain("w").into_owned(), Text::from_plain("1").into_owned())),
            status: Some("Completed"),
            events: 3,
            blobs: 1,
            media: None,
            started_at: Some("2026-02-11T16:00:00.000Z".into()),
            completed_at: None,
        };
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(
            r#"{{"completedAt":null,"counts":{{"blobs":1,"events":3}},"kind":"run","platform":"any","runId":"r\"1","startedAt":"2026-02-11T16:00:00.000Z","status":"Completed","tool":{{"name":"session-tape","version":"{version}"}},"v":1,"workflow":{{"name":"w","version":"1"}}}}"#
        );
        assert_eq!(String::from_utf8(metadata.print()).unwrap(), expected);
        let code = |text: &str, kind, events| check(text.as_bytes(), kind, events).err().map(|error| error.code);
        assert_eq!(code(&expected, BundleKind::Run, 3), None);
        assert_eq!(code(&expected, BundleKind::Run, 4), Some(BundleCode::MetadataInvalid));
        assert_eq!(code(&expected, BundleKind::Session, 3), Some(BundleCode::MetadataInvalid));
        assert_eq!(code("{", BundleKind::Run, 3), Some(BundleCode::MetadataInvalid));
        assert_eq!(
            code(&expected.replace("\"v\":1", "\"v\":9"), BundleKind::Run, 3),
            Some(BundleCode::UnsupportedVersion)
        );
    }
}
