//! Warnings of a replay about unusable lines, and their totals (`docs/session-format.md` section 2, rules 6–14).

use crate::session::format::{EventType, Fault, Message, MessagePart, Mode, js_number, one_decimal};

/// The maximum number of warnings about lines. Further ones are only counted.
pub(super) const SHOWN_WARNINGS: usize = 100;

/// A warning about a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The number of the line in the file, from 1.
    pub line: u64,
    /// The kind of problem.
    pub problem: Problem,
}

/// The kind of a warning.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// `JSON.parse` would refuse the line.
    Unparseable,
    /// The line's `seq` is not larger than the one before.
    NonMonotonicSeq {
        /// The `seq` of the line.
        seq: f64,
        /// The last `seq` before it.
        last: f64,
    },
    /// A second `session_start`, or one that does not come first.
    MisplacedStart,
    /// An event of a known type with an invalid payload.
    Malformed(EventType, Fault),
    /// Strict mode: a line whose `seq` is missing or invalid.
    MalformedSeq,
    /// An event of an unknown type: the JSON text of `type`, `None` if it is missing.
    UnknownType(Option<Box<[u8]>>),
}

impl Warning {
    /// The text of the warning.
    pub fn message(&self) -> Message<'_> {
        let line = self.line;
        match &self.problem {
            Problem::Unparseable => Message::text(format!("Line {line}: failed to parse JSON")),
            Problem::NonMonotonicSeq { seq, last } => Message::text(format!(
                "Line {line}: non-monotonic seq {} (expected > {})",
                js_number(*seq),
                js_number(*last)
            )),
            Problem::MisplacedStart => Message::text(format!("session_start at line {line} (expected line 1)")),
            Problem::Malformed(EventType::Rewind, Fault::Cut) => {
                Message::text(format!("Line {line}: malformed rewind cut marker, falling back to item count"))
            }
            Problem::Malformed(event_type, fault) => {
                Message::text(format!("Line {line}: malformed {}, skipping", malformed_name(*event_type, *fault)))
            }
            Problem::MalformedSeq => Message::text(format!("Line {line}: malformed sequence number, skipping")),
            Problem::UnknownType(name) => Message(vec![
                MessagePart::Text(format!("Line {line}: unknown event type '").into()),
                name.as_deref().map_or(MessagePart::Text("undefined".into()), MessagePart::Json),
                MessagePart::Text("', skipping".into()),
            ]),
        }
    }
}

/// What is malformed, in a warning's words.
fn malformed_name(event_type: EventType, fault: Fault) -> String {
    let name = event_type.as_str();
    match fault {
        Fault::Event if event_type == EventType::SessionEvent => name.to_owned(),
        Fault::Event | Fault::Cut => format!("{name} event"),
        Fault::Title => format!("{name} title"),
        Fault::CheckpointId => format!("{name} event (missing checkpointId)"),
        Fault::Name => format!("{name} event (missing name)"),
    }
}

/// The warnings of some lines, in file order: the first [`SHOWN_WARNINGS`], and how many there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warnings {
    shown: Vec<Warning>,
    total: u64,
}

impl Warnings {
    /// The number of warnings, shown or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a warning at the end.
    pub fn push(&mut self, line: u64, problem: Problem) {
        self.total += 1;
        if self.shown.len() < SHOWN_WARNINGS {
            self.shown.push(Warning { line, problem });
        }
    }

    /// Inserts a warning about the `seq` of a line, which precedes the one about its event.
    pub fn insert_about_seq(&mut self, warning: Warning) {
        self.insert(self.shown.partition_point(|other| other.line < warning.line), warning);
    }

    /// Inserts a warning about the event of a line.
    pub fn insert_about_event(&mut self, warning: Warning) {
        self.insert(self.shown.partition_point(|other| other.line <= warning.line), warning);
    }

    fn insert(&mut self, at: usize, warning: Warning) {
        self.total += 1;
        if at < SHOWN_WARNINGS {
            self.shown.insert(at, warning);
            self.shown.truncate(SHOWN_WARNINGS);
        }
    }

    /// Adds the warnings of later lines, whose numbers are relative to the first `lines` lines.
    pub fn append(&mut self, later: Warnings, lines: u64) {
        self.total += later.total;
        let room = SHOWN_WARNINGS - self.shown.len();
        self.shown.extend(
            later.shown.into_iter().take(room).map(|warning| Warning { line: warning.line + lines, ..warning }),
        );
    }

    /// The texts of the shown warnings, and of the number of others (rule 14, first part).
    pub fn messages(&self) -> Vec<Message<'_>> {
        let mut messages: Vec<_> = self.shown.iter().map(Warning::message).collect();
        let hidden = self.total - self.shown.len() as u64;
        if hidden > 0 {
            messages.push(Message::text(format!("Replay: {hidden} further warnings not shown")));
        }
        messages
    }
}

/// Counts of lines by the result of reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that are JSON, except `null` and, in strict mode, those without a valid `seq`.
    pub events: u64,
    /// Of these, events of an unknown type.
    pub unknown: u64,
    /// Of these, events of a known type with an invalid payload.
    pub malformed: u64,
    /// Lines that are not JSON.
    pub unparseable: u64,
    /// Strict mode: lines that parsed but have no valid `seq`. They are not events.
    pub without_seq: u64,
}

impl Tally {
    /// Adds the counts of other lines.
    pub fn add(&mut self, other: Tally) {
        self.events += other.events;
        self.unknown += other.unknown;
        self.malformed += other.malformed;
        self.unparseable += other.unparseable;
        self.without_seq += other.without_seq;
    }

    /// The summary warnings of a replay (rule 14, second part; in strict mode rule 22).
    pub fn messages(&self, mode: Mode) -> Vec<Message<'static>> {
        let lines = self.events + self.unparseable + self.without_seq;
        let malformed = self.malformed + self.without_seq;
        if mode == Mode::Strict {
            return alarm(malformed + self.unparseable, lines, "session events are malformed").into_iter().collect();
        }
        let mut messages = Vec::new();
        if malformed > 0 {
            messages.push(Message::text(format!("Replay: {malformed} malformed events skipped")));
        }
        messages.extend(alarm(malformed, self.events - self.unknown, "known events are malformed"));
        messages.extend(alarm(self.unparseable, lines, "lines are unparseable"));
        messages
    }
}

/// A warning if more than 5 % of the events or lines are bad.
fn alarm(bad: u64, all: u64, what: &str) -> Option<Message<'static>> {
    if all == 0 || bad as f64 / all as f64 <= 0.05 {
        return None;
    }
    let percent = one_decimal(100.0 * bad as f64 / all as f64);
    Some(Message::text(format!("WARNING: >{percent}% of {what} ({bad}/{all})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(messages: &[Message<'_>]) -> Vec<String> {
        messages.iter().map(Message::to_string).collect()
    }

    #[test]
    fn hundred_warnings_are_shown_and_the_rest_counted() {
        let mut warnings = Warnings::default();
        for line in 1..=100 {
            warnings.push(line, Problem::Unparseable);
        }
        assert_eq!(warnings.messages().len(), 100);
        warnings.push(101, Problem::Unparseable);
        assert_eq!(texts(&warnings.messages())[100], "Replay: 1 further warnings not shown");
        warnings.insert_about_seq(Warning { line: 1, problem: Problem::MisplacedStart });
        let messages = texts(&warnings.messages());
        assert_eq!(messages.len(), 101);
        assert_eq!(messages[0], "session_start at line 1 (expected line 1)");
        assert_eq!(messages[99], "Line 99: failed to parse JSON");
        assert_eq!(messages[100], "Replay: 2 further warnings not shown");
    }

    #[test]
    fn summary_warnings_begin_above_five_percent() {
        let tally = |events, unknown, malformed, unparseable| {
            texts(&Tally { events, unknown, malformed, unparseable, without_seq: 0 }.messages(Mode::Lenient))
        };
        assert_eq!(tally(20, 0, 1, 0), ["Replay: 1 malformed events skipped"]);
        assert_eq!(
            tally(19, 0, 1, 0),
            ["Replay: 1 malformed events skipped", "WARNING: >5.3% of known events are malformed (1/19)"]
        );
        assert_eq!(tally(19, 0, 0, 1), Vec::<String>::new());
        assert_eq!(tally(15, 0, 0, 1), ["WARNING: >6.3% of lines are unparseable (1/16)"]);
        assert_eq!(tally(0, 0, 0, 3), ["WARNING: >100.0% of lines are unparseable (3/3)"]);
    }

    #[test]
    fn in_strict_mode_one_summary_counts_malformed_events_and_unparseable_lines() {
        let tally = |events, unknown, malformed, unparseable, without_seq| {
            texts(&Tally { events, unknown, malformed, unparseable, without_seq }.messages(Mode::Strict))
        };
        assert_eq!(tally(10, 2, 1, 1, 2), ["WARNING: >30.8% of session events are malformed (4/13)"]);
        assert_eq!(tally(20, 0, 1, 0, 0), Vec::<String>::new());
        // Neither of the two alone is above the limit.
        assert_eq!(tally(38, 0, 1, 1, 0), ["WARNING: >5.1% of session events are malformed (2/39)"]);
        assert_eq!(tally(0, 0, 0, 3, 0), ["WARNING: >100.0% of session events are malformed (3/3)"]);
    }
}
