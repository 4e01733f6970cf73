//! The flight recorder of AI command-line tools: sessions are recorded to JSONL files that survive crashes, and
//! replayed from whatever a crash left of them; runs of workflows to logs that prove themselves.
//!
//! # Map
//!
//! - [`jsonl`]: the line layer. Finds lines, judges them as `JSON.parse` would, appends them in the background.
//! - [`session`]: session files. [`session::fold`] holds the central idea: replay is a fold whose effects compose.
//! - [`run`]: the logs of workflow runs. Events are chained by hashes; state is rebuilt at any of them and verified.
//! - [`bundle`]: a run or a session sealed into something that another machine can check and replay.
//! - [`diff`]: where two runs or two sessions part, and why. Reads both kinds of log, changes neither.
//! - [`hash`], [`signature`], [`atomic_file`]: what stands under runs and knows nothing of them.
//! - `node`: the only place that knows of JavaScript. It converts and delegates. Left out without the feature `node`.
//!
//! # Invariants
//!
//! - A value of a session's file stays a byte range until it is delivered. Those that history still has then go on a tape
//!   ([`jsonl::tape`]), to mean what `JSON.parse` makes of them; V8 parses the text of those that it builds better itself.
//! - What a file says is checked before it is used, also in files of our own: a number is not a place before it is known to be one.
//! - The text of a line decides, never its `seq`: events count in file order.
//! - Nothing that stands in a file makes anything here panic or recurse.
//!
//! ```
//! use session_tape::session::{fold::FoldOptions, replay::Replay};
//! # let mut file = tempfile::NamedTempFile::new()?;
//! # std::io::Write::write_all(&mut file, br#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#)?;
//! # let path = file.path();
//! let mut replay = Replay::open(path, FoldOptions::default()).map_err(|error| error.message().to_string())?;
//! while replay.scan_on().map_err(|error| error.message().to_string())?.is_some() {}
//! replay.settle();
//! assert_eq!(replay.outcome(None).event_count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// A point at which a test can end the process.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}

pub mod atomic_file;
pub mod background;
pub mod bundle;
pub mod cached_read;
pub mod cancellation;
pub mod clock;
pub mod diff;
pub mod hash;
pub mod input_file;
pub mod jsonl;
pub mod new_directory;
#[cfg(feature = "node")]
// In a test build napi-rs registers nothing, so that nothing of the binding seems to be used.
#[cfg_attr(test, allow(dead_code))]
mod node;
pub mod os_error;
pub mod run;
pub mod session;
pub mod signature;
pub mod sniff;
