//! The strings of an event that are searched.

use super::hit::{Field, Speaker};
use super::members::{Path, each_string};
use crate::json::{Cursor, Nesting, NotJson, Span, SpareTree, Text, Tree, spells, text_of};
use crate::session::format::ItemSink;
use crate::session::format::{Body, CheckpointChange, Event, EventType, ItemPlace, keys};

/// Where a string is, and what it is.
pub(super) struct StringPlace<'p> {
    pub(super) event_type: EventType,
    pub(super) field: Field,
    pub(super) item: Option<&'p Item>,
    /// The name of the tool, a JSON string.
    pub(super) tool: Option<Span>,
    /// The key in the payload, or in the block.
    key: &'static str,
    block: Option<usize>,
    path: Option<&'p Path<'p>>,
}

/// An item of an event.
pub(super) struct Item {
    pub(super) span: Span,
    pub(super) speaker: Option<Speaker>,
    place: ItemPlace,
    blocks: Option<Span>,
}

/// Walks the strings of events. Reused for all lines.
#[derive(Default)]
pub(super) struct Strings {
    nesting: Nesting,
    spare: SpareTree,
    /// To be filled while a line is read.
    pub(super) taken: TakenBlocks,
}

/// The blocks of the last item that was scanned, so that its line need not be scanned again.
#[derive(Default)]
pub(super) struct TakenBlocks {
    nesting: Nesting,
    item: Option<Span>,
    speaker: Option<Span>,
    /// The blocks that are objects, with their indices.
    blocks: Vec<(usize, Block)>,
}

/// Items of more blocks are scanned again.
const MAX_TAKEN_BLOCKS: usize = 256;

impl ItemSink for TakenBlocks {
    fn begin_line(&mut self, _: u64) {}

    fn take(&mut self, cursor: &mut Cursor<'_>, member: impl FnMut(&[u8], Span)) -> bool {
        let before = cursor.clone();
        self.item = None;
        let taken = self.read(cursor, member);
        if taken.is_err() {
            *cursor = before;
        }
        taken.is_ok()
    }
}

impl TakenBlocks {
    fn read(&mut self, cursor: &mut Cursor<'_>, mut member: impl FnMut(&[u8], Span)) -> Result<(), NotJson> {
        let TakenBlocks { nesting, speaker, blocks, .. } = self;
        let mut is_whole = true;
        blocks.clear();
        *speaker = None;
        let item = cursor.object(|cursor, key| {
            let (known, first) = (ItemKey::of(key), cursor.peek());
            if known == ItemKey::Blocks {
                // Of duplicate keys the last one counts.
                blocks.clear();
                is_whole = true;
            }
            let value = if known == ItemKey::Blocks && first == Some(b'[') {
                let mut index = 0;
                cursor.array(|cursor| {
                    if cursor.peek() == Some(b'{') {
                        let block = Block::read(cursor, nesting)?;
                        is_whole &= blocks.len() < MAX_TAKEN_BLOCKS;
                        if is_whole {
                            blocks.push((index, block));
                        }
                    } else {
                        cursor.value(nesting)?;
                    }
                    index += 1;
                    Ok(())
                })?
            } else {
                cursor.value(nesting)?
            };
            if known == ItemKey::Speaker {
                *speaker = Some(value);
            }
            member(key, value);
            Ok(())
        })?;
        self.item = is_whole.then_some(item);
        Ok(())
    }
}

impl StringPlace<'_> {
    /// The JSON pointer of the string in the payload.
    pub(super) fn pointer(&self) -> Text<'static> {
        let mut pointer = match (self.item, self.block) {
            (Some(item), Some(block)) => format!("{}/blocks/{block}/{}", item.place, self.key),
            _ => format!("/{}", self.key),
        };
        if let Some(path) = self.path {
            path.append_pointer(&mut pointer);
        }
        Text::from_canonical(pointer)
    }
}

impl Strings {
    /// Calls `take` with each string of an event in the order of the record: its place, and the text between its quotes.
    pub(super) fn each(&mut self, line: &[u8], event: &Event, take: &mut dyn FnMut(&StringPlace<'_>, &[u8])) {
        let single = |event_type, field, key| StringPlace {
            event_type,
            field,
            key,
            item: None,
            tool: None,
            block: None,
            path: None,
        };
        let (place, span) = match event.body {
            Body::SessionEvent(_, message) => {
                (single(EventType::SessionEvent, Field::SessionEvent, "message"), message)
            }
            Body::SessionMetadata(Some(title)) => (single(EventType::SessionMetadata, Field::Name, "title"), title),
            Body::SessionNamed(name) => (single(EventType::SessionNamed, Field::Name, "name"), name),
            Body::Checkpoint(fields) => match fields.change {
                CheckpointChange::Created(name) => (single(EventType::CheckpointCreated, Field::Name, "name"), name),
                CheckpointChange::Renamed(name) => (single(EventType::CheckpointRenamed, Field::Name, "name"), name),
                CheckpointChange::Deleted => return,
            },
            _ => return event.body.each_item(|place, span| self.each_of_item(line, place, span, take)),
        };
        if is_string(line, span) {
            take(&place, inside(line, span));
        }
    }

    fn each_of_item(
        &mut self,
        line: &[u8],
        place: ItemPlace,
        span: Span,
        take: &mut dyn FnMut(&StringPlace<'_>, &[u8]),
    ) {
        let event_type = place.event_type();
        if place == ItemPlace::Content && self.taken.item == Some(span) {
            let speaker = self.taken.speaker.and_then(|speaker| Speaker::of(inside(line, speaker)));
            let item = Item { span, speaker, place, blocks: None };
            for (index, block) in &self.taken.blocks {
                block.each_string(line, (event_type, &item, *index), &mut self.spare, take);
            }
            return;
        }
        // The line was scanned before, so nothing of it fails here.
        let Ok(item) = self.read_item(line, place, span) else { return };
        let Some(blocks) = item.blocks else { return };
        let mut cursor = Cursor::of(line, blocks);
        let mut index = 0;
        let _ = cursor.array(|cursor| {
            if cursor.peek() == Some(b'{') {
                let block = Block::read(cursor, &mut self.nesting)?;
                block.each_string(line, (event_type, &item, index), &mut self.spare, take);
            } else {
                cursor.value(&mut self.nesting)?;
            }
            index += 1;
            Ok(())
        });
    }

    fn read_item(&mut self, line: &[u8], place: ItemPlace, span: Span) -> Result<Item, NotJson> {
        let [speaker, blocks] = Cursor::of(line, span).members(["speaker", "blocks"], &mut self.nesting)?;
        let speaker = speaker.and_then(|speaker| Speaker::of(inside(line, speaker)));
        let blocks = blocks.filter(|blocks| blocks.of(line).first() == Some(&b'['));
        Ok(Item { span, speaker, place, blocks })
    }
}

/// The members of a block, in the order of their first keys, each with the value of its last key.
struct Block {
    members: [(BlockKey, Span); BLOCK_KEYS],
    count: usize,
}

const BLOCK_KEYS: usize = 9;

impl Block {
    fn read(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<Self, NotJson> {
        let mut block = Block { members: [(BlockKey::Other, Span { start: 0, end: 0 }); BLOCK_KEYS], count: 0 };
        cursor.object(|cursor, key| {
            let value = cursor.value(nesting)?;
            block.add(BlockKey::of(key), value);
            Ok(())
        })?;
        Ok(block)
    }

    fn add(&mut self, key: BlockKey, value: Span) {
        if key == BlockKey::Other {
            return;
        }
        match self.members[..self.count].iter_mut().find(|member| member.0 == key) {
            Some(member) => member.1 = value,
            None => {
                self.members[self.count] = (key, value);
                self.count += 1;
            }
        }
    }

    fn get(&self, key: BlockKey) -> Option<Span> {
        self.members[..self.count].iter().find(|member| member.0 == key).map(|member| member.1)
    }

    fn each_string(
        &self,
        line: &[u8],
        (event_type, item, block): (EventType, &Item, usize),
        spare: &mut SpareTree,
        take: &mut dyn FnMut(&StringPlace<'_>, &[u8]),
    ) {
        let Some(kind) = self.get(BlockKey::Type).filter(|kind| is_string(line, *kind)) else { return };
        let Some((_, field, keys)) = KINDS.iter().find(|(name, ..)| spells(inside(line, kind), name)) else { return };
        let tool = match field {
            Field::ToolCall => self.get(BlockKey::Name),
            Field::ToolResponse => self.get(BlockKey::ToolName),
            _ => None,
        };
        let tool = tool.filter(|tool| is_string(line, *tool));
        for &(member, value) in &self.members[..self.count] {
            let Some((_, key, is_deep)) = keys.iter().find(|(known, ..)| *known == member) else { continue };
            let (field, item, block) = (*field, Some(item), Some(block));
            if is_string(line, value) {
                take(&StringPlace { event_type, field, item, tool, key, block, path: None }, inside(line, value));
            } else if *is_deep && let Some(tree) = Tree::of_strings(spare, text_of(value.of(line))) {
                each_string(&tree, |string, path| {
                    let place = StringPlace { event_type, field, item, tool, key, block, path: Some(path) };
                    take(&place, string.as_bytes());
                });
                tree.leave_to(spare);
            }
        }
    }
}

/// A member of a block, with its key, and whether all strings in it are searched.
type SearchedMember = (BlockKey, &'static str, bool);

/// For each type of block: its field, and the members that are searched, with their keys and whether all strings in them are.
const KINDS: [(&str, Field, &[SearchedMember]); 5] = [
    ("text", Field::Text, &[(BlockKey::Text, "text", false)]),
    ("code", Field::Code, &[(BlockKey::Code, "code", false)]),
    ("thinking", Field::Thinking, &[(BlockKey::Thought, "thought", false)]),
    ("tool_call", Field::ToolCall, &[(BlockKey::Name, "name", false), (BlockKey::Parameters, "parameters", true)]),
    (
        "tool_response",
        Field::ToolResponse,
        &[
            (BlockKey::ToolName, "toolName", false),
            (BlockKey::Error, "error", false),
            (BlockKey::Result, "result", true),
        ],
    ),
];

fn is_string(line: &[u8], span: Span) -> bool {
    span.of(line).first() == Some(&b'"')
}

/// The text between the quotes; anything if the value is no string.
pub(super) fn inside(line: &[u8], span: Span) -> &[u8] {
    line.get(span.start as usize + 1..span.end as usize - 1).unwrap_or_default()
}

keys! {
    /// The keys of an item that are read.
    ItemKey { Speaker = "speaker", Blocks = "blocks" }
}

keys! {
    /// The keys of a block that are read.
    BlockKey {
        Type = "type", Text = "text", Name = "name", Parameters = "parameters", ToolName = "toolName", Result = "result", Error = "error",
        Thought = "thought", Code = "code",
    }
}
