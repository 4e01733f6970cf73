//! `compileWorkflow`, on the calling thread: a graph is small.

use napi_derive::napi;

use super::error_json::ErrorJson;
use super::json::{JsonText, finished};
use super::text::OutputText;
use session_tape_core::run::Dag;

/// Compiles a workflow, which is passed as JSON text. Returns `{"dag","dagHash"}` or `{"error"}`.
#[napi(catch_unwind)]
pub fn compile_workflow(workflow: String) -> OutputText {
    finished(JsonText::of_object(|json| match Dag::compile(&workflow) {
        Ok(dag) => {
            json.member("dag", dag.text());
            json.member("dagHash", dag.hash());
        }
        Err(error) => json.member("error", &ErrorJson::from(&error)),
    }))
}
