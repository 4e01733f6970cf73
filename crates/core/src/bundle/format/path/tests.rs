use super::*;
use proptest::prelude::*;

fn code(path: &[u8]) -> Option<BundleCode> {
    BundlePath::parse(path).err().map(|error| error.code)
}

#[test]
fn paths_of_bundle_files_are_accepted() {
    let blob = blob_path(&"ab".repeat(32));
    for path in
        [EVENT_LOG, SESSION_LOG, DAG, MANIFEST, CHECKSUMS, "snapshots/snap_7.cath-snap", &blob, "console", "com"]
    {
        assert_eq!(BundlePath::parse(path.as_bytes()).unwrap().as_str(), path);
    }
}

#[test]
fn each_path_escaping_a_bundle_has_its_code() {
    use BundleCode::*;
    for (path, expected) in [
        (&b"/etc/passwd"[..], AbsolutePath),
        (b"//host/share", AbsolutePath),
        (b"..", ParentPath),
        (b"a/../b", ParentPath),
        (b"a\\..\\b", ParentPath),
        (b"C:/x", DriveLetter),
        (b"c:x", DriveLetter),
        (b"a\0b", NulInPath),
        (b"a\\b", BackslashInPath),
        (b"\\\\host\\share", BackslashInPath),
        (b"a\xff", NotUtf8Path),
        (b"", InvalidPath),
        (b".", InvalidPath),
        (b"a//b", InvalidPath),
        (b"a/", InvalidPath),
        (b"a/./b", InvalidPath),
        (b"a.", InvalidPath),
        (b"a /b", InvalidPath),
        (b"ab:stream", InvalidPath),
        (b"a\nb", InvalidPath),
        (b"a?", InvalidPath),
        ("\u{e9}".as_bytes(), InvalidPath),
        (&[b'a'; 241], InvalidPath),
        (b"nul", ReservedName),
        (b"a/CON.txt", ReservedName),
        (b"Aux .x", ReservedName),
        (b"lpt9", ReservedName),
        (b"COM0.tar.gz", ReservedName),
    ] {
        assert_eq!(code(path), Some(expected), "{}", path.escape_ascii());
    }
}

#[test]
fn rejects_paths_that_denote_the_same_file() {
    let mut names = PathSet::default();
    let mut add = |path: &str| names.add(&BundlePath::parse(path.as_bytes()).unwrap()).err().map(|error| error.code);
    assert_eq!([add("a/b"), add("a/c"), add("d")], [None; 3]);
    assert_eq!(add("a/b"), Some(BundleCode::DuplicatePath));
    assert_eq!(add("A/x"), Some(BundleCode::CaseCollision));
    assert_eq!(add("a/B"), Some(BundleCode::CaseCollision));
    assert_eq!(add("a"), Some(BundleCode::DuplicatePath));
    assert_eq!(add("d/e"), Some(BundleCode::DuplicatePath));
}

#[test]
fn blob_paths_consist_of_their_hash() {
    let hash = "ab".repeat(32);
    let blob = |path: &str| BundlePath::parse(path.as_bytes()).unwrap().blob();
    assert_eq!(blob(&blob_path(&hash)), Some(Some([0xab; 32])));
    for path in
        [format!("blobs/{hash}"), format!("blobs/cd/{hash}"), format!("blobs/ab/{hash}/x"), "blobs/ab/abc".into()]
    {
        assert_eq!(blob(&path), Some(None), "{path}");
    }
    assert_eq!(blob("blob/ab"), None);
}

proptest! {
    #[test]
    fn accepted_paths_stay_below_the_root(path in "[a-zA-Z./\\\\: ~\0é]{0,12}") {
        if let Ok(parsed) = BundlePath::parse(path.as_bytes()) {
            let below = parsed.below(Path::new("/root"));
            let mut parts = below.strip_prefix("/root").unwrap().components();
            prop_assert!(parts.all(|part| matches!(part, std::path::Component::Normal(_))));
            prop_assert_eq!(below.strip_prefix("/root").unwrap().to_str().unwrap(), path);
        }
    }
}
