//! Sessions in the formats of other programs.

mod atif_export;

pub use atif_export::{ExportError as AtifExportError, Exported as AtifExported, Origin as AtifOrigin, export_atif};
