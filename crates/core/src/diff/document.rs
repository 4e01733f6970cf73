//! A diff as JSON, with keys in a fixed order, so that the same recordings always give the same bytes.

use super::align::{Edit, Edits, MAX_EDITS};
use super::ancestry::{Chain, Edge};
use super::compare::{Diff, DiffSide};
use super::projection::Field;
use super::stream::quoted;

/// Prints a diff, or `null` if there is none.
pub fn print(diff: Option<&Diff>) -> String {
    let Some(diff) = diff else { return "null".to_owned() };
    let mut json = String::new();
    json.push_str(&format!("{{\"divergence_event\":{},\"kind\":\"{}\"", diff.divergence_event, diff.kind.as_str()));
    for (key, side) in [("left", &diff.left), ("right", &diff.right)] {
        push_key(&mut json, key);
        push_side(&mut json, side.as_ref());
    }
    push_key(&mut json, "fields");
    push_fields(&mut json, &diff.fields);
    push_key(&mut json, "causal_ancestors");
    push_list(&mut json, &diff.chain().edges, |json, edge| json.push_str(&quoted(&edge.event_id)));
    push_key(&mut json, "ancestors");
    push_ancestors(&mut json, &diff.chains);
    push_key(&mut json, "common_ancestor");
    json.push_str(&diff.common_ancestor.as_deref().map_or("null".to_owned(), quoted));
    push_key(&mut json, "affected_nodes");
    push_list(&mut json, &diff.affected_nodes, |json, node| json.push_str(&quoted(node)));
    push_key(&mut json, "likely_cause");
    json.push_str(&quoted(diff.likely_cause.as_str()));
    if let Some(edits) = &diff.edits {
        push_edits(&mut json, edits);
    }
    json.push('}');
    json
}

/// Prints a chain as the result of `traceAncestors`.
pub fn print_chain(chain: &Chain) -> String {
    let mut json = "{\"chain\":".to_owned();
    push_list(&mut json, &chain.edges, push_edge);
    push_key(&mut json, "truncated");
    json.push_str(if chain.truncated { "true}" } else { "false}" });
    json
}

fn push_key(json: &mut String, key: &str) {
    json.push_str(",\"");
    json.push_str(key);
    json.push_str("\":");
}

fn push_list<T>(json: &mut String, list: &[T], push: impl Fn(&mut String, &T)) {
    json.push('[');
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push(json, element);
    }
    json.push(']');
}

fn push_side(json: &mut String, side: Option<&DiffSide>) {
    let Some(DiffSide { run_id, event_id, members }) = side else { return json.push_str("null") };
    json.push_str(&format!("{{\"run_id\":\"{run_id}\",\"event_id\":{}", quoted(event_id)));
    for (key, value) in members {
        push_key(json, key);
        json.push_str(value);
    }
    json.push('}');
}

fn push_fields(json: &mut String, fields: &[Field]) {
    push_list(json, fields, |json, field| {
        json.push_str("{\"path\":");
        json.push_str(&quoted(&field.path));
        for (key, value) in [("left", &field.left), ("right", &field.right)] {
            if let Some(value) = value {
                push_key(json, key);
                json.push_str(value);
            }
        }
        if let Some(note) = field.note {
            push_key(json, "note");
            json.push_str(&quoted(note.as_str()));
        }
        json.push('}');
    });
}

fn push_ancestors(json: &mut String, [left, right]: &[Chain; 2]) {
    json.push_str("{\"left\":");
    push_list(json, &left.edges, push_edge);
    push_key(json, "right");
    push_list(json, &right.edges, push_edge);
    push_key(json, "truncated");
    json.push_str(&format!("{{\"left\":{},\"right\":{}}}}}", left.truncated, right.truncated));
}

fn push_edge(json: &mut String, edge: &Edge) {
    json.push_str(&format!("{{\"event_id\":{},\"kind\":{}", quoted(&edge.event_id), quoted(&edge.kind)));
    if let Some(label) = &edge.label {
        push_key(json, "label");
        json.push_str(&quoted(label));
    }
    push_key(json, "evidence");
    json.push_str(&quoted(edge.evidence.as_str()));
    json.push('}');
}

fn push_edits(json: &mut String, edits: &Edits) {
    let Some(list) = &edits.edits else {
        push_key(json, "edits_stopped");
        json.push_str(&format!("{{\"limit\":{MAX_EDITS}}}"));
        return;
    };
    push_key(json, "edits");
    push_list(json, list, push_edit);
    push_key(json, "equal");
    push_list(json, &edits.equal, |json, equal| {
        json.push_str(&format!("{{\"left\":{},\"right\":{},\"length\":{}}}", equal.left, equal.right, equal.length));
    });
}

fn push_edit(json: &mut String, edit: &Edit) {
    json.push_str("{\"op\":");
    json.push_str(&quoted(edit.op.as_str()));
    for (key, number) in [("left", edit.left), ("right", edit.right)] {
        if let Some(number) = number {
            push_key(json, key);
            json.push_str(&number.to_string());
        }
    }
    if let Some(fields) = &edit.fields {
        push_key(json, "fields");
        push_fields(json, fields);
    }
    json.push('}');
}
