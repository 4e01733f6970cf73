//! Converts a source: detects its format, finds its conversations, and passes its records through the format to the builder.

use std::collections::BTreeMap;
use std::path::Path;

use super::Stop;
use super::builder::{Builder, Built, Receipt, Start};
use super::format::{Lane, Opening, Reader, Record};
use super::formats::{ForeignFormat, Statics};
use super::origin::Origins;
use super::receipt::{Entry, Reason, Summary};
use super::records::{Content, Found, HEAD_BYTES, Head, Layout, Records, read_beginning};
use super::time::{UNKNOWN, time_of};
use super::value::{Json, json_text};
use crate::archived::may_be_archive;
use crate::lines::{LineSource, ReadError};

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// A native session.
    Native,
    /// A session of another program.
    Foreign(ForeignFormat),
    /// Neither. It is read as native.
    Unknown,
}

/// Which conversation of a source is converted, and how.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// The id of a conversation or of its agent. Needed if there are several equal ones.
    pub conversation: Option<String>,
    /// Whether the entries of the receipt are collected.
    pub receipt: bool,
    /// Whether to find out from which record each event comes.
    pub origins: bool,
    /// Whether only the `session_start` is wanted, for which the records are not read.
    pub start_only: bool,
    /// What the `session_start` says instead of what the source does.
    pub session_id: Option<String>,
    /// The id in the `session_start` if the source has none. By default a random one.
    pub unknown_id: Option<String>,
    /// The hash of the project, as JSON text.
    pub project_hash: Option<Vec<u8>>,
    /// The directories, as a JSON array.
    pub workspace_dirs: Option<Vec<u8>>,
}

/// A converted session.
pub struct Conversion {
    /// The native session.
    pub native: LineSource,
    /// What became of the records.
    pub summary: Summary,
    /// The format of the source.
    pub format: ForeignFormat,
    /// The id in the `session_start`.
    pub session_id: String,
    /// When the session began, as it stands in the `session_start`.
    pub start_time: String,
    /// The number of the last event.
    pub last_seq: u64,
    /// The time of the last record that states one.
    pub end_time: String,
    /// Number of items that were placed.
    pub items: u64,
    /// A title from the first text of a person, if the source has none.
    pub title: Option<String>,
    /// Where the events come from, if that was wanted.
    pub origins: Option<Origins>,
    /// Whether its last line is not JSON, as a crash leaves it.
    pub is_torn: bool,
    /// If the source is an archive that is damaged, the size of its content before that.
    pub damage: Option<u64>,
    receipt: Option<Receipt>,
}

impl Conversion {
    /// The next entry of the receipt, in source order.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, Stop> {
        self.receipt.as_mut().map_or(Ok(None), Receipt::next)
    }

    /// The line of the native session that begins at `offset`, without its ending.
    pub fn line_at(&self, offset: u64) -> Result<Vec<u8>, Stop> {
        let (mut line, mut block) = (Vec::new(), vec![0; LINE_BYTES]);
        loop {
            let count = super::records::read_fully(&self.native, &mut block, offset + line.len() as u64)?;
            let end = memchr::memchr(b'\n', &block[..count]);
            line.extend_from_slice(&block[..end.unwrap_or(count)]);
            if end.is_some() || count < block.len() {
                return Ok(line);
            }
        }
    }
}

/// A conversation of a source.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The id of the session. Empty if the source has none.
    pub session_id: String,
    /// The id of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The time of its first record.
    pub start_time: String,
    /// Number of its records.
    pub records: u64,
}

/// A source whose format is known.
struct Known {
    source: LineSource,
    beginning: Vec<u8>,
    format: ForeignFormat,
}

/// The result of a look at a source.
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and lives shortly")]
enum Looked {
    Known(Box<Known>),
    /// It is read as it is.
    Other(Detected, LineSource),
}

impl Known {
    fn head(&self) -> Result<Head<'_>, Stop> {
        head_of(&self.source, &self.beginning)
    }
}

fn head_of<'a>(source: &LineSource, beginning: &'a [u8]) -> Result<Head<'a>, Stop> {
    Head::of(beginning, beginning.len() as u64 >= source.size())
}

/// Number of bytes that are read at a time to find the end of a line.
const LINE_BYTES: usize = 4 << 10;

/// Number of bytes that are read at first: enough for the `session_start` of a native session.
const FIRST_BYTES: usize = 8 << 10;

/// Whether the first line is a `session_start`, so that nothing else has to be looked at.
fn begins_as_native(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(crate::disk::BOM).unwrap_or(beginning);
    let line = memchr::memchr(b'\n', text).map_or(text, |end| &text[..end]);
    Json::parse(line).is_some_and(|value| is_start(&value.object()))
}

fn first_bytes(source: &LineSource) -> Result<Vec<u8>, ReadError> {
    let mut bytes = vec![0; FIRST_BYTES.min(usize::try_from(source.size()).unwrap_or(FIRST_BYTES))];
    let count = super::records::read_fully(source, &mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

fn is_start(fields: &super::value::Object<'_>) -> bool {
    fields.is("type", "session_start") && fields.get("payload").is_some_and(Json::is_object)
}

fn look(source: LineSource) -> Result<Looked, Stop> {
    let first = first_bytes(&source)?;
    if begins_as_native(&first) {
        return Ok(Looked::Other(Detected::Native, source));
    }
    if may_be_archive(&first) {
        // A bundle: nothing more of it is read.
        return Ok(Looked::Other(Detected::Unknown, source));
    }
    let beginning = read_beginning(&source)?;
    let head = head_of(&source, &beginning)?;
    if head.first_lines().iter().any(is_start) {
        return Ok(Looked::Other(Detected::Native, source));
    }
    match ForeignFormat::of(&head) {
        Some(format) => Ok(Looked::Known(Box::new(Known { source, beginning, format }))),
        None => Ok(Looked::Other(Detected::Unknown, source)),
    }
}

/// What the file at `path` is, from its first 4 MiB. No more of it is read or unpacked.
pub fn detect_at(path: &Path) -> Result<Detected, Stop> {
    // One byte more tells whether it goes on.
    Ok(match look(LineSource::open_beginning(path, HEAD_BYTES + 1)?)? {
        Looked::Known(known) => Detected::Foreign(known.format),
        Looked::Other(other, _) => other,
    })
}

/// A source that was offered for conversion.
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and lives shortly")]
pub enum Converted {
    /// It was a foreign session.
    Foreign(Box<Conversion>),
    /// It is read as it is.
    Native(LineSource),
}

/// Converts a source if it is a foreign session.
///
/// `progress` is called with how many bytes of the source are read, and its size.
pub fn convert(
    source: LineSource,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Converted, Stop> {
    let known = match look(source)? {
        Looked::Known(known) => known,
        Looked::Other(_, source) => return Ok(Converted::Native(source)),
    };
    Ok(match convert_known(&known, options, progress)? {
        Some(conversion) => Converted::Foreign(Box::new(conversion)),
        None => Converted::Native(known.source),
    })
}

/// The conversations of a source, in the order of their first records. `None` if it is not a foreign session.
pub(crate) fn list_conversations(source: LineSource) -> Result<Option<(ForeignFormat, Vec<Conversation>)>, Stop> {
    let Looked::Known(known) = look(source)? else { return Ok(None) };
    let listed = list_known(&known, &known.format.statics(), &known.head()?)?;
    let Some(listed) = listed else { return Ok(None) };
    Ok(Some((known.format, listed.into_iter().map(|(_, conversation)| conversation).collect())))
}

fn convert_known(
    known: &Known,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<Conversion>, Stop> {
    let (head, statics) = (known.head()?, known.format.statics());
    let lane = match choose(known, &statics, &head, options.conversation.as_deref())? {
        Some(lane) => lane,
        None => return Ok(None),
    };
    let layout = (statics.layout)(&head);
    let mut records = Records::new(&known.source, layout, options.receipt || options.origins);
    if !records.prepare()? {
        return Ok(None);
    }
    let (mut format, start) =
        (statics.open)(&Opening { head: &head, source: &known.source, document: records.document_head(), lane })?;
    let start = overridden(start, options);
    let unknown_id = options.unknown_id.as_ref().filter(|_| start.session_id.is_empty());
    let session_id = options.session_id.as_ref().or(unknown_id).cloned();
    let session_id = session_id.unwrap_or_else(|| valid_id(&start.session_id));
    let mut builder = Builder::new(known.format.as_str(), statics.shape, options.receipt, options.origins);
    builder.start(&start, &session_id);
    let (size, mut is_torn) = (known.source.size(), false);
    if !options.start_only {
        is_torn = pass_records(&mut records, &mut *format, layout, &mut builder, &mut |bytes| progress(bytes, size))?;
        format.end(&known.source, &mut builder)?;
    }
    let Built { native, receipt, origins, mut summary, last_seq, end_time, items, title } =
        builder.finish(known.source.size(), records.into_hashes()?)?;
    let damage = known.source.damage();
    if let Some(damage) = damage {
        summary.warnings.insert(0, ReadError::Damaged(damage).to_string());
    }
    let native = native.into_source()?;
    let start_time = start.start_time.as_deref().unwrap_or(UNKNOWN).to_owned();
    let format = known.format;
    let end_time = String::from(end_time);
    Ok(Some(Conversion {
        native,
        summary,
        format,
        session_id,
        start_time,
        last_seq,
        end_time,
        items,
        title,
        origins,
        is_torn,
        damage,
        receipt,
    }))
}

fn overridden(start: Start, options: &ConvertOptions) -> Start {
    Start {
        project_hash: options.project_hash.clone().or(start.project_hash),
        workspace_dirs: options.workspace_dirs.clone().or(start.workspace_dirs),
        ..start
    }
}

/// Number of records after which progress is reported.
const RECORDS_BETWEEN_PROGRESS: u64 = 64;

/// Passes all records to the format. Returns whether the last one is torn.
fn pass_records(
    records: &mut Records<'_>,
    format: &mut dyn Reader,
    layout: Layout,
    out: &mut Builder,
    progress: &mut dyn FnMut(u64),
) -> Result<bool, Stop> {
    let (mut count, mut is_torn) = (0_u64, false);
    while let Some(Found { place, content }) = records.next()? {
        if count.is_multiple_of(RECORDS_BETWEEN_PROGRESS) {
            progress(place.offset);
        }
        count += 1;
        out.begin_record(place);
        match content {
            Content::Unparseable { is_last } => {
                is_torn = is_last;
                if !is_last {
                    out.warn(format!("Line {}: failed to parse JSON", place.line));
                }
                out.drop(Reason::Unparseable);
            }
            Content::TooLarge => out.drop(Reason::TooLarge),
            Content::Head(json) => {
                format.record(&Record { place, json, fields: json.object(), is_head: true }, out)?;
            }
            Content::Value(json, fields) if json.is_object() || (json.is_array() && layout == Layout::Values) => {
                format.record(&Record { place, json, fields, is_head: false }, out)?;
            }
            Content::Value(..) => out.drop(Reason::NotAnObject),
        }
        out.end_record()?;
    }
    Ok(is_torn)
}

/// The conversation that is read; `None` if the source turns out not to have the format.
fn choose(known: &Known, statics: &Statics, head: &Head<'_>, chosen: Option<&str>) -> Result<Option<Lane>, Stop> {
    if chosen.is_none() && (!statics.has_sessions || matches!((statics.layout)(head), Layout::Document(_))) {
        return Ok(Some(Lane::Main));
    }
    let Some(listed) = list_known(known, statics, head)? else { return Ok(None) };
    let Some(chosen) = chosen else {
        let mut equal = listed.iter().filter(|(lane, _)| !matches!(lane, Lane::Agent(_)));
        return match (equal.next(), equal.next()) {
            (None, _) => Ok(Some(Lane::Main)),
            (Some((lane, _)), None) => Ok(Some(lane.clone())),
            _ => Err(Stop::Several(listed.iter().map(|(_, conversation)| conversation.id().to_owned()).collect())),
        };
    };
    let found = listed.iter().find(|(_, conversation)| conversation.id() == chosen);
    found.map_or_else(|| Err(Stop::NoConversation(chosen.to_owned())), |(lane, _)| Ok(Some(lane.clone())))
}

impl Conversation {
    /// The id by which it is chosen.
    pub fn id(&self) -> &str {
        self.agent_id.as_deref().unwrap_or(&self.session_id)
    }
}

fn list_known(known: &Known, statics: &Statics, head: &Head<'_>) -> Result<Option<Vec<(Lane, Conversation)>>, Stop> {
    let layout = (statics.layout)(head);
    let mut records = Records::new(&known.source, layout, false);
    if !records.prepare()? {
        return Ok(None);
    }
    let (mut format, start) =
        (statics.open)(&Opening { head, source: &known.source, document: records.document_head(), lane: Lane::Main })?;
    let (mut lanes, mut listed): (BTreeMap<Lane, usize>, Vec<(Lane, Conversation)>) = Default::default();
    while let Some(Found { place, content }) = records.next()? {
        let (json, fields, is_head) = match content {
            Content::Value(json, fields) => (json, fields, false),
            Content::Head(json) => (json, json.object(), true),
            Content::Unparseable { .. } | Content::TooLarge => continue,
        };
        let record = Record { place, json, fields, is_head };
        let look = format.look(&record);
        let Some(lane) = look.lane else { continue };
        let index = *lanes.entry(lane.clone()).or_insert(listed.len());
        if index == listed.len() {
            let (session_id, agent_id) = match &lane {
                Lane::Main => (start.session_id.clone(), None),
                Lane::Agent(id) => (start.session_id.clone(), Some(id.clone())),
                Lane::Session(id) => (id.clone(), None),
            };
            let start_time = String::new();
            listed.push((lane, Conversation { session_id, agent_id, title: None, start_time, records: 0 }));
        }
        let conversation = &mut listed[index].1;
        conversation.records += 1;
        if let Some(title) = look.title.and_then(Json::text).filter(|title| !title.is_empty()) {
            conversation.title = Some(title.into_owned());
        }
        if conversation.start_time.is_empty() {
            conversation.start_time = look.time.and_then(time_of).map(String::from).unwrap_or_default();
        }
        for embedded in format.embedded(&record) {
            let lane = Lane::Agent(embedded.agent_id.clone());
            let start_time = embedded.start_time.map(String::from).unwrap_or_default();
            let (session_id, agent_id) = (start.session_id.clone(), Some(embedded.agent_id));
            if let std::collections::btree_map::Entry::Vacant(vacant) = lanes.entry(lane.clone()) {
                vacant.insert(listed.len());
                let records = embedded.records;
                listed.push((lane, Conversation { session_id, agent_id, title: None, start_time, records }));
            }
        }
    }
    for (_, conversation) in &mut listed {
        if conversation.start_time.is_empty() {
            conversation.start_time = start.start_time.as_deref().unwrap_or(UNKNOWN).to_owned();
        }
    }
    Ok(Some(listed))
}

/// The longest id of a session, in characters.
const MAX_ID_CHARACTERS: usize = 256;

/// An id as it may stand in a session: other characters become `_`, and an empty one becomes a random UUID.
pub(super) fn valid_id(id: &str) -> String {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.is_empty() {
        return random_uuid();
    }
    id.chars().take(MAX_ID_CHARACTERS).map(|c| if is_valid(c) { c } else { '_' }).collect()
}

fn random_uuid() -> String {
    let mut bytes = [0; 16];
    // Without random numbers the id is still valid.
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = const_hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The project's hash as it stands in a `session_start`.
pub(crate) fn json_of_text(text: &str) -> Vec<u8> {
    json_text(text)
}

const _: () = assert!(FIRST_BYTES < HEAD_BYTES);
