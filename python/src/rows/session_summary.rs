//! Summarises a session as a replay of it would.

use super::session_rows::SessionPart;
use session_tape_core::diff::Tree;
use session_tape_core::json::Text;
use session_tape_core::session::fold::{Effect, FoldOptions, HistoryEffect, Start};
use session_tape_core::session::format::Mode;

/// The summary of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionSummary {
    /// Why it can't be replayed. All other fields are then empty.
    pub error: Option<String>,
    /// Its id.
    pub session_id: Option<String>,
    /// The hash of its project.
    pub project_hash: Option<String>,
    /// The start time that it has recorded.
    pub start_time: Option<String>,
    /// The provider at its start, and at its end.
    pub providers: [Option<String>; 2],
    /// The model at its start, and at its end.
    pub models: [Option<String>; 2],
    /// The last title.
    pub title: Option<String>,
    /// The last name.
    pub name: Option<String>,
    /// The session that it was forked from.
    pub parent_session_id: Option<String>,
    /// Whether some `seq` is not larger than the one before it.
    pub sequence_corrupt: bool,
    /// Number of items in the final history.
    pub history_length: u64,
}

/// Combines the parts of a session, in order.
#[derive(Default)]
pub struct SessionFold(Effect);

impl SessionFold {
    /// Adds the next part. Discards its history and its session events, of which there can be any number.
    pub fn add(&mut self, part: SessionPart) {
        let mut effect = part.effect;
        effect.history = HistoryEffect::default();
        effect.session_events = Vec::new();
        self.0 = std::mem::take(&mut self.0).then(effect);
    }

    /// Whether the lines so far begin with a valid `session_start`.
    pub fn is_session(&self) -> bool {
        matches!(self.0.start, Start::Metadata(_))
    }

    /// The session's id and the hash of its project, if the lines so far begin with a valid `session_start`.
    pub fn ids(&self) -> (Option<String>, Option<String>) {
        match &self.0.start {
            Start::Metadata(start) => (text(&start.session_id), text(&start.project_hash)),
            _ => (None, None),
        }
    }

    /// The summary of the session, given the number of items in its final history.
    pub fn finish(mut self, history_length: u64) -> SessionSummary {
        self.0.settle_beginning();
        let effect = &self.0;
        if let Some(error) = effect.error(&FoldOptions::default()) {
            return SessionSummary { error: Some(error.message().to_string()), ..SessionSummary::default() };
        }
        let Start::Metadata(start) = &effect.start else { return SessionSummary::default() };
        let last = effect.current(start, Mode::Lenient);
        SessionSummary {
            error: None,
            session_id: text(last.session_id),
            project_hash: text(last.project_hash),
            start_time: filled(last.start_time),
            providers: [&start.provider[..], last.provider].map(filled),
            models: [&start.model[..], last.model].map(filled),
            title: last.title.and_then(text),
            name: effect.session_name.as_deref().and_then(text),
            parent_session_id: effect.ancestry.as_deref().and_then(parent),
            sequence_corrupt: effect.is_out_of_sequence,
            history_length,
        }
    }
}

/// The text of a JSON string; `None` for `null`.
pub fn text(json: &[u8]) -> Option<String> {
    let json = String::from_utf8_lossy(json);
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    Some(Text::from_json(inside).to_plain().into_owned())
}

fn filled(json: &[u8]) -> Option<String> {
    text(json).filter(|text| !text.is_empty())
}

fn parent(ancestry: &[u8]) -> Option<String> {
    let tree = Tree::parse(ancestry)?;
    let parent = tree.string(tree.at(&["parentSessionId"])?)?;
    Some(parent.to_plain().into_owned())
}
