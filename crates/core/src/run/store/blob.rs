//! The blob store: each blob is a file named after the hash of its bytes, `blobs/<first 2 hex>/<64 hex>`.
//!
//! A blob is written under a temporary name and renamed once it is complete. Storing it twice has the same effect as storing it once.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::disk::{Durability, InputFile, OsError, files};

use crate::disk::write::write_atomically;
use crate::hash::{HexHash, as_text, is_hex_hash, sha256_hex, to_hex};
use crate::json::quoted;
use crate::run::format::{ErrorCode, RunError};

/// The blobs of a run.
#[derive(Clone, Debug)]
pub struct BlobStore {
    root: PathBuf,
    /// The bytes of every blob were found to have the hash that names it.
    is_verified: bool,
}

impl BlobStore {
    /// The store in the directory `root`, which is created with the first blob.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        BlobStore { root: root.into(), is_verified: false }
    }

    /// A store whose blobs were all found to have the hashes that name them.
    pub fn verified(root: impl Into<PathBuf>) -> Self {
        BlobStore { root: root.into(), is_verified: true }
    }

    /// The path of the blob with this hash, whether or not it exists. Returns `None` if `hash` is not a hash: only hashes become file names.
    pub fn path_of(&self, hash: &str) -> Option<PathBuf> {
        is_hex_hash(hash).then(|| self.root.join(&hash[..2]).join(hash))
    }

    /// Stores `bytes` and returns their hash, see [`store`](Self::store).
    #[cfg(test)]
    pub fn put(&self, bytes: &[u8], durability: Durability) -> Result<HexHash, OsError> {
        let hash = sha256_hex([bytes]);
        self.store(&hash, bytes, durability, Durability::Os).map(|()| hash)
    }

    /// Stores `bytes`, whose hash is `hash`. An undamaged blob in the store is not written again if `durability` requires no sync, or if
    /// the blob is `known` to be synced. Otherwise it is written again, even if it exists: if an earlier sync of the file failed, another
    /// one would prove nothing.
    pub fn store(
        &self,
        hash: &HexHash,
        bytes: &[u8],
        durability: Durability,
        known: Durability,
    ) -> Result<(), OsError> {
        let name = as_text(hash);
        let path = self.root.join(&name[..2]).join(name);
        if (durability == Durability::Os || known == Durability::Fsync) && holds(&path, bytes) {
            return Ok(());
        }
        write_atomically(&path, bytes, files::parent(&self.root), durability)
    }

    /// Opens a blob for reading, and returns its size in bytes. Does not check that its bytes have the hash.
    pub fn open(&self, hash: &str) -> Result<(InputFile, u64), RunError> {
        let path = self.path_of(hash).ok_or_else(|| missing(hash, "that is not the name of a blob"))?;
        // Checking the metadata first would double the cost.
        match InputFile::open(&path) {
            Ok(file) => {
                let size = file.metadata()?.size;
                return Ok((file, size));
            }
            Err(error) if error.code == "ENOENT" => return Err(missing(hash, "it is not in the store")),
            // A directory of blobs is a file, or links lead round in a circle.
            Err(error) if matches!(error.code, "ENOTDIR" | "ELOOP") => {
                return Err(missing(hash, "its path leads to no file"));
            }
            Err(_) => {}
        }
        match files::metadata(&path) {
            Ok(metadata) if metadata.is_file() => Ok((InputFile::open(&path)?, metadata.size)),
            Ok(_) => Err(missing(hash, "what has its name is not a file")),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that the bytes of a blob of any size have its hash, unless that is known. Returns the size in bytes.
    pub fn verify(&self, hash: &str) -> Result<u64, RunError> {
        let (mut file, size) = self.open(hash)?;
        if self.is_verified {
            return Ok(size);
        }
        // Blobs never grow. Reading one byte beyond the size shows whether this one has.
        let read = file.sha256(size.saturating_add(1));
        let (found, size) = read.map_err(|error| OsError::new(&error, "read", None))?;
        check_hash(hash, &to_hex(&found))?;
        Ok(size)
    }

    /// The bytes of a blob, checked against its hash. More than `limit` bytes are an error.
    pub fn read(&self, hash: &str, limit: u64) -> Result<Vec<u8>, RunError> {
        let (file, size) = self.open(hash)?;
        let mut bytes = Vec::new();
        if size <= limit {
            file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| OsError::new(&error, "read", None))?;
        }
        if size > limit || bytes.len() as u64 > limit {
            let message = format!("The blob {hash} is larger than {limit} bytes, too large to be normalised");
            return Err(RunError::new(ErrorCode::TooLarge, message).compared(limit.to_string(), size.to_string()));
        }
        check_hash(hash, &sha256_hex([&bytes]))?;
        Ok(bytes)
    }
}

fn check_hash(expected: &str, found: &HexHash) -> Result<(), RunError> {
    if expected.as_bytes() == found {
        return Ok(());
    }
    let message = format!("The blob {expected} was changed after it was stored: its bytes have another hash");
    Err(RunError::new(ErrorCode::BlobCorrupt, message).compared(expected, as_text(found)))
}

fn missing(hash: &str, why: &str) -> RunError {
    RunError::new(ErrorCode::BlobMissing, format!("There is no blob '{}': {why}", quoted(hash)))
        .compared(hash, "no such blob")
}

/// Whether `path` is a file with exactly these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let size = bytes.len() as u64;
    let same_size = files::metadata(path).is_ok_and(|file| file.is_file() && file.size == size);
    let found = || InputFile::open(path)?.read_up_to(size);
    same_size && found().is_ok_and(|found| found == bytes)
}

#[cfg(test)]
mod tests;
