//! A flight recorder for AI command-line tools. It records sessions to JSONL files that survive crashes, and replays them from what a crash has left;
//! it records runs of workflows to hash-chained logs, and verifies them; it seals both into bundles, and compares them.
//!
//! The names below are the whole API of the crate. `docs/ARCHITECTURE.md` describes the modules behind them and their dependencies.
//!
//! # Sessions
//!
//! ```
//! use session_tape::{FoldOptions, Replay};
//! # let mut file = tempfile::NamedTempFile::new()?;
//! # std::io::Write::write_all(&mut file, br#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#)?;
//! # let path = file.path();
//! let mut replay = Replay::open(path, FoldOptions::default()).map_err(|error| error.message().to_string())?;
//! while replay.scan_on().map_err(|error| error.message().to_string())?.is_some() {}
//! replay.settle();
//! assert_eq!(replay.outcome(None).event_count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Runs
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use session_tape::{Durability, RunDirectory, RunRecorder, RunRecorderConfig, RunReplayOptions, RunWatch, Scheduler, Text, replay_run};
//! # let root = tempfile::tempdir()?;
//! # let directory = root.path().join("weekly");
//! let recorder = RunRecorder::open(
//!     &RunRecorderConfig {
//!         directory: directory.clone(),
//!         mode: 0o600,
//!         run_id: Text::from_plain("run-1"),
//!         workflow: r#"{"name":"weekly","version":"1","nodes":[{"id":"fetch","kind":"task"}]}"#,
//!         scheduler: Scheduler::RoundRobin,
//!         capabilities: None,
//!         resume: false,
//!         durability: Durability::Os,
//!         owner: "this process".to_owned(),
//!     },
//!     0.0,
//!     |failure| eprintln!("no longer recording: {}", failure.error),
//! )?;
//! # let (sender, disposed) = std::sync::mpsc::channel();
//! recorder.dispose(move || sender.send(()).unwrap());
//! # disposed.recv()?;
//! let (go_on, mut quietly) = (AtomicBool::new(false), |_, _| ());
//! let mut watch = RunWatch { cancelled: &go_on, progress: &mut quietly };
//! let replayed = replay_run(&RunDirectory::new(&directory), &RunReplayOptions::default(), &mut watch).map_err(|failed| failed.error)?;
//! assert_eq!(replayed.event_count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Bundles
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use session_tape::{BundleWatch, ExportOptions, VerifyOptions, export_bundle, verify_bundle};
//! # let root = tempfile::tempdir()?;
//! # let session = root.path().join("session.jsonl");
//! # std::fs::write(&session, "{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\",\"projectHash\":\"h\"}}\n")?;
//! let (go_on, mut quietly) = (AtomicBool::new(false), |_| ());
//! let mut watch = BundleWatch { cancelled: &go_on, progress: &mut quietly };
//! let bundle = root.path().join("session.cath-bundle.tar.zst");
//! export_bundle(&session, &bundle, &ExportOptions::default(), &mut watch)?;
//! assert!(verify_bundle(&bundle, &VerifyOptions::default(), &mut watch)?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Diff
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use session_tape::{DiffOptions, DiffSource, RunWatch, diff};
//! # let root = tempfile::tempdir()?;
//! # let line = |model: &str| format!("{{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{{\"sessionId\":\"s\",\"projectHash\":\"h\",\"model\":\"{model}\"}}}}\n");
//! # let (left, right) = (root.path().join("left.jsonl"), root.path().join("right.jsonl"));
//! # std::fs::write(&left, line("small"))?;
//! # std::fs::write(&right, line("large"))?;
//! let (go_on, mut quietly) = (AtomicBool::new(false), |_, _| ());
//! let mut watch = RunWatch { cancelled: &go_on, progress: &mut quietly };
//! let (left, right) = (DiffSource::find(&left)?, DiffSource::find(&right)?);
//! assert!(diff(&left, &right, &DiffOptions::default(), &mut watch)?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! - A value of a session's file stays a byte range until it is put on a tape for delivery. A tape yields the values that `JSON.parse` would build;
//!   V8 itself parses the text of values that it builds better.
//! - Content of a file is validated before it is used, even in files that this crate has written: a number is not used as an offset before it is
//!   known to be in range.
//! - Events take effect in file order, whatever their `seq`.
//! - No content of a file makes this crate panic, or recurse without a limit.
//! - Only the module `node` depends on Node.js. It is compiled only with the feature `node`.

// Without the feature `node`, items that only the binding uses appear to be unused.
#![cfg_attr(not(feature = "node"), allow(dead_code, unused_imports))]
// Only the module `disk` accesses files, and there in one place; see `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

/// A point at which a test can end the process.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}

// Modules are private, so that the compiler reports unused items. Tests of formats, fuzz targets and benchmarks access them through the feature
// `internals`.
#[cfg(not(feature = "internals"))]
mod bundle;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod bundle;
#[cfg(not(feature = "internals"))]
mod diff;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod diff;
#[cfg(not(feature = "internals"))]
mod disk;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod disk;
#[cfg(not(feature = "internals"))]
mod hash;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod hash;
#[cfg(not(feature = "internals"))]
mod jsonl;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod jsonl;
#[cfg(not(feature = "internals"))]
mod run;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod run;
#[cfg(not(feature = "internals"))]
mod session;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod session;
#[cfg(not(feature = "internals"))]
mod signature;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod signature;

mod background;
mod cancellation;
mod clock;
mod hash_batch;
#[cfg(feature = "node")]
// In a test build napi-rs registers nothing, so the binding appears to be unused.
#[cfg_attr(test, allow(dead_code))]
mod node;
mod pipeline;
mod recording;
mod threading;
// Recordings as rows of tables. The addon does not use it.
#[cfg(feature = "rows")]
mod rows;

pub use bundle::export::{ExportOptions, export as export_bundle};
pub use bundle::import::import as import_bundle;
pub use bundle::import_error::ImportError;
pub use bundle::info::BundleInfo;
pub use bundle::redact::{RedactOptions, RedactionRule};
pub use bundle::verify::{Report as BundleReport, VerifyOptions, verify as verify_bundle};
pub use bundle::watch::{JobWatch as BundleWatch, Progress as BundleProgress};
#[cfg(feature = "rows")]
pub use cancellation::Cancellation;
pub use diff::ancestry::trace_ancestors;
pub use diff::compare::{Diff, DiffOptions, diff};
pub use diff::source::Source as DiffSource;
pub use disk::durability::Durability;
#[cfg(feature = "rows")]
pub use disk::sniff::is_archive as is_archive_beginning;
pub use jsonl::segments::Threads;
#[cfg(feature = "rows")]
pub use jsonl::segments::{SEGMENT_BYTES, equal_segments};
pub use jsonl::source::{LineSource, ReadError};
pub use jsonl::writer::{WriteError, WriteFailure, Writer};
#[cfg(feature = "rows")]
pub use pipeline::{InOrder, Pipeline, Worker, spare_cores};
pub use recording::{Recording, RecordingError};
#[cfg(feature = "rows")]
pub use rows::{
    file_hash::{FileHash, HashedFile},
    item::{Block, Item, Value},
    run_rows::{FIELDS as RUN_FIELDS, RunRow, RunVerdicts, read_run, run_id, verify_recording},
    session_rows::{Change, SessionPart, SessionReader, SessionRow},
    session_summary::{SessionFold, SessionSummary, text as text_of_json},
    steps::{Key, RecordDigest, Step, Steps},
};
pub use run::directory::RunDirectory;
pub use run::error::{ErrorCode as RunErrorCode, RunError};
pub use run::fold::Watch as RunWatch;
pub use run::recorder::{RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
pub use run::recording::EventInput;
pub use run::replay::{ReplayOptions as RunReplayOptions, Replayed as ReplayedRun, Verify, replay as replay_run};
pub use run::scheduler::Scheduler;
pub use run::start_from::StartFrom;
pub use run::text::Text;
pub use run::verify::{Verification, verify as verify_run};
pub use session::checkpoint::Checkpoint;
pub use session::event::Mode as ReplayMode;
#[cfg(feature = "rows")]
pub use session::final_history::FinalHistory;
pub use session::fold::FoldOptions;
pub use session::recorder::{FileNameForm, Record, Recorder, RecorderConfig};
#[cfg(feature = "rows")]
pub use session::records::LineStatus;
pub use session::replay::{Outcome, Replay, ReplayError};
pub use session::snapshot::Snapshots;
pub use signature::{SigningKey, TrustedKeys};
#[cfg(feature = "rows")]
pub use threading::STACK_BYTES;
