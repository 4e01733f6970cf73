//! A diff as JSON, with keys in a fixed order, so that the same recordings always give the same bytes.

use serde::Serialize;

use super::align::{Edits, MAX_EDITS};
use super::compare::{Diff, DiffSide};
use super::projection::Field;
use crate::json::JsonText;

/// The JSON text of a value without maps, such as a string.
pub(crate) fn quoted(value: &(impl Serialize + ?Sized)) -> String {
    // Can't fail for such a value.
    serde_json::to_string(value).unwrap_or_default()
}

/// Appends a diff, or `null` if there is none.
pub fn print(json: &mut JsonText, diff: Option<&Diff>) {
    let Some(diff) = diff else { return json.raw(b"null") };
    json.object(|json| {
        json.member("divergence_event", &diff.divergence_event);
        json.member("kind", diff.kind.as_str());
        side(json.key("left"), diff.left.as_ref());
        side(json.key("right"), diff.right.as_ref());
        fields(json.key("fields"), &diff.fields);
        let ids: Vec<_> = diff.chain().edges.iter().map(|edge| &edge.event_id).collect();
        json.member("causal_ancestors", &ids);
        let [left, right] = &diff.chains;
        json.key("ancestors").object(|json| {
            json.member("left", &left.edges);
            json.member("right", &right.edges);
            json.key("truncated").object(|json| {
                json.member("left", &left.truncated);
                json.member("right", &right.truncated);
            });
        });
        json.member("common_ancestor", &diff.common_ancestor);
        json.member("affected_nodes", &diff.affected_nodes);
        json.member("likely_cause", &diff.likely_cause);
        if let Some(edits) = &diff.edits {
            print_edits(json, edits);
        }
    });
}

fn print_edits(json: &mut JsonText, Edits { edits, equal }: &Edits) {
    let Some(edits) = edits else { return json.key("edits_stopped").object(|json| json.member("limit", &MAX_EDITS)) };
    json.key("edits").array(|json| {
        for edit in edits {
            json.object(|json| {
                json.member("op", &edit.op);
                edit.left.iter().for_each(|number| json.member("left", number));
                edit.right.iter().for_each(|number| json.member("right", number));
                edit.fields.iter().for_each(|of_edit| fields(json.key("fields"), of_edit));
            });
        }
    });
    json.member("equal", equal);
}

fn side(json: &mut JsonText, side: Option<&DiffSide>) {
    let Some(DiffSide { run_id, event_id, members }) = side else { return json.raw(b"null") };
    json.object(|json| {
        json.key("run_id").text(run_id.as_bytes());
        json.member("event_id", event_id);
        members.iter().for_each(|(key, value)| json.key(key).raw(value.as_bytes()));
    });
}

fn fields(json: &mut JsonText, fields: &[Field]) {
    json.array(|json| {
        for field in fields {
            json.object(|json| {
                json.member("path", &field.path);
                field.left.iter().for_each(|value| json.key("left").raw(value.as_bytes()));
                field.right.iter().for_each(|value| json.key("right").raw(value.as_bytes()));
                field.note.iter().for_each(|note| json.member("note", note));
            });
        }
    });
}
