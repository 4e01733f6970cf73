use super::*;
use crate::hash::HEX_BYTES;
use proptest::prelude::*;

fn manifest() -> Manifest {
    let files = [("a/b", 7), ("c", 0)].map(|(path, size)| (path.to_owned(), ListedFile { sha256: [0xab; 32], size }));
    Manifest {
        kind: BundleKind::Run,
        files: files.into(),
        log: LogExtent { count: 3, first_time: Some(8), last_time: Some(10), head: Some([b'1'; HEX_BYTES]) },
        partial: Some(Partial { snapshot: "snap_7".into(), logical_time: 7 }),
    }
}

#[test]
fn the_id_can_be_recomputed_with_sha256sum() {
    let (ab, one) = ("ab".repeat(32), "1".repeat(64));
    let without = format!(
        r#"{{"files":{{"a/b":{{"sha256":"{ab}","size":7}},"c":{{"sha256":"{ab}","size":0}}}},"kind":"run","log":{{"count":3,"firstTime":8,"head":"{one}","lastTime":10}},"partial":{{"logicalTime":7,"snapshot":"snap_7"}},"v":1}}"#
    );
    let id = sha256_hex([without.as_bytes()]);
    let document = without.replacen('{', &format!(r#"{{"bundleId":"{}","#, as_text(&id)), 1);
    assert_eq!(String::from_utf8(manifest().print()).unwrap(), document);
    assert_eq!(Manifest::parse(document.as_bytes()), Ok((manifest(), id)));
    assert_eq!(manifest().problems(&id), []);
}

#[test]
fn manifest_entries_are_validated() {
    let codes = |path: &str| {
        let mut manifest = manifest();
        manifest.files.insert(path.to_owned(), ListedFile { sha256: [0; 32], size: 0 });
        let (read, id) = Manifest::parse(&manifest.print()).unwrap();
        read.problems(&id).iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    assert_eq!(codes("d"), []);
    assert_eq!(codes("../d"), [BundleCode::ParentPath]);
    assert_eq!(codes("A/c"), [BundleCode::CaseCollision]);
    assert_eq!(codes("a"), [BundleCode::DuplicatePath]);
    assert_eq!(codes("x\0\u{e9}"), [BundleCode::NulInPath]);
    assert_eq!(codes(MANIFEST), [BundleCode::ManifestInvalid]);
}

#[test]
fn other_format_versions_are_distinguished_from_damage() {
    let text = String::from_utf8(manifest().print()).unwrap();
    let code = |text: &str| Manifest::parse(text.as_bytes()).err().map(|error| error.code);
    assert_eq!(code(&text.replace("\"v\":1", "\"v\":2")), Some(BundleCode::UnsupportedVersion));
    for damaged in [
        "",
        "null",
        "[]",
        "{}",
        &"[".repeat(100_000),
        &text.replace("\"v\":1", "\"v\":-1"),
        &text.replace("\"v\":1", "\"v\":1,\"w\":1"),
        &text.replace(":7", ": 7"),
        &text.replace("\"size\":0", "\"size\":0.0"),
        &text.replace("\"size\":0", "\"size\":99999999999999999999"),
        &text.replace("run", "walk"),
        &text.replace("1111", "111x"),
        &text.replace("abab", "ABAB"),
        &text.replacen("\"a/b\"", "\"c\"", 1),
        &format!("{text}\n"),
    ] {
        assert_eq!(code(damaged), Some(BundleCode::ManifestInvalid), "{}", &damaged[..damaged.len().min(300)]);
    }
}

#[test]
fn any_flipped_bit_of_a_manifest_is_found() {
    let document = manifest().print();
    for bit in 0..document.len() * 8 {
        let mut damaged = document.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let found = Manifest::parse(&damaged).map(|(manifest, id)| manifest.problems(&id));
        assert!(found.is_err() || found.is_ok_and(|problems| !problems.is_empty()), "bit {bit}");
    }
}

proptest! {
    #[test]
    fn parse_undoes_print(
        files in proptest::collection::btree_map(any::<String>(), (any::<[u8; 32]>(), any::<u64>()), 0..5),
        times in any::<(u64, Option<u64>, Option<u64>)>(),
        snapshot in any::<Option<(String, u64)>>(),
    ) {
        let listed = |(path, (sha256, size))| (path, ListedFile { sha256, size });
        let written = Manifest {
            kind: BundleKind::Session,
            files: files.into_iter().map(listed).collect(),
            log: LogExtent { count: times.0, first_time: times.1, last_time: times.2, head: None },
            partial: snapshot.map(|(snapshot, logical_time)| Partial { snapshot, logical_time }),
        };
        let (read, id) = Manifest::parse(&written.print()).unwrap();
        prop_assert_eq!(id, written.bundle_id());
        prop_assert_eq!(read, written);
    }
}
