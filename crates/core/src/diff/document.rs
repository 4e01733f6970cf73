//! A diff as JSON, with keys in a fixed order, so that the same recordings always give the same bytes.

use serde::Serialize;

use super::align::{Edit, Edits, MAX_EDITS};
use super::ancestry::Chain;
use super::compare::{Diff, DiffSide};
use super::projection::Field;

/// The JSON text of a value without maps, such as a string.
pub(crate) fn quoted(value: &(impl Serialize + ?Sized)) -> String {
    // Can't fail for such a value.
    serde_json::to_string(value).unwrap_or_default()
}

/// Prints a diff, or `null` if there is none.
pub fn print(diff: Option<&Diff>) -> String {
    let Some(diff) = diff else { return "null".to_owned() };
    let mut json = format!("{{\"divergence_event\":{}", diff.divergence_event);
    push(&mut json, "kind", &quoted(diff.kind.as_str()));
    push(&mut json, "left", &side(diff.left.as_ref()));
    push(&mut json, "right", &side(diff.right.as_ref()));
    push(&mut json, "fields", &list(&diff.fields, field));
    push(&mut json, "causal_ancestors", &list(&diff.chain().edges, |edge| quoted(&edge.event_id)));
    let [left, right] = &diff.chains;
    let mut ancestors = format!("{{\"left\":{}", quoted(&left.edges));
    push(&mut ancestors, "right", &quoted(&right.edges));
    push(&mut ancestors, "truncated", &format!("{{\"left\":{},\"right\":{}}}", left.truncated, right.truncated));
    push(&mut json, "ancestors", &(ancestors + "}"));
    push(&mut json, "common_ancestor", &quoted(&diff.common_ancestor));
    push(&mut json, "affected_nodes", &quoted(&diff.affected_nodes));
    push(&mut json, "likely_cause", &quoted(&diff.likely_cause));
    match &diff.edits {
        Some(Edits { edits: Some(edits), equal }) => {
            push(&mut json, "edits", &list(edits, edit));
            push(&mut json, "equal", &quoted(equal));
        }
        Some(Edits { edits: None, .. }) => push(&mut json, "edits_stopped", &format!("{{\"limit\":{MAX_EDITS}}}")),
        None => {}
    }
    json + "}"
}

/// Prints a chain as the result of `traceAncestors`.
pub fn print_chain(chain: &Chain) -> String {
    quoted(chain)
}

fn push(json: &mut String, key: &str, value: &str) {
    json.extend([",\"", key, "\":", value]);
}

fn list<T>(list: &[T], print: impl Fn(&T) -> String) -> String {
    let mut json = "[".to_owned();
    for (index, element) in list.iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        json.push_str(&print(element));
    }
    json + "]"
}

fn side(side: Option<&DiffSide>) -> String {
    let Some(DiffSide { run_id, event_id, members }) = side else { return "null".to_owned() };
    let mut json = format!("{{\"run_id\":\"{run_id}\"");
    push(&mut json, "event_id", &quoted(event_id));
    members.iter().for_each(|(key, value)| push(&mut json, key, value));
    json + "}"
}

fn field(field: &Field) -> String {
    let mut json = format!("{{\"path\":{}", quoted(&field.path));
    field.left.iter().for_each(|value| push(&mut json, "left", value));
    field.right.iter().for_each(|value| push(&mut json, "right", value));
    field.note.iter().for_each(|note| push(&mut json, "note", &quoted(note)));
    json + "}"
}

fn edit(edit: &Edit) -> String {
    let mut json = format!("{{\"op\":{}", quoted(&edit.op));
    edit.left.iter().for_each(|number| push(&mut json, "left", &number.to_string()));
    edit.right.iter().for_each(|number| push(&mut json, "right", &number.to_string()));
    edit.fields.iter().for_each(|fields| push(&mut json, "fields", &list(fields, field)));
    json + "}"
}
