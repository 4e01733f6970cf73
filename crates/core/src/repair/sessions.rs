//! The sessions of one file: which of them a record belongs to. A record does not say so itself; the last `session_start` before it does.

use super::record::is_start;
use super::search::FoundRecord;
use crate::json::decode;
use crate::session::format::{EventType, Line};

/// Maximum number of other sessions that are listed.
const MAX_OTHERS: usize = 1000;

/// Another session in the same file: lines of it that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherSession {
    /// Its id; `None` if its `session_start` is lost.
    pub session_id: Option<String>,
    /// The line of its first record, from 1.
    pub first_line: u64,
    /// The line of its last record.
    pub last_line: u64,
}

/// The session that a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The first one, whose `session_start` is further on or lost.
    Nameless,
    Wanted,
    Other,
}

/// Finds the owners of records, in order.
pub(super) struct Sessions {
    /// The id of the session that is repaired. If none was asked for, it is the first.
    wanted: Option<String>,
    has_wanted: bool,
    owner: Owner,
    nameless: Option<OtherSession>,
    /// The number of the last record before the first `session_start`.
    nameless_number: Option<f64>,
    /// Whether the first `session_start` is that of the records before it; not known before there is a record after it.
    takes_nameless: Option<bool>,
    has_start: bool,
    first_is_wanted: bool,
    others: Vec<OtherSession>,
    unlisted: u64,
}

impl Sessions {
    pub(super) fn new(wanted: Option<String>) -> Self {
        Sessions {
            wanted,
            has_wanted: false,
            owner: Owner::Nameless,
            nameless: None,
            nameless_number: None,
            takes_nameless: None,
            has_start: false,
            first_is_wanted: false,
            others: Vec::new(),
            unlisted: 0,
        }
    }

    /// The owner of the next record.
    pub(super) fn owner_of(&mut self, record: &FoundRecord<'_>) -> Owner {
        let number = record.envelope.number(record.text);
        match id_of_start(record) {
            Some(id) if self.has_start || is_start(&record.envelope, record.text) => self.start(id, record),
            _ => {
                if self.has_start && self.takes_nameless.is_none() {
                    // A session that goes on behind its start does not begin again with the first numbers.
                    let goes_on = number.zip(self.nameless_number).is_none_or(|(number, last)| number > last);
                    self.takes_nameless = Some(goes_on);
                }
                self.go_on(record);
            }
        }
        if self.owner == Owner::Nameless {
            self.nameless_number = number.or(self.nameless_number);
        }
        self.owner
    }

    fn start(&mut self, id: String, record: &FoundRecord<'_>) {
        if self.has_start {
            self.takes_nameless.get_or_insert(true);
        }
        let wanted = self.wanted.get_or_insert_with(|| id.clone());
        let is_wanted = *wanted == id && (self.has_wanted || is_start(&record.envelope, record.text));
        self.first_is_wanted |= is_wanted && !self.has_start;
        (self.has_start, self.has_wanted) = (true, self.has_wanted || is_wanted);
        let earlier = self.others.last().filter(|_| self.owner == Owner::Other && self.unlisted == 0);
        let goes_on = earlier.is_some_and(|earlier| earlier.session_id.as_ref() == Some(&id));
        self.owner = if is_wanted { Owner::Wanted } else { Owner::Other };
        if goes_on {
            self.go_on(record);
        } else if !is_wanted {
            self.list(OtherSession { session_id: Some(id), first_line: record.lines.0, last_line: record.lines.1 });
        }
    }

    fn list(&mut self, other: OtherSession) {
        if self.others.len() < MAX_OTHERS {
            self.others.push(other);
        } else {
            self.unlisted += 1;
        }
    }

    fn go_on(&mut self, record: &FoundRecord<'_>) {
        let (first_line, last_line) = record.lines;
        let other = match self.owner {
            Owner::Nameless => self.nameless.get_or_insert(OtherSession { session_id: None, first_line, last_line }),
            Owner::Other if self.unlisted == 0 => match self.others.last_mut() {
                Some(other) => other,
                None => return,
            },
            _ => return,
        };
        other.last_line = last_line;
    }

    /// Whether the records before the first `session_start` are those of the session that is repaired.
    /// `None` until that is known.
    pub(super) fn takes_nameless(&self) -> Option<bool> {
        if self.first_is_wanted && self.nameless.is_some() { self.takes_nameless } else { Some(false) }
    }

    /// What is to be repaired, at the end of the text; the ids that there are if the wanted one is not.
    pub(super) fn choose(mut self) -> Result<Choice, Vec<String>> {
        let takes_nameless = self.takes_nameless.unwrap_or(true);
        let has_nameless = self.nameless.is_some() && !(self.has_start && takes_nameless);
        let takes = match (self.has_wanted, has_nameless) {
            (true, _) if self.takes_nameless() != Some(false) => Takes::Both,
            (true, _) => Takes::Wanted,
            (false, true) => Takes::Nameless,
            (false, false) => {
                let mut ids: Vec<String> = self.others.into_iter().filter_map(|other| other.session_id).collect();
                ids.sort_unstable();
                ids.dedup();
                return Err(ids);
            }
        };
        if takes == Takes::Wanted
            && let Some(nameless) = self.nameless
        {
            match self.others.first_mut() {
                Some(first) if takes_nameless => first.first_line = nameless.first_line,
                _ => self.others.insert(0, nameless),
            }
        }
        Ok(Choice { takes, wanted: self.wanted, others: self.others, unlisted: self.unlisted })
    }
}

/// Which records of a text are repaired.
pub(super) struct Choice {
    pub takes: Takes,
    pub wanted: Option<String>,
    pub others: Vec<OtherSession>,
    /// The number of others that are not listed.
    pub unlisted: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nameless,
    Wanted,
    Both,
}

impl Takes {
    pub(super) fn includes(self, owner: Owner) -> bool {
        match owner {
            Owner::Nameless => self != Takes::Wanted,
            Owner::Wanted => self != Takes::Nameless,
            Owner::Other => false,
        }
    }
}

/// The id that a `session_start` has.
fn id_of_start(record: &FoundRecord<'_>) -> Option<String> {
    if EventType::of(record.envelope.event_type.of(record.text)) != Some(EventType::SessionStart) {
        return None;
    }
    let id = Line::session_id(record.text)?;
    Some(String::from_utf16_lossy(&decode(id.of(record.text)).collect::<Vec<_>>()))
}
