//! The 23 kinds of events (`docs/run-format.md` section 4), parsed and printed.

use std::fmt;

use super::error::{ErrorCode, RunError};
use crate::json::quoted;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident,)+) => {
        /// The kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl Kind {
            /// Every kind, in the order of the specification's table.
            pub const ALL: [Kind; 23] = [$(Kind::$kind,)+];

            /// The kind with this name, as written in a line. Returns `None` if there is no such kind; names are never guessed.
            #[inline]
            #[allow(non_upper_case_globals)]
            pub fn parse(name: &str) -> Option<Kind> {
                $(const $kind: &str = stringify!($kind);)+
                match name {
                    $($kind => Some(Kind::$kind),)+
                    _ => None,
                }
            }

            /// The name, as written in a line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$kind => stringify!($kind),)+
                }
            }
        }
    };
}

kinds! {
    /// The run exists, with its graph. Always the event at time 0, and no other.
    RunCreated,
    /// The workers exist, and work may begin.
    RunStarted,
    /// The run succeeded.
    RunCompleted,
    /// The run failed.
    RunFailed,
    /// A node is ready, and its next task waits for a worker.
    NodeScheduled,
    /// A worker started a task.
    NodeStarted,
    /// A task succeeded, and with it its node.
    NodeCompleted,
    /// A task failed. Its node failed too, or waits for another attempt.
    NodeFailed,
    /// A node will not be run.
    NodeSkipped,
    /// A call to a tool began.
    ToolInvoked,
    /// A call ended with an output.
    ToolCompleted,
    /// A call ended with an error.
    ToolFailed,
    /// A call timed out.
    ToolTimedOut,
    /// It was checked whether someone has a capability.
    CapabilityCheck,
    /// A policy made a decision.
    PolicyDecision,
    /// A task was assigned to a worker.
    TaskAssigned,
    /// The worker accepted its task.
    TaskAccepted,
    /// The worker rejected its task.
    TaskRejected,
    /// A snapshot was written.
    SnapshotCreated,
    /// The state was restored from a snapshot.
    SnapshotRestored,
    /// Bytes were stored under their hash.
    BlobStored,
    /// A worker reported its status.
    Heartbeat,
    /// An error occurred outside of the graph.
    Error,
}

impl Kind {
    /// The error for a kind that this release does not know.
    #[cold]
    pub fn unknown(name: &str) -> RunError {
        let shown = quoted(name);
        RunError::new(ErrorCode::UnknownKind, format!("There is no kind '{shown}'. A newer release may know it."))
            .compared("one of the 23 kinds", name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_printed() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::ALL.iter().collect::<std::collections::HashSet<_>>().len(), 23);
    }

    #[test]
    fn a_name_is_matched_whole_and_by_case() {
        for other in ["", "runCreated", "RunCreated ", "RunCreate", "Runcreated", "NodeFinished", "RunCre\\u0061ted"] {
            assert_eq!(Kind::parse(other), None, "{other:?}");
        }
    }
}
