//! Batches that go through a function of the host's instead of to the system: for the host's tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use napi_derive::napi;
use parking_lot::Mutex;

use session_tape_core::disk::OsError;

/// What JavaScript is to append to a file.
#[napi(object, object_from_js = false)]
pub struct NativeAppend {
    pub path: String,
    pub data: String,
}

/// Passes batches from the thread that writes to JavaScript, and the outcomes back.
#[derive(Default)]
pub struct SeamSlot {
    waiting: Mutex<Option<Waiting>>,
}

struct Waiting {
    path: PathBuf,
    data: Vec<u8>,
    /// Gets the number of the error, or nothing.
    answer: SyncSender<Option<i32>>,
}

impl SeamSlot {
    /// Waits until JavaScript, which `wake` wakes, has appended these bytes.
    pub fn append(&self, path: &Path, data: &[u8], wake: &(dyn Fn() + Send + Sync)) -> Result<(), OsError> {
        let (answer, answered) = sync_channel(1);
        *self.waiting.lock() = Some(Waiting { path: path.to_path_buf(), data: data.to_vec(), answer });
        wake();
        match answered.recv() {
            Ok(None) => Ok(()),
            // The environment has ended.
            Err(_) => Err(system_error(0, path)),
            Ok(Some(number)) => Err(system_error(number, path)),
        }
    }

    /// What is to be appended next. The outcome must be [answered](Self::answer).
    pub fn take(&self) -> Option<(NativeAppend, impl FnOnce(Option<i32>) + use<>)> {
        let Waiting { path, data, answer } = self.waiting.lock().take()?;
        let append = NativeAppend {
            path: path.to_string_lossy().into_owned(),
            data: String::from_utf8(data)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        };
        Some((append, move |number| {
            let _ = answer.send(number);
        }))
    }

    /// Nothing more will be appended.
    pub fn close(&self) {
        self.waiting.lock().take();
    }
}

fn system_error(number: i32, path: &Path) -> OsError {
    let error = match number {
        0 => std::io::ErrorKind::Other.into(),
        number => std::io::Error::from_raw_os_error(number.abs()),
    };
    OsError::new(&error, "appendFile", Some(path))
}

/// The slot of a recorder with a seam, and the answer that is due.
#[derive(Default)]
pub struct Seamed {
    pub slot: Option<Arc<SeamSlot>>,
    pub answer: Option<Box<dyn FnOnce(Option<i32>) + Send>>,
}

impl Drop for Seamed {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.close();
        }
    }
}
