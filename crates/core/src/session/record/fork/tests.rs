use super::*;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

const START: &str = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"söurce","projectHash":"h","provider":"p","model":"m","startTime":"t"}}"#;
const CHILD: &str =
    r#"{"sessionId":"child","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#;
const ONE: &str = r#"{"speaker":"human","blocks":["öne \ud800"]}"#;
const TWO: &str = r#"{ "blocks":[] ,"speaker":"ai","blocks":["twö"]}"#;

fn line(seq: u32, event_type: &str, payload: &str) -> String {
    format!(r#"{{"v":1,"seq":{seq},"ts":"t","type":"{event_type}","payload":{payload}}}"#)
}

fn content(seq: u32, item: &str) -> String {
    line(seq, "content", &format!(r#"{{"content":{item}}}"#))
}

fn created(seq: u32, id: &str, name: &str) -> String {
    line(seq, "checkpoint_created", &format!(r#"{{"checkpointId":"{id}","name":"{name}"}}"#))
}

/// A source with the checkpoint `c` after two items.
fn lines() -> Vec<String> {
    vec![START.into(), content(2, ONE), content(3, TWO), created(4, "c", "näme"), content(5, ONE)]
}

/// A session file in a directory of its own.
struct Session {
    directory: TempDir,
}

impl Session {
    fn of(lines: &[String]) -> Self {
        let session = Session { directory: tempfile::tempdir().unwrap() };
        fs::write(session.path(), lines.join("\n") + "\n").unwrap();
        session
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("source.jsonl")
    }

    fn source(&self, id: &str) -> ForkSource {
        ForkSource {
            path: self.path(),
            project_hash: "h".encode_utf16().collect(),
            checkpoint_id: id.encode_utf16().collect(),
        }
    }

    fn target(&self, file_name: FileNameForm) -> ForkTarget {
        ForkTarget {
            mode: 0o600,
            chats_dir: self.directory.path().to_path_buf(),
            file_name,
            id_prefix: "chïld".encode_utf16().collect(),
            start_payload: CHILD.into(),
            milliseconds: 1e12,
            contents: None,
        }
    }

    fn fork(&self, id: &str) -> Result<Fork, ForkError> {
        fork(&self.source(id), &self.target(FileNameForm::Minutes))
    }

    /// The names in the directory, except that of the source.
    fn others(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "source.jsonl");
        names.sort();
        names
    }
}

fn texts(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_fork_has_the_bytes_of_the_items_up_to_the_checkpoint() {
    let session = Session::of(&lines());
    let Fork { path, last_seq } = session.fork("c").unwrap();
    let record = |seq: u32, event_type: &str, payload: &str| {
        line(seq, event_type, payload).replace(r#""ts":"t""#, r#""ts":"2001-09-09T01:46:40.000Z""#)
    };
    let forked = r#"{"parentSessionId":"söurce","parentSequence":4,"checkpointId":"c","checkpointName":"näme"}"#;
    let expected = [
        record(1, "session_start", CHILD),
        record(2, "session_forked", forked),
        record(3, "content", &format!(r#"{{"content":{ONE}}}"#)),
        record(4, "content", &format!(r#"{{"content":{TWO}}}"#)),
    ];
    assert_eq!((texts(&path), last_seq), (expected.to_vec(), 4.0));
    assert_eq!(session.others(), ["session-2001-09-09T01-46-chïld.jsonl"]);
}

#[test]
fn a_taken_name_gets_a_number_before_the_id() {
    let forms = [(FileNameForm::Minutes, "2001-09-09T01-46"), (FileNameForm::Seconds, "2001-09-09T01-46-40")];
    for (form, stamp) in forms {
        let session = Session::of(&lines());
        for number in ["", "2-", "3-"] {
            let made = fork(&session.source("c"), &session.target(form)).unwrap();
            assert_eq!(
                made.path.file_name().unwrap().to_str().unwrap(),
                format!("session-{stamp}-{number}chïld.jsonl")
            );
        }
        assert_eq!(session.others().len(), 3);
    }
}

#[test]
fn failed_fork_leaves_no_files() {
    let with = |more: &[String]| [lines(), more.to_vec()].concat();
    let deleted = line(6, "checkpoint_deleted", r#"{"checkpointId":"\u0063"}"#);
    let cases = [
        (vec!["x".to_owned()], "c", ForkError::Source(ReplayError::MissingStart)),
        (vec![START.replace("\"p\"", "1")], "c", ForkError::Source(ReplayError::InvalidStart(Mode::Strict))),
        (with(&[content(5, ONE)]), "c", ForkError::SequenceCorrupt),
        (with(&[deleted]), "c", ForkError::Gone),
        (lines(), "d", ForkError::Gone),
        (vec![START.into(), created(2, "c", "n"), content(3, ONE)], "c", ForkError::Empty),
    ];
    for (lines, id, expected) in cases {
        let session = Session::of(&lines);
        assert_eq!((session.fork(id), session.others()), (Err(expected), vec![]));
    }
}

#[test]
fn the_first_creation_counts() {
    let session = Session::of(&[lines(), vec![created(6, "c", "again")]].concat());
    let made = session.fork("c").unwrap();
    let written = texts(&made.path);
    assert_eq!(written.len(), 4);
    assert!(written[1].contains(r#""parentSequence":4"#) && written[1].contains(r#""checkpointName":"näme""#));
}

#[cfg(feature = "failpoints")]
mod faults {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::disk::testing::{FileSystem, MountGuard, Names, Real, mount};
    use crate::disk::{File, Metadata, OpenOptions};

    /// The operating system's file system, on which one path can be opened only a limited number of times.
    struct Closing {
        path: PathBuf,
        openings: AtomicU64,
        error: i32,
    }

    impl FileSystem for Closing {
        fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
            let left = |left: u64| left.checked_sub(1);
            if path == self.path && self.openings.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_err() {
                return Err(io::Error::from_raw_os_error(self.error));
            }
            Real.open(path, options)
        }

        fn metadata(&self, path: &Path) -> io::Result<Metadata> {
            Real.metadata(path)
        }

        fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
            Real.symlink_metadata(path)
        }

        fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
            Real.canonicalize(path)
        }

        fn read_directory(&self, path: &Path) -> io::Result<Names> {
            Real.read_directory(path)
        }

        fn create_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
            Real.create_directory(path, mode)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            Real.rename(from, to)
        }

        fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
            Real.rename_new(from, to)
        }

        fn remove_file(&self, path: &Path) -> io::Result<()> {
            Real.remove_file(path)
        }

        fn remove_tree(&self, path: &Path) -> io::Result<()> {
            Real.remove_tree(path)
        }
    }

    fn closing(session: &Session, path: PathBuf, openings: u64, error: i32) -> MountGuard {
        mount(session.directory.path(), Arc::new(Closing { path, openings: openings.into(), error }))
    }

    /// The fork's directory is opened to be synced.
    #[cfg(unix)]
    #[test]
    fn a_directory_that_cannot_be_synced_keeps_no_fork() {
        let session = Session::of(&lines());
        let _mounted = closing(&session, session.directory.path().to_path_buf(), 0, libc::EIO);
        assert!(matches!(session.fork("c"), Err(ForkError::System(error)) if error.code == "EIO"));
        assert_eq!(session.others(), Vec::<String>::new());
    }

    #[test]
    fn a_source_that_cannot_be_read_again_up_to_the_checkpoint_is_not_forked() {
        // The checkpoint comes directly after an edit, so that the part up to it is read once more.
        let edit = line(4, "density_mutation", r#"{"removedSeqs":[9],"replacements":[]}"#);
        let session =
            Session::of(&[START.into(), content(2, ONE), content(3, TWO), edit, created(5, "c", "n"), content(6, ONE)]);
        let made = session.fork("c").unwrap();
        fs::remove_file(made.path).unwrap();
        let _mounted = closing(&session, session.path(), 1, libc::EACCES);
        assert!(matches!(session.fork("c"), Err(ForkError::Through(ReplayError::Read(_)))));
        assert_eq!(session.others(), Vec::<String>::new());
    }
}
