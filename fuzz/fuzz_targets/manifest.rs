//! Any bytes as a bundle's manifest, list of redactions and metadata: rejected, or printed as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::BundleKind;
use session_tape_core::bundle::Manifest;
use session_tape_core::bundle::metadata;
use session_tape_core::bundle::BundlePath;
use session_tape_core::bundle::RedactionList;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((manifest, id)) = Manifest::parse(bytes) {
        if manifest.problems(&id).is_empty() {
            assert_eq!(manifest.print(), bytes);
            assert!(manifest.files.keys().all(|path| BundlePath::parse(path.as_bytes()).is_ok()));
        }
    }
    if let Ok(list) = RedactionList::parse(bytes) {
        assert_eq!(list.print(), bytes);
    }
    let _ = metadata::check(bytes, BundleKind::Run, 0);
});
