//! Cursor: JSONL of messages with Claude's blocks, line by line. There are no ids, times, models or usage.

use std::collections::HashMap;

use super::Stop;
use super::builder::{Builder, Item, Meta, Severity, Shape, Start};
use super::claude::content_of;
use super::format::{Format, Opening, Record};
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::value::{Json, Object};
use crate::lines::LineSource;

/// Reads a transcript of Cursor.
pub(super) struct Cursor {
    /// The names of tools that the provider ran, by the ids of their calls.
    server_tools: HashMap<u64, Vec<u8>>,
}

impl Format for Cursor {
    const NAME: &'static str = "cursor";
    const SHAPE: Shape = Shape { parallel_results: false };

    fn claims(head: &Head<'_>) -> bool {
        head.first_lines().iter().any(|fields| {
            let is_message = fields.is("role", "user") || fields.is("role", "assistant");
            is_message && fields.get("type").is_none() && message_of(fields).is_some()
        })
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Lines
    }

    fn open(_: &Opening<'_>) -> Result<(Self, Start), Stop> {
        Ok((Cursor { server_tools: HashMap::new() }, Start::default()))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        let role = fields.text("role").unwrap_or_default();
        let is_known = matches!(&*role, "user" | "assistant");
        let Some(message) = message_of(fields).filter(|_| is_known) else {
            out.keep(&role, record.json, Severity::Info);
            return Ok(());
        };
        let content = content_of(message.get("content"), record.place.line, &mut self.server_tools);
        out.omit("message", fields, &["role", "message"]);
        out.omit("message.message", &message, &["content"]);
        let (has_results, has_blocks) = (!content.results.is_empty(), !content.blocks.is_empty());
        if has_results {
            out.results(content.results, Meta::default(), "user tool_result", record.json);
        }
        if has_blocks && role == "assistant" {
            out.respond(None, Item::ai(content.blocks, Meta::default()));
        } else if has_blocks {
            out.human(Item::human(content.blocks, Meta::default()));
        } else if !has_results {
            out.drop(Reason::Empty);
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        out.close();
        Ok(())
    }
}

fn message_of<'a>(fields: &Object<'a>) -> Option<Object<'a>> {
    fields.get("message").filter(|message| message.is_object()).map(Json::object)
}
