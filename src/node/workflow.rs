//! `compileWorkflow`, here and now: a graph is small.

use napi_derive::napi;

use super::json::JsonText;
use super::run_json::{append_error, append_text};
use super::text::Text;
use crate::run::dag::compile;

/// The graph of a workflow, given as JSON text: `{"dag","dagHash"}`, or `{"error"}`.
#[napi(catch_unwind)]
pub fn compile_workflow(workflow: String) -> Text {
    let mut json = JsonText::default();
    match compile(&workflow) {
        Ok(dag) => {
            json.syntax("{\"dag\":");
            json.string(dag.text());
            append_text(&mut json, "dagHash", Some(dag.hash()));
        }
        Err(error) => {
            json.syntax("{\"error\":");
            append_error(&mut json, &error);
        }
    }
    json.syntax("}");
    json.finish()
}
