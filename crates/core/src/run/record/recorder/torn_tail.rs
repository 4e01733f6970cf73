//! Cuts off what a crash or a power cut has left after the last event of a log. In the middle of the log it would be damage.

use std::ffi::OsString;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::disk::{Durability, File, InputFile, OpenOptions, OsError, files, sync_entries};

use crate::disk::write::StagedFile;

/// Number of bytes that are read at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// Cuts the log off after its last event. A partial line was never acknowledged and is dropped. After a hole there may be complete lines:
/// they are first copied to a file next to the log, with the permissions `mode`, in case the hole was not made by a power cut.
pub(super) fn cut(log: &Path, whole_bytes: u64, mode: u32, durability: Durability) -> Result<(), OsError> {
    if has_lines(log, whole_bytes)? {
        copy(log, whole_bytes, mode, durability)?;
    }
    let file = File::open_patiently(log, &OpenOptions { write: true, ..OpenOptions::default() })?;
    file.set_len(whole_bytes).map_err(|error| OsError::new(&error, "ftruncate", None))?;
    if durability == Durability::Fsync {
        file.sync_all().map_err(|error| OsError::new(&error, "fsync", Some(log)))?;
    }
    Ok(())
}

/// The path of the copy of what is cut off at `offset`: `events.cath-log.cut-<offset>`.
pub(super) fn copy_path(log: &Path, offset: u64) -> PathBuf {
    let mut name = OsString::from(log);
    name.push(format!(".cut-{offset}"));
    PathBuf::from(name)
}

fn has_lines(log: &Path, from: u64) -> Result<bool, OsError> {
    let mut tail = open_tail(log, from)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let read = tail.pass_hole().and_then(|_| tail.read(&mut block));
        match read.map_err(|error| OsError::new(&error, "read", None))? {
            0 => return Ok(false),
            count if memchr::memchr(b'\n', &block[..count]).is_some() => return Ok(true),
            _ => {}
        }
    }
}

fn copy(log: &Path, from: u64, mode: u32, durability: Durability) -> Result<(), OsError> {
    let path = copy_path(log, from);
    let mut copy = StagedFile::beside(&path, StagedFile::NEW, mode)?;
    let copied = copy_with_holes(&mut open_tail(log, from)?, copy.file());
    copied.map_err(|error| OsError::new(&error, "write", Some(&path)))?;
    if durability == Durability::Fsync {
        copy.file().sync_all().map_err(|error| OsError::new(&error, "fsync", Some(&path)))?;
    }
    copy.replace()?;
    if durability == Durability::Fsync { sync_entries(files::parent(&path), &path) } else { Ok(()) }
}

/// Copies the rest of a file. Holes become holes, since they may be larger than the disk.
fn copy_with_holes(from: &mut InputFile, to: &mut File) -> io::Result<()> {
    let (mut block, mut size) = (vec![0; BLOCK_BYTES], 0);
    loop {
        size += from.pass_hole()?;
        let count = from.read(&mut block)?;
        if count == 0 {
            return to.set_len(size);
        }
        to.seek(SeekFrom::Start(size))?;
        to.write_all(&block[..count])?;
        size += count as u64;
    }
}

fn open_tail(log: &Path, from: u64) -> Result<InputFile, OsError> {
    let mut tail = InputFile::open(log)?;
    tail.seek(SeekFrom::Start(from)).map_err(|error| OsError::new(&error, "read", None))?;
    Ok(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OWNER_ONLY;
    use std::fs;

    #[test]
    fn complete_lines_are_backed_up_before_they_are_cut_off() {
        for (tail, is_copied) in [(&b"{\"torn"[..], false), (b"\0\0\0", false), (b"\0\0{\"v\":1}\n{\"to", true)] {
            let root = tempfile::tempdir().unwrap();
            let log = root.path().join("events.cath-log");
            fs::write(&log, [b"{}\n", tail].concat()).unwrap();
            cut(&log, 3, OWNER_ONLY, Durability::Fsync).unwrap();
            assert_eq!(fs::read(&log).unwrap(), b"{}\n");
            assert_eq!(fs::read(copy_path(&log, 3)).ok(), is_copied.then(|| tail.to_vec()));
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1 + usize::from(is_copied));
        }
    }
}
