//! `manifest.sha256`: the manifest's hashes and that of the manifest itself, as `sha256sum -c` takes them.

use super::manifest::Manifest;
use super::path::MANIFEST;
use crate::hash::{as_text, sha256_hex, to_hex};

/// The text for a manifest whose document is `document`. It is a function of the manifest, and so needs no hash of its own.
pub fn print(manifest: &Manifest, document: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity((manifest.files.len() + 1) * 150);
    let mut line = |hash: &str, path: &str| out.extend_from_slice(format!("{hash}  {path}\n").as_bytes());
    for (path, file) in &manifest.files {
        line(as_text(&to_hex(&file.sha256)), path);
    }
    line(as_text(&sha256_hex([document])), MANIFEST);
    out
}
