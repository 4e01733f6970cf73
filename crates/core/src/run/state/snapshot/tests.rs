use super::*;
use proptest::prelude::*;
use std::fs;

fn content(time: u64) -> Content {
    Content {
        run_id: "r\\n\u{e9}".into(),
        logical_time: time,
        event_hash: [b'1'; HEX_BYTES],
        state_hash: [b'2'; HEX_BYTES],
        state: br#"{"a":[1,{}]}"#.to_vec(),
    }
}

fn document(snapshot: &Snapshot) -> String {
    String::from_utf8(snapshot.print()).unwrap()
}

fn parse(document: &str) -> Result<Snapshot, RunError> {
    Snapshot::parse(document, &TrustedKeys::default())
}

#[test]
fn a_snapshot_can_be_recomputed_with_sha256sum() {
    let document = document(&Snapshot::new(content(7), None));
    let (one, two) = ("1".repeat(64), "2".repeat(64));
    let content = format!(
        r#"{{"eventHash":"{one}","logicalTime":7,"runId":"r\né","snapshot":"snap_7","state":{{"a":[1,{{}}]}},"stateHash":"{two}","v":1}}"#
    );
    let hash = as_text(&sha256_hex([content.as_bytes()])).to_owned();
    assert_eq!(document, content.replacen('{', &format!(r#"{{"contentHash":"{hash}","#), 1));
    assert_eq!(parse(&document).unwrap().print(), document.as_bytes());
}

#[test]
fn written_snapshots_are_listed_newest_first() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("snapshots");
    assert_eq!(list(&directory), Ok(vec![]));
    for time in [3, 100, 20] {
        let snapshot = Snapshot::new(content(time), None);
        let path = snapshot.write(&directory, Durability::Os).unwrap();
        assert_eq!(path, directory.join(format!("snap_{time}.cath-snap")));
        assert_eq!(Snapshot::read(&path, &TrustedKeys::default()), Ok(snapshot));
    }
    for other in ["snap_007.cath-snap", "snap_.cath-snap", "snap_5", ".new-x.tmp", "snap_+5.cath-snap"] {
        fs::write(directory.join(other), "").unwrap();
    }
    assert_eq!(list(&directory), Ok(vec![100, 20, 3]));
}

#[test]
fn a_snapshot_under_the_name_of_another_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = Snapshot::new(content(3), None).write(root.path(), Durability::Os).unwrap();
    let other = path_of(root.path(), 4);
    fs::rename(path, &other).unwrap();
    let error = Snapshot::read(&other, &TrustedKeys::default()).unwrap_err();
    assert_eq!((error.code, error.found.as_deref()), (ErrorCode::SnapshotInvalid, Some("snap_3")));
}

#[test]
fn trusted_keys_require_a_signature_by_one_of_them() {
    let (key, public) = crate::signature::tests::key_pair();
    let trusted = TrustedKeys::from_pems(&[public]).unwrap();
    let signed = Snapshot::new(content(3), Some(&SigningKey::from_pem(key).unwrap()));
    assert_eq!(Snapshot::parse(&document(&signed), &trusted).as_ref(), Ok(&signed));
    assert_eq!(parse(&document(&signed)).as_ref(), Ok(&signed), "without keys there is nothing to check");
    let other = TrustedKeys::from_pems(&[crate::signature::tests::OTHER_PUBLIC]).unwrap();
    // A valid content hash, with the signature of another content.
    let forged = Snapshot { signature: signed.signature.clone(), ..Snapshot::new(content(4), None) };
    assert!(parse(&document(&forged)).is_ok());
    for (document, trusted) in [
        (document(&signed), &other),
        (document(&forged), &trusted),
        (document(&Snapshot::new(content(3), None)), &trusted),
    ] {
        assert_eq!(Snapshot::parse(&document, trusted).unwrap_err().code, ErrorCode::SnapshotInvalid);
    }
}

#[test]
fn any_flipped_bit_of_a_snapshot_is_found() {
    let (key, public) = crate::signature::tests::key_pair();
    let trusted = TrustedKeys::from_pems(&[public]).unwrap();
    let bytes = Snapshot::new(content(3), Some(&SigningKey::from_pem(key).unwrap())).print();
    let found = |what: &[u8], length| memchr::memmem::find(&bytes, what).map(|at| at..at + length).unwrap();
    // The key id proves nothing, and the tests of signatures change each bit of a signature.
    let passed_over = [found(b"\"keyid\":\"", 73), found(b"\"sig\":\"", 96)];
    for bit in (0..bytes.len() * 8).filter(|bit| !passed_over.iter().any(|range| range.contains(&(bit / 8)))) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(document) = std::str::from_utf8(&damaged) {
            assert!(Snapshot::parse(document, &trusted).is_err(), "bit {bit}");
        }
    }
}

proptest! {
    #[test]
    fn any_change_of_a_document_is_found(at in any::<prop::sample::Index>(), cut in 0usize..30, insert in ".{0,10}") {
        let document = document(&Snapshot::new(content(3), None));
        let at = (0..=at.index(document.len())).rev().find(|at| document.is_char_boundary(*at)).unwrap();
        let end = (at + cut..=document.len()).find(|end| document.is_char_boundary(*end)).unwrap_or(document.len());
        let damaged = [&document[..at], &insert, &document[end..]].concat();
        prop_assume!(damaged != document);
        prop_assert_eq!(parse(&damaged).unwrap_err().code, ErrorCode::SnapshotInvalid);
    }
}
