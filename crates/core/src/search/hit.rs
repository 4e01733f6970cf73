//! What a search finds.

use crate::json::{Text, spells};
use crate::session::format::EventType;

/// The kinds of strings that are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The text of a text block.
    Text,
    /// The code of a code block.
    Code,
    /// The thought of a thinking block.
    Thinking,
    /// The name and the parameters of a tool call.
    ToolCall,
    /// The tool's name, the error and the result of a tool response.
    ToolResponse,
    /// The message of a session event.
    SessionEvent,
    /// A title, the name of the session, or that of a checkpoint.
    Name,
}

impl Field {
    /// All fields.
    pub const ALL: [Field; 7] = [
        Field::Text,
        Field::Code,
        Field::Thinking,
        Field::ToolCall,
        Field::ToolResponse,
        Field::SessionEvent,
        Field::Name,
    ];

    /// The name that users read.
    pub fn as_str(self) -> &'static str {
        match self {
            Field::Text => "text",
            Field::Code => "code",
            Field::Thinking => "thinking",
            Field::ToolCall => "tool_call",
            Field::ToolResponse => "tool_response",
            Field::SessionEvent => "session_event",
            Field::Name => "name",
        }
    }

    /// The bit of the field in a set of fields.
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Who an item is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Speaker {
    Human,
    Ai,
    Tool,
}

impl Speaker {
    /// All speakers.
    pub const ALL: [Speaker; 3] = [Speaker::Human, Speaker::Ai, Speaker::Tool];

    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Speaker::Human => "human",
            Speaker::Ai => "ai",
            Speaker::Tool => "tool",
        }
    }

    /// The speaker that the inside of a JSON string names.
    pub(super) fn of(inside: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|speaker| spells(inside, speaker.as_str()))
    }
}

/// A string that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The number of its line, from 1.
    pub line: u64,
    /// The `seq` of the event, if it is a number.
    pub seq: Option<f64>,
    /// The `ts` of the event as JSON, if it is a string.
    pub ts: Option<Box<[u8]>>,
    /// The type of the event.
    pub event_type: EventType,
    /// The speaker of the item, if it is one of the known ones.
    pub speaker: Option<Speaker>,
    /// Which kind of string it is.
    pub field: Field,
    /// The name of the tool as JSON, for the strings of its calls and responses.
    pub tool: Option<Box<[u8]>>,
    /// The JSON pointer of the string in the payload.
    pub pointer: Text<'static>,
    /// The text around the first match.
    pub snippet: Text<'static>,
    /// The matches within the snippet, in UTF-16 units.
    pub ranges: Vec<(usize, usize)>,
    /// The number of matches in the whole string.
    pub matches: u64,
    /// Whether the item is in the history at the end of the file; `None` for what is no item.
    pub in_history: Option<bool>,
    /// The offsets of the line, and of the item in the file if the string is in one.
    pub(super) place: (u64, Option<u64>),
}
