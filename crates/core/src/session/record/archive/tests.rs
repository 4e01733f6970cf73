use super::*;
use crate::session::fold::FoldOptions;
use crate::session::read::Replay;
use crate::task::Cancellation;
use std::fs;
use std::time::{Duration, SystemTime};

const OWNER: &str = "a test";

fn session_text(items: usize) -> String {
    let start = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;
    let item = |seq: usize| {
        format!(
            "{{\"v\":1,\"seq\":{seq},\"type\":\"content\",\"payload\":{{\"content\":{{\"speaker\":\"ai\",\"blocks\":[],\"n\":{}}}}}}}\n",
            seq * 7919
        )
    };
    format!("{start}\n{}", (2..items + 2).map(item).collect::<String>())
}

struct SessionFiles {
    directory: tempfile::TempDir,
    session: PathBuf,
    archive: PathBuf,
}

fn place(text: &str) -> SessionFiles {
    let directory = tempfile::tempdir().unwrap();
    let session = directory.path().join("session-s.jsonl");
    fs::write(&session, text).unwrap();
    let archive = directory.path().join("session-s.jsonl.zst");
    SessionFiles { directory, session, archive }
}

impl SessionFiles {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn with_task<T>(progress: &mut dyn FnMut(crate::task::Progress), work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress })
}

fn archive_it(path: &Path) -> Result<Archived, ArchiveError> {
    with_task(&mut |_| (), |task| archive(path, OWNER, task))
}

fn restore_it(path: &Path) -> Result<Archived, ArchiveError> {
    with_task(&mut |_| (), |task| restore(path, OWNER, task))
}

fn replayed(path: &Path) -> String {
    let replay = Replay::open(path, FoldOptions::default()).and_then(Replay::complete).unwrap();
    let outcome = replay.outcome(None);
    format!("{:?} {} {:?}", outcome.metadata, replay.items().len(), outcome.warnings)
}

#[test]
fn a_session_is_archived_and_restored_with_its_bytes_time_and_mode() {
    let text = session_text(60_000);
    let place = place(&text);
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(&place.session).unwrap().set_modified(time).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&place.session, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let before = replayed(&place.session);
    let archived = archive_it(&place.session).unwrap();
    let size = fs::metadata(&place.archive).unwrap().len();
    assert_eq!(
        archived,
        Archived { path: place.archive.clone(), bytes: text.len() as u64, archived_bytes: Some(size) }
    );
    assert!(size < text.len() as u64 / 4);
    assert_eq!(place.names(), ["session-s.jsonl.zst"]);
    assert_eq!([&place.session, &place.archive].map(|path| replayed(path)), [before.clone(), before.clone()]);
    assert_eq!(
        [archive_it(&place.session).unwrap(), archive_it(&place.archive).unwrap()],
        [archived.clone(), archived]
    );
    let has_kept = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        assert_eq!(metadata.modified().unwrap(), time);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o640);
    };
    has_kept(&place.archive);
    let restored = restore_it(&place.archive).unwrap();
    assert_eq!(
        restored,
        Archived { path: place.session.clone(), bytes: text.len() as u64, archived_bytes: Some(size) }
    );
    assert_eq!(
        (place.names(), fs::read_to_string(&place.session).unwrap()),
        (vec!["session-s.jsonl".to_owned()], text)
    );
    has_kept(&place.session);
    let again = Archived { archived_bytes: None, ..restored };
    assert_eq!([restore_it(&place.session).unwrap(), restore_it(&place.archive).unwrap()], [again.clone(), again]);
}

#[test]
fn snapshots_of_earlier_versions_go() {
    let place = place(&session_text(3));
    for name in ["session-s.jsonl.snap", "session-s.jsonl.zst.snap"] {
        fs::write(place.directory.path().join(name), "session-tape snapshot 4").unwrap();
    }
    archive_it(&place.session).unwrap();
    assert_eq!(place.names(), ["session-s.jsonl.zst"]);
    fs::write(place.directory.path().join("session-s.jsonl.zst.snap"), "session-tape snapshot 4").unwrap();
    restore_it(&place.session).unwrap();
    assert_eq!(place.names(), ["session-s.jsonl"]);
}

#[test]
fn a_session_that_is_written_to_meanwhile_stays() {
    use std::io::Write;
    let place = place(&session_text(20_000));
    let mut has_appended = false;
    let mut append = |_| {
        if !std::mem::replace(&mut has_appended, true) {
            fs::File::options().append(true).open(&place.session).unwrap().write_all(b"{}\n").unwrap();
        }
    };
    let refused = with_task(&mut append, |task| archive(&place.session, OWNER, task)).unwrap_err();
    assert_eq!((refused.code(), place.names()), ("Changed", vec!["session-s.jsonl".to_owned()]));
    assert!(fs::read_to_string(&place.session).unwrap().ends_with("}\n{}\n"));
    let mut replace = |_| {
        fs::remove_file(&place.session).unwrap();
        fs::write(&place.session, "another").unwrap();
    };
    let refused = with_task(&mut replace, |task| archive(&place.session, OWNER, task)).unwrap_err();
    assert_eq!((refused.code(), place.names()), ("Changed", vec!["session-s.jsonl".to_owned()]));
}

#[test]
fn what_is_no_session_of_ones_own_is_refused() {
    let place = place(&session_text(10));
    let at = |name: &str| place.directory.path().join(name);
    fs::write(at("notes.txt"), "x").unwrap();
    assert_eq!(archive_it(&at("notes.txt")).unwrap_err().code(), "NotASession");
    // It has the name of an archive, and is none.
    std::fs::write(at("text.jsonl.zst"), "text").unwrap();
    let error = archive_it(&at("text.jsonl.zst")).unwrap_err();
    assert_eq!(error.code(), "NotASession");
    assert!(error.to_string().contains("is no zstd file"), "{error}");
    std::fs::remove_file(at("text.jsonl.zst")).unwrap();
    let error = archive_it(&at("none.jsonl")).unwrap_err();
    assert_eq!(error.code(), "ENOENT");
    let lock = FileLock::acquire(&place.session, "the recorder").unwrap();
    assert_eq!(archive_it(&place.session).unwrap_err().to_string(), "the session is being recorded by the recorder");
    drop(lock);
    let cancellation = Cancellation::default();
    cancellation.cancel();
    let mut task = Task { cancellation: &cancellation, progress: &mut |_| () };
    assert_eq!(archive(&place.session, OWNER, &mut task).unwrap_err().code(), "Cancelled");
    assert_eq!(place.names(), ["notes.txt", "session-s.jsonl"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&place.session, at("link.jsonl")).unwrap();
        assert_eq!(archive_it(&at("link.jsonl")).unwrap_err().code(), "ELOOP");
    }
}

#[test]
fn an_archive_next_to_its_session_goes_only_if_nothing_is_lost() {
    let place = place(&session_text(1000));
    archive_it(&place.session).unwrap();
    let old = fs::read(&place.archive).unwrap();
    // The session has gone on since an interrupted restoration.
    let longer = session_text(1001);
    fs::write(&place.session, &longer).unwrap();
    restore_it(&place.session).unwrap();
    assert_eq!(place.names(), ["session-s.jsonl"]);
    fs::write(&place.archive, &old).unwrap();
    archive_it(&place.session).unwrap();
    restore_it(&place.session).unwrap();
    assert_eq!(fs::read_to_string(&place.session).unwrap(), longer);
    // The archive has what the session has not.
    fs::write(&place.archive, &old).unwrap();
    fs::write(&place.session, session_text(999)).unwrap();
    let refused = [archive_it(&place.session), restore_it(&place.session)].map(|refused| refused.unwrap_err().code());
    assert_eq!(
        (refused, place.names()),
        (["Differs"; 2], vec!["session-s.jsonl".to_owned(), "session-s.jsonl.zst".to_owned()])
    );
    assert_eq!(fs::read(&place.archive).unwrap(), old);
}

#[test]
fn a_damaged_archive_is_read_but_not_restored() {
    let text = session_text(120_000);
    let place = place(&text);
    archive_it(&place.session).unwrap();
    let whole = fs::read(&place.archive).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() * 3 / 4] ^= 1;
    for bytes in [&changed[..], &whole[..whole.len() * 3 / 4]] {
        fs::write(&place.archive, bytes).unwrap();
        let refused = restore_it(&place.archive).unwrap_err();
        assert!(
            matches!(refused, ArchiveError::Damaged { readable, .. } if text.is_char_boundary(readable as usize) && readable > 1 << 20),
            "{refused}"
        );
        assert_eq!(
            (place.names(), fs::read(&place.archive).unwrap()),
            (vec!["session-s.jsonl.zst".to_owned()], bytes.to_vec())
        );
        let replay = Replay::open(&place.session, FoldOptions::default()).and_then(Replay::complete).unwrap();
        assert!(replay.outcome(None).metadata.is_ok());
        assert!((10_000..119_000).contains(&replay.items().len()), "{}", replay.items().len());
    }
}
