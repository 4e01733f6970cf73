//! Qwen Code: JSONL, a tree like Claude's, with Gemini's parts.

use super::Stop;
use super::blocks::Usage;
use super::builder::{Builder, Item, Meta, Severity, Shape, Start, known};
use super::format::{Format, Lane, Look, Opening, Record};
use super::history::Node;
use super::parts::{Parts, parts_of};
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::time::time_of;
use super::value::{Json, Object};
use crate::lines::LineSource;

/// The provider of all its models, as JSON text.
const PROVIDER: &[u8] = b"\"qwen\"";

/// The fields of records that events carry, or that only order them.
const CARRIED: &[&str] =
    &["uuid", "parentUuid", "sessionId", "timestamp", "type", "subtype", "cwd", "message", "model", "usageMetadata"];

/// Reads a session of Qwen Code.
pub(super) struct Qwen;

impl Format for Qwen {
    const NAME: &'static str = "qwen";
    const SHAPE: Shape = Shape { parallel_results: true };

    fn claims(head: &Head<'_>) -> bool {
        head.first_lines().iter().any(|fields| {
            let parts = fields.get("message").and_then(|message| message.get("parts"));
            let has_parts = fields.get("uuid").is_some() && parts.is_some_and(Json::is_array);
            has_parts || fields.is("type", "system") && fields.get("systemPayload").is_some()
        })
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Lines
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let mut start = Start { provider: Some(PROVIDER.to_vec()), ..Start::default() };
        let lines = &opening.head.lines;
        start.session_id = lines.iter().find_map(|fields| fields.text("sessionId")).unwrap_or_default().into_owned();
        for fields in lines.iter().filter(|fields| !fields.is_true("isSidechain")) {
            start.cwd = start.cwd.or_else(|| known(fields.get("cwd")));
            start.version = start.version.or_else(|| known(fields.get("version")));
            start.start_time = start.start_time.or_else(|| fields.get("timestamp").and_then(time_of));
            start.model = start.model.or_else(|| known(model_of(fields)));
            if start.cwd.is_some() && start.start_time.is_some() && start.model.is_some() {
                break;
            }
        }
        Ok((Qwen, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        if fields.is_true("isSidechain") {
            out.drop(Reason::SubAgent);
            return Ok(());
        }
        let uuid = fields.filled("uuid");
        if uuid.is_some_and(|uuid| out.own_tip(uuid).is_some()) {
            out.drop(Reason::DuplicateUuid);
            return Ok(());
        }
        out.at(fields.get("timestamp"));
        let kind = fields.text("type").unwrap_or_default();
        let tip = match &*kind {
            "user" | "assistant" | "tool_result" => message(&kind, record, out),
            "system" => system(record, out),
            _ => {
                out.keep(&kind, record.json, Severity::Info);
                None
            }
        };
        if let Some(uuid) = uuid {
            out.set_tip_of_record(uuid, tip, fields.filled("parentUuid"));
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let fields = &record.fields;
        // Records of sub-agents have no id of their own, and are no conversation.
        let lane = (!fields.is_true("isSidechain")).then_some(Lane::Main);
        Look { lane, title: title_of(fields), time: fields.get("timestamp") }
    }
}

fn model_of<'a>(fields: &Object<'a>) -> Option<Json<'a>> {
    fields.get("model").filter(|_| fields.is("type", "assistant"))
}

/// A value of the payload of a `system` record.
fn payload_of<'a>(fields: &Object<'a>, keys: &[&str]) -> Option<Json<'a>> {
    let payload = fields.get("systemPayload")?;
    keys.iter().find_map(|key| payload.object().filled(key))
}

fn title_of<'a>(fields: &Object<'a>) -> Option<Json<'a>> {
    if fields.is("subtype", "custom_title") { payload_of(fields, &["customTitle", "title", "name"]) } else { None }
}

fn follow_parent(fields: &Object<'_>, out: &mut Builder) {
    if let Some(tip) = fields.filled("parentUuid").and_then(|parent| out.tip(parent)) {
        out.move_to(tip);
    }
}

fn message(kind: &str, record: &Record<'_>, out: &mut Builder) -> Option<Node> {
    let fields = &record.fields;
    let Some(message) = fields.get("message").filter(|message| message.is_object()) else {
        out.keep(kind, record.json, Severity::Info);
        return None;
    };
    let Parts { blocks, results } = parts_of(message.get("parts"), record.place.line, |_| false);
    let meta = Meta { id: known(fields.get("uuid")), ..Meta::default() };
    if blocks.is_empty() && results.is_empty() {
        out.drop(Reason::Empty);
        return None;
    }
    out.omit("message", fields, CARRIED);
    let mut tip = None;
    if !results.is_empty() {
        tip = out.results(results, meta.clone(), &format!("{kind} functionResponse"), record.json);
    } else {
        follow_parent(fields, out);
    }
    if blocks.is_empty() {
        return tip;
    }
    if kind == "assistant" {
        let (model, usage) = (known(fields.get("model")), usage_of(fields.get("usageMetadata")));
        let meta = Meta { model, provider: Some(PROVIDER.to_vec()), usage, ..meta };
        return Some(out.respond(None, Item::ai(blocks, meta)));
    }
    let subtype = fields.text("subtype").unwrap_or_default();
    let is_injected = matches!(&*subtype, "notification" | "cron" | "background_task_completed");
    let kind = is_injected.then_some("injected");
    Some(out.human(Item::human(blocks, Meta { kind, ..meta })))
}

fn system(record: &Record<'_>, out: &mut Builder) -> Option<Node> {
    let fields = &record.fields;
    let subtype = fields.text("subtype").unwrap_or_default();
    match &*subtype {
        "chat_compression" => {
            let history = fields.get("systemPayload").and_then(|payload| payload.get("compressedHistory"));
            if let Some(tip) = history.and_then(|history| compression(history, record, out)) {
                return Some(tip);
            }
            out.keep("system chat_compression", record.json, Severity::Info);
        }
        "custom_title" if title_of(fields).is_some() => title_of(fields).into_iter().for_each(|title| out.named(title)),
        "session_model" if payload_of(fields, &["model", "modelId"]).is_some() => {
            let model = known(payload_of(fields, &["model", "modelId"]));
            if !out.switch(None, model.as_deref()) {
                out.drop(Reason::Unchanged);
            }
        }
        "ui_telemetry" => out.drop(Reason::Telemetry),
        _ if subtype.ends_with("_snapshot") => out.drop(Reason::Bulk),
        _ => out.keep(&format!("system {subtype}"), record.json, Severity::Info),
    }
    None
}

/// A compression: the first content is the summary, and the others follow it. `None` if there is no content.
fn compression(history: Json<'_>, record: &Record<'_>, out: &mut Builder) -> Option<Node> {
    let line = record.place.line;
    let mut contents = history.elements().into_iter().filter(|content| content.is_object());
    let first = contents.next()?;
    follow_parent(&record.fields, out);
    let id = known(record.fields.get("uuid"));
    let Parts { blocks, .. } = parts_of(first.get("parts"), line, |_| false);
    let meta = Meta { id: id.clone(), kind: Some("summary"), ..Meta::default() };
    out.compress(&Item::human(blocks, meta), &[], false, None);
    for content in contents {
        let Parts { blocks, results } = parts_of(content.get("parts"), line, |_| false);
        let meta = Meta { id: id.clone(), ..Meta::default() };
        if !results.is_empty() {
            out.results(results, meta.clone(), "system chat_compression", record.json);
        }
        if blocks.is_empty() {
            continue;
        }
        if content.get("role").is_some_and(|role| role.is("model")) {
            out.respond(None, Item::ai(blocks, meta));
        } else {
            out.human(Item::human(blocks, meta));
        }
    }
    Some(out.end())
}

fn usage_of(usage: Option<Json<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.is_object())?.object();
    let amount = |key: &str| usage.get(key).and_then(Json::amount);
    let (input, output) = (amount("promptTokenCount"), amount("candidatesTokenCount"));
    let reasoning = amount("thoughtsTokenCount");
    input.or(output).or(reasoning)?;
    Some(Usage {
        input: input.unwrap_or_default(),
        cached: amount("cachedContentTokenCount"),
        cache_write: None,
        output: output.unwrap_or_default() + reasoning.unwrap_or_default(),
        reasoning,
        cost: None,
    })
}
