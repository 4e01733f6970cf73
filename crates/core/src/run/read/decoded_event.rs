//! A decoded event, as the state needs it.

use crate::json::{Nesting, Text};
use crate::run::format::{ErrorCode, EventLine, Kind, Payload, RunError};

/// An event without the fields that only people and the chain need.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Logical time.
    pub time: u64,
    /// The graph node concerned.
    pub node: Option<Text<'a>>,
    /// Logical time of the event that caused it.
    pub parent: Option<u64>,
    /// The payload, which also determines the kind.
    pub payload: Payload<'a>,
}

impl<'a> Event<'a> {
    /// Decodes a line. This proves that the payload is one JSON object, so that a line from [`EventLine::split`] is enough. If the payload
    /// is not JSON, the error says what is wrong with the whole line.
    #[inline]
    pub fn decode(line: &EventLine<'a>, nesting: &mut Nesting) -> Result<Self, RunError> {
        let Some(kind) = Kind::parse(line.kind) else {
            return Err(Kind::unknown(line.kind).at(line.time));
        };
        let payload = Payload::parse(kind, line.payload, nesting).map_err(|error| match error.code {
            ErrorCode::NotAJsonLine => line.fault(),
            _ => error.at(line.time),
        })?;
        Ok(Event { time: line.time, node: line.node.map(Text::from_json), parent: line.parent, payload })
    }

    /// The kind of the event.
    pub fn kind(&self) -> Kind {
        self.payload.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, payload: &str) -> String {
        let hash = "0".repeat(64);
        format!(
            r#"{{"v":1,"time":7,"ts":"2026-01-01T00:00:00.000Z","kind":"{kind}","node":"a\u0062","parent":3,"payloadHash":"{hash}","stateHash":"{hash}","hash":"{hash}","salt":"{}","payload":{payload}}}"#,
            "0".repeat(32)
        )
    }

    fn read(line: &str) -> Result<Event<'_>, RunError> {
        Event::decode(&EventLine::split(line)?, &mut Nesting::default())
    }

    #[test]
    fn a_line_is_decoded() {
        let line = line("TaskAccepted", r#"{"task":"ab#1","worker":"w"}"#);
        let event = read(&line).unwrap();
        assert_eq!((event.time, event.parent, event.kind()), (7, Some(3), Kind::TaskAccepted));
        assert_eq!(event.node, Some(Text::from_plain("ab")));
    }

    #[test]
    fn an_error_names_its_event() {
        let error = read(&line("TaskTaken", "{}")).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::UnknownKind, Some(7)));
        let error = read(&line("TaskAccepted", r#"{"task":"ab#1"}"#)).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::MissingField, Some(7)));
        let error = read(&line("TaskAccepted", r#"{"task":"ab#1","worker":"w",}"#)).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::NotAJsonLine, Some(7)));
    }
}
