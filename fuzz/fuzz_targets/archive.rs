//! Any bytes as an archive, and any bytes as the tar in an archive: no panic, and never more output than the limits allow.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::ArchiveReader;
use session_tape_core::bundle::Container;
use session_tape_core::bundle::Visitor;
use session_tape_core::bundle::BundleError;
use session_tape_core::bundle::Limits;
use session_tape_core::bundle::BundlePath;

const LIMITS: Limits = Limits {
    line_bytes: 1 << 10,
    blob_bytes: 1 << 16,
    files: 20,
    expansion: 20,
    total_bytes: 1 << 18,
    manifest_bytes: 1 << 16,
    redactions_bytes: 1 << 16,
};

#[derive(Default)]
struct Seen {
    files: u64,
    bytes: u64,
}

impl Visitor for Seen {
    fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError> {
        assert!(!path.as_str().contains("..") && !path.as_str().starts_with('/'));
        self.files += 1;
        let mut bytes = Vec::new();
        if content.read_to_end(&mut bytes).is_ok() {
            assert_eq!(bytes.len() as u64, size);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn problem(&mut self, _: BundleError) -> Result<(), BundleError> {
        Ok(())
    }
}

fn visit(archive: &[u8]) {
    let mut seen = Seen::default();
    if let Ok(mut reader) = ArchiveReader::new(archive, archive.len() as u64, &LIMITS) {
        let _ = reader.visit(&mut seen);
    }
    assert!(seen.files <= 2 * LIMITS.files + 16 && seen.bytes <= LIMITS.total_bytes + (1 << 16));
}

fuzz_target!(|bytes: &[u8]| {
    visit(bytes);
    if let Ok(archive) = zstd::encode_all(bytes, 1) {
        visit(&archive);
    }
});
