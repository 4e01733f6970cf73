//! The content of an item that tables show: its speaker, its texts, its calls and their results.

use session_tape_core::diff::Tree;
use session_tape_core::json::Text;
use session_tape_core::json::{Index, Shape};

/// A block of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Block<'t> {
    /// Text.
    Text(Text<'t>),
    /// A tool call.
    Call {
        /// The id of the call, if it is a string.
        id: Option<Text<'t>>,
        /// The name of the tool.
        name: Option<Text<'t>>,
        /// The arguments, as JSON text.
        arguments: Option<&'t str>,
    },
    /// A tool response.
    Response {
        /// The id of the call, if it is a string.
        id: Option<Text<'t>>,
        /// The name of the tool.
        name: Option<Text<'t>>,
        /// The result.
        result: Option<Value<'t>>,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A value as text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'t> {
    /// A string.
    Text(Text<'t>),
    /// The JSON text of any other value.
    Json(&'t str),
}

/// An item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'t> {
    /// The speaker.
    pub speaker: Text<'t>,
    /// Its texts, calls and responses, in order.
    pub blocks: Vec<Block<'t>>,
}

/// The item that is the member `name` of the payload; `None` if there is none, or it has no speaker.
pub(super) fn item_of<'t>(tree: &'t Tree<'_>, name: &str) -> Option<Item<'t>> {
    let item = tree.at(&["payload", name])?;
    let speaker = tree.member(item, "speaker").and_then(|index| tree.string(index))?;
    let blocks = tree.member(item, "blocks").filter(|&blocks| tree.shape(blocks) == Shape::Array);
    let blocks = blocks.map(|blocks| tree.children(blocks).filter_map(|block| block_of(tree, block)).collect());
    Some(Item { speaker, blocks: blocks.unwrap_or_default() })
}

fn block_of<'t>(tree: &'t Tree<'_>, block: Index) -> Option<Block<'t>> {
    let members = BlockMembers::of(tree, block);
    let string = |member: Option<Index>| member.and_then(|index| tree.string(index));
    // A call without an id is still a call.
    match string(members.of_type)?.as_json() {
        "text" => string(members.text).map(Block::Text),
        "tool_call" => {
            let arguments = members.parameters.map(|index| tree.text(index));
            Some(Block::Call { id: string(members.id), name: string(members.name), arguments })
        }
        "tool_response" => Some(Block::Response {
            id: string(members.call_id),
            name: string(members.tool_name),
            result: members.result.map(|index| value_of(tree, index)),
            is_error: members.error.is_some_and(|error| is_failure(tree, error)),
        }),
        _ => None,
    }
}

/// The members of a block that tables show, found in one pass.
#[derive(Default)]
struct BlockMembers {
    of_type: Option<Index>,
    text: Option<Index>,
    id: Option<Index>,
    call_id: Option<Index>,
    name: Option<Index>,
    tool_name: Option<Index>,
    parameters: Option<Index>,
    result: Option<Index>,
    error: Option<Index>,
}

impl BlockMembers {
    /// Of members with the same key, takes the last, as `JSON.parse` does. Ids are marked as dropped, like earlier duplicates, so `Tree::members`
    /// would skip them.
    fn of(tree: &Tree<'_>, block: Index) -> Self {
        let mut members = BlockMembers::default();
        for child in tree.children(block) {
            let place = match tree.key(child).as_json() {
                "type" => &mut members.of_type,
                "text" => &mut members.text,
                "id" => &mut members.id,
                "callId" => &mut members.call_id,
                "name" => &mut members.name,
                "toolName" => &mut members.tool_name,
                "parameters" => &mut members.parameters,
                "result" => &mut members.result,
                "error" => &mut members.error,
                _ => continue,
            };
            *place = Some(child);
        }
        members
    }
}

fn value_of<'t>(tree: &'t Tree<'_>, index: Index) -> Value<'t> {
    tree.string(index).map_or_else(|| Value::Json(tree.text(index)), Value::Text)
}

/// Whether the `error` of a response means that the call failed: not if it is `null`, `false` or empty.
fn is_failure(tree: &Tree<'_>, error: Index) -> bool {
    match tree.shape(error) {
        Shape::Null | Shape::False => false,
        Shape::String => tree.string(error).is_some_and(|text| !text.is_empty()),
        _ => true,
    }
}
