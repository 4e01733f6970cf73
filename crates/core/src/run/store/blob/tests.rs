use super::*;
use std::fs;

/// What is read at once.
const BLOCK_BYTES: usize = 256 << 10;

fn store() -> (tempfile::TempDir, BlobStore) {
    let root = tempfile::tempdir().unwrap();
    let store = BlobStore::new(root.path().join("blobs"));
    (root, store)
}

fn put(store: &BlobStore, bytes: &[u8]) -> String {
    as_text(&store.put(bytes, Durability::Os).unwrap()).to_owned()
}

#[test]
fn blob_is_stored_under_its_hash() {
    let (root, store) = store();
    let hash = put(&store, b"abc");
    assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(fs::read(root.path().join("blobs/ba").join(&hash)).unwrap(), b"abc");
    assert_eq!(store.verify(&hash), Ok(3));
    assert_eq!(store.read(&hash, 3).unwrap(), b"abc");
    assert_eq!(store.read(&hash, 2).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn storing_a_blob_twice_is_idempotent_and_repairs_damage() {
    let (_root, store) = store();
    let hash = put(&store, b"abc");
    let path = store.path_of(&hash).unwrap();
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    put(&store, b"abc");
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    for damaged in [&b"abd"[..], b"ab"] {
        fs::write(&path, damaged).unwrap();
        put(&store, b"abc");
        assert_eq!(store.verify(&hash), Ok(3));
    }
}

#[test]
fn a_large_blob_is_hashed_block_by_block() {
    let (_root, store) = store();
    let bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 7).map(|n| (n % 251) as u8).collect();
    let hash = put(&store, &bytes);
    assert_eq!(store.verify(&hash), Ok(bytes.len() as u64));
    let path = store.path_of(&hash).unwrap();
    let mut damaged = bytes.clone();
    damaged[2 * BLOCK_BYTES + 1] ^= 1;
    fs::write(&path, damaged).unwrap();
    let error = store.verify(&hash).unwrap_err();
    assert_eq!((error.code, error.expected.as_deref()), (ErrorCode::BlobCorrupt, Some(&hash[..])));
    assert_eq!(store.read(&hash, 1 << 30).unwrap_err().code, ErrorCode::BlobCorrupt);
}

#[test]
fn absent_blob_is_missing_and_only_its_path_is_opened() {
    let (root, store) = store();
    fs::write(root.path().join("secret"), b"x").unwrap();
    let absent = "0".repeat(64);
    let directory = store.path_of(&"1".repeat(64)).unwrap();
    fs::create_dir_all(directory).unwrap();
    for hash in ["", "../secret", &absent, &"A".repeat(64), &"1".repeat(64), "é"] {
        assert_eq!(store.verify(hash).unwrap_err().code, ErrorCode::BlobMissing, "{hash}");
    }
}

#[cfg(unix)]
#[test]
fn blob_behind_a_path_that_leads_nowhere_is_missing() {
    let (_root, store) = store();
    let path = store.path_of(&put(&store, b"abc")).unwrap();
    let hash = path.file_name().unwrap().to_str().unwrap();
    for target in ["nowhere", hash] {
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        assert_eq!(store.verify(hash).unwrap_err().code, ErrorCode::BlobMissing, "{target}");
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path.parent().unwrap(), b"").unwrap();
    assert_eq!(store.verify(hash).unwrap_err().code, ErrorCode::BlobMissing);
}

#[cfg(unix)]
#[test]
fn pipe_in_place_of_a_blob_does_not_block() {
    let (_root, store) = store();
    let hash = put(&store, b"abc");
    let path = store.path_of(&hash).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(store.verify(&hash).unwrap_err().code, ErrorCode::BlobMissing);
}
