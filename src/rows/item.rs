//! What tables show of an item: who speaks, its texts, its calls and their results.

use crate::diff::session_projection::{BlockType, block_type};
use crate::diff::tree::{Index, Shape, Tree};
use crate::run::text::Text;

/// A part of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Block<'t> {
    /// Text.
    Text(Text<'t>),
    /// A tool is called.
    Call {
        /// The id of the call, if it is a string.
        id: Option<Text<'t>>,
        /// The tool.
        name: Option<Text<'t>>,
        /// The arguments, JSON text.
        arguments: Option<&'t str>,
    },
    /// A tool has answered.
    Response {
        /// The id of the call, if it is a string.
        id: Option<Text<'t>>,
        /// The tool.
        name: Option<Text<'t>>,
        /// The result.
        result: Option<Value<'t>>,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A value, read as text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'t> {
    /// A string.
    Text(Text<'t>),
    /// The JSON text of something else.
    Json(&'t str),
}

/// An item.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'t> {
    /// Who speaks.
    pub speaker: Text<'t>,
    /// Its texts, calls and responses, in order.
    pub blocks: Vec<Block<'t>>,
}

/// The item that is a member of the payload, by this name.
pub fn item_of<'t>(tree: &'t Tree<'_>, name: &str) -> Option<Item<'t>> {
    let item = tree.at(&["payload", name])?;
    let speaker = tree.member(item, "speaker").and_then(|index| tree.string(index))?;
    let blocks = tree.member(item, "blocks").filter(|&blocks| tree.shape(blocks) == Shape::Array);
    let blocks = blocks.map(|blocks| tree.children(blocks).filter_map(|block| block_of(tree, block)).collect());
    Some(Item { speaker, blocks: blocks.unwrap_or_default() })
}

fn block_of<'t>(tree: &'t Tree<'_>, block: Index) -> Option<Block<'t>> {
    let string = |name| tree.member(block, name).and_then(|index| tree.string(index));
    // The id does not count in a comparison, so only the projection knows where it is. A call without one is a call all the same.
    let id = match block_type(tree, block) {
        BlockType::Call(id) | BlockType::Response(id) => tree.string(id),
        BlockType::Other => None,
    };
    match string("type")?.as_json() {
        "text" => string("text").map(Block::Text),
        "tool_call" => {
            let arguments = tree.member(block, "parameters").map(|index| tree.text(index));
            Some(Block::Call { id, name: string("name"), arguments })
        }
        "tool_response" => Some(Block::Response {
            id,
            name: string("toolName"),
            result: tree.member(block, "result").map(|index| value_of(tree, index)),
            is_error: tree.member(block, "error").is_some_and(|error| is_failure(tree, error)),
        }),
        _ => None,
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
