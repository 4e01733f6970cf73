//! Errors that a disk reports: in which of its calls, and which error.

use std::io;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    Open,
    Create,
    CreateDirectory,
    Look,
    List,
    Read,
    Write,
    SetLen,
    Sync,
    SyncDirectory,
    Rename,
    Remove,
    Lock,
}

/// A call, identified by the number of earlier calls of its kind: threads may interleave calls of different kinds differently each time.
pub type Visit = (Call, usize);

/// How a call ends instead of succeeding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// With an error of the operating system.
    Error(i32),
    /// A write or a read ends after one byte.
    Short,
}

impl Fault {
    pub fn error(self) -> Option<io::Error> {
        match self {
            Fault::Error(number) => Some(io::Error::from_raw_os_error(number)),
            Fault::Short => None,
        }
    }
}

/// Every fault with which a system may answer such a call.
pub fn faults_of(call: Call) -> Vec<Fault> {
    use libc::{EACCES, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOSPC, EROFS};
    let errors: &[i32] = match call {
        Call::Open => &[EIO, EMFILE, ENFILE, EACCES],
        Call::Create => &[EIO, EMFILE, ENOSPC, EDQUOT, EROFS],
        Call::CreateDirectory | Call::Rename => &[EIO, ENOSPC, EDQUOT, EROFS],
        Call::Look | Call::List => &[EIO, EACCES],
        Call::Read => &[EIO, EINTR],
        Call::Write => &[EIO, EINTR, ENOSPC, EDQUOT],
        Call::SetLen | Call::Remove => &[EIO, EROFS],
        Call::Sync | Call::SyncDirectory => &[EIO, ENOSPC, EDQUOT],
        Call::Lock => &[],
    };
    let short = matches!(call, Call::Read | Call::Write).then_some(Fault::Short);
    errors.iter().map(|number| Fault::Error(*number)).chain(short).collect()
}
