//! Any bytes as an archive, and any bytes as the tar in an archive: imported within the limits, or refused and nothing is left.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::{Limits, VerifyOptions, import};
use session_tape_core::{Cancellation, Task};

const LIMITS: Limits = Limits {
    line_bytes: 1 << 10,
    blob_bytes: 1 << 16,
    files: 20,
    expansion: 20,
    total_bytes: 1 << 18,
    manifest_bytes: 1 << 16,
    redactions_bytes: 1 << 16,
};

/// The number of files below a directory, and their size.
fn measured(directory: &Path) -> (u64, u64) {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    entries.fold((0, 0), |(files, bytes), entry| {
        let metadata = entry.metadata().expect("its metadata");
        let (more_files, more_bytes) = if metadata.is_dir() { measured(&entry.path()) } else { (1, metadata.len()) };
        (files + more_files, bytes + more_bytes)
    })
}

fn import_bytes(archive: &[u8]) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let [path, inner] = ["x.tar.zst", "inner"].map(|name| root.path().join(name));
    fs::write(&path, archive).and_then(|()| fs::create_dir(&inner)).expect("room for it");
    let (cancellation, mut quietly) = (Cancellation::default(), |_| ());
    let mut task = Task { cancellation: &cancellation, progress: &mut quietly };
    let options = VerifyOptions { limits: LIMITS, is_for_reader: true, ..VerifyOptions::default() };
    let imported = import(&path, &inner.join("y"), &options, &mut task);
    let (files, bytes) = measured(root.path());
    let size = archive.len() as u64;
    assert!(imported.is_ok() || (files, bytes) == (1, size), "an import that fails leaves nothing");
    assert!(files <= 1 + LIMITS.files && bytes <= size + LIMITS.total_bytes);
}

fuzz_target!(|bytes: &[u8]| {
    import_bytes(bytes);
    if let Ok(archive) = zstd::encode_all(bytes, 1) {
        import_bytes(&archive);
    }
});
