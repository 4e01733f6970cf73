//! `manifest.sha256`: the hashes of all listed files and of the manifest itself, in the format of `sha256sum -c`.

use super::manifest::Manifest;
use super::path::MANIFEST;
use crate::hash::{as_text, sha256_hex, to_hex};

/// Prints the checksums of `manifest`, whose printed form is `document`. The manifest determines this file and does not list it.
pub(crate) fn print(manifest: &Manifest, document: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity((manifest.files.len() + 1) * 150);
    let mut line = |hash: &str, path: &str| out.extend_from_slice(format!("{hash}  {path}\n").as_bytes());
    for (path, file) in &manifest.files {
        line(as_text(&to_hex(&file.sha256)), path);
    }
    line(as_text(&sha256_hex([document])), MANIFEST);
    out
}
