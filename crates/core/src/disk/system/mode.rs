//! Permissions of new files and directories, less the umask of the process, as in POSIX. Windows has none.

/// A file whose permissions the umask alone decides.
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) const BY_UMASK: u32 = 0o666;

/// A file that only its owner can read and write. Recordings are such files, unless their user decides otherwise: they contain whatever
/// was said and read.
pub(crate) const OWNER_ONLY: u32 = 0o600;

/// The permissions of a directory with such files: who may read a file may also search for it.
pub(crate) const fn of_directory(of_files: u32) -> u32 {
    of_files | ((of_files & 0o444) >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_mode_lets_file_readers_enter() {
        for (of_files, expected) in [(0o600, 0o700), (0o640, 0o750), (0o664, 0o775), (BY_UMASK, 0o777)] {
            assert_eq!(of_directory(of_files), expected);
        }
    }
}
