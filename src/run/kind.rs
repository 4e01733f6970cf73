//! The 23 kinds of event (`docs/run-format.md` section 4), parsed and printed.

use std::fmt;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident,)+) => {
        /// What an event is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl Kind {
            /// Every kind, in the order of the specification's table.
            pub const ALL: [Kind; 23] = [$(Kind::$kind,)+];

            /// The kind of this name, as it stands in a line. None if there is no such kind: names are never guessed.
            #[inline]
            #[allow(non_upper_case_globals)]
            pub fn parse(name: &str) -> Option<Kind> {
                $(const $kind: &str = stringify!($kind);)+
                match name {
                    $($kind => Some(Kind::$kind),)+
                    _ => None,
                }
            }

            /// The name, as it stands in a line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$kind => stringify!($kind),)+
                }
            }
        }
    };
}

kinds! {
    /// The run exists, with its graph; always the event at time 0, and only that.
    RunCreated,
    /// The workers exist, work may begin.
    RunStarted,
    /// The run ended well.
    RunCompleted,
    /// The run ended badly.
    RunFailed,
    /// A node is ready, its next task waits for a worker.
    NodeScheduled,
    /// A worker began with a task.
    NodeStarted,
    /// A task ended well, and its node with it.
    NodeCompleted,
    /// A task ended badly; its node too, or it waits for another attempt.
    NodeFailed,
    /// A node will not be run.
    NodeSkipped,
    /// A call to a tool began.
    ToolInvoked,
    /// A call ended with an output.
    ToolCompleted,
    /// A call ended with an error.
    ToolFailed,
    /// A call was given up.
    ToolTimedOut,
    /// It was asked whether someone has a capability.
    CapabilityCheck,
    /// A policy decided something.
    PolicyDecision,
    /// A task was handed to a worker.
    TaskAssigned,
    /// The worker took it.
    TaskAccepted,
    /// The worker gave it back.
    TaskRejected,
    /// A snapshot was written.
    SnapshotCreated,
    /// The state was restored from a snapshot.
    SnapshotRestored,
    /// Bytes were stored under their hash.
    BlobStored,
    /// A worker told how it is.
    Heartbeat,
    /// Something went wrong beside the graph.
    Error,
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
