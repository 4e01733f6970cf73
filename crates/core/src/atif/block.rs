//! The blocks of an item, as far as ATIF has a place for them.

use super::value::Members;
use crate::json::Nesting;
use crate::session::media::Reference;

/// A block. `rest` are the members that ATIF has no place for.
pub(super) enum Block<'a> {
    Text {
        text: String,
        rest: Members<'a>,
    },
    Thinking {
        thought: String,
        rest: Members<'a>,
    },
    Call(Call<'a>),
    Result(ToolResult<'a>),
    Media(Media<'a>),
    /// An image that is in a store.
    Reference(Reference<'a>),
    /// A block of any other form.
    Other,
}

pub(super) struct Call<'a> {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) parameters: Option<&'a [u8]>,
    pub(super) is_server: bool,
    pub(super) rest: Members<'a>,
}

#[derive(Default)]
pub(super) struct ToolResult<'a> {
    pub(super) call_id: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) result: Option<&'a [u8]>,
    pub(super) error: Option<&'a [u8]>,
    pub(super) subagents: Option<&'a [u8]>,
    pub(super) rest: Members<'a>,
}

pub(super) struct Media<'a> {
    pub(super) mime: String,
    pub(super) data: String,
    pub(super) is_url: bool,
    pub(super) rest: Members<'a>,
}

impl<'a> Block<'a> {
    pub(super) fn of(json: &'a [u8], nesting: &mut Nesting) -> Self {
        let known = Members::of(json, nesting).and_then(|members| Self::of_members(&members));
        known.or_else(|| Reference::of_block(json).map(Block::Reference)).unwrap_or(Block::Other)
    }

    fn of_members(members: &Members<'a>) -> Option<Self> {
        match members.text("type")?.as_str() {
            "text" => Some(Block::Text { text: members.text("text")?, rest: members.without(&["type", "text"]) }),
            "thinking" => {
                let rest = members.without(&["type", "thought"]);
                Some(Block::Thinking { thought: members.text("thought")?, rest })
            }
            "tool_call" => Some(Block::Call(Call::of(members))),
            "tool_response" => Some(Block::Result(ToolResult::of(members))),
            "media" => Some(Block::Media(Media::of(members)?)),
            _ => None,
        }
    }
}

impl<'a> Call<'a> {
    fn of(members: &Members<'a>) -> Self {
        Call {
            id: members.text("id").filter(|id| !id.is_empty()),
            name: members.text("name"),
            parameters: members.get("parameters"),
            is_server: members.get("server") == Some(b"true"),
            rest: members.without(&["type", "id", "name", "parameters", "server"]),
        }
    }
}

impl<'a> ToolResult<'a> {
    fn of(members: &Members<'a>) -> Self {
        ToolResult {
            call_id: members.text("callId").filter(|id| !id.is_empty()),
            tool_name: members.text("toolName"),
            result: members.get("result"),
            error: members.get("error"),
            subagents: members.get("subagents"),
            rest: members.without(&["type", "callId", "toolName", "result", "error", "subagents"]),
        }
    }
}

impl<'a> Media<'a> {
    fn of(members: &Members<'a>) -> Option<Self> {
        Some(Media {
            mime: members.text("mimeType")?,
            data: members.text("data")?,
            is_url: members.text("encoding").as_deref() == Some("url"),
            rest: members.without(&["type", "mimeType", "data", "encoding"]),
        })
    }
}
