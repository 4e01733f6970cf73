//! A recording that is read page by page, on demand. A job of its own reads each page, so that a paused iteration occupies no thread, and neither a
//! bundle that is verified nor a long search occupies Node's thread pool.

use std::sync::Arc;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::Unpacked;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob, new_job};
use super::json::JsonText;
use session_tape_core::task::Cancellation;
use session_tape_core::task::background;

/// Approximate size, in bytes, of a page as text: V8 parses it in one turn of the event loop.
pub const TEXT_PAGE_BYTES: usize = 256 << 10;

/// A page as text: an object with the list `name`, which `append` fills, and with `last` or `error` if there are no more. `append` returns whether that is so.
pub fn text_page<E>(
    name: &str,
    append: impl FnOnce(&mut JsonText) -> std::result::Result<bool, E>,
    shown: impl FnOnce(&E) -> ErrorJson<'_>,
) -> JobEnd {
    JobEnd::done(|json| {
        json.reserve(TEXT_PAGE_BYTES + TEXT_PAGE_BYTES / 4);
        json.object(|json| match json.key(name).array(append) {
            Ok(false) => {}
            Ok(true) => json.member("last", &true),
            Err(error) => json.member("error", &shown(&error)),
        });
    })
}

/// What is read page by page.
pub trait Paged: Sized + Send + 'static {
    /// What is to be opened.
    type Request: Send + 'static;

    /// Opens it, and returns the bundle that contains it. An error is the end of the job that reads the first page.
    fn open(
        request: Self::Request,
        cancellation: &Cancellation,
    ) -> std::result::Result<(Self, Option<Arc<Unpacked>>), Box<JobEnd>>;

    /// Reads the next page.
    fn next_page(&mut self) -> JobEnd;

    /// A page without content, after which there are no more.
    fn no_page() -> JobEnd;

    /// Whether no other thread works for it between pages.
    fn is_at_rest(&self) -> bool {
        true
    }

    /// Closes it, once its work is cancelled. May wait for other threads.
    fn end(self) {}
}

/// A recording that is read page by page.
#[napi]
pub struct NativePages {
    reading: Arc<Mutex<dyn Readable>>,
    /// Of all pages: the files stay open from one to the next.
    cancellation: Cancellation,
}

/// A reading of any recording.
trait Readable: Send {
    fn next_page(&mut self, cancellation: &Cancellation) -> JobEnd;

    /// Closes it unless that removes anything or waits for other threads. Returns whether it is closed.
    fn close_at_once(&mut self) -> bool;

    fn close(&mut self);
}

enum Reading<R: Paged> {
    /// Nothing has been requested yet.
    Asked(R::Request),
    /// The recording, and the bundle that contains it.
    Open {
        reader: Box<R>,
        unpacked: Option<Arc<Unpacked>>,
    },
    Closed,
}

impl NativePages {
    /// Nothing is opened before the first page is requested.
    pub fn new<R: Paged>(request: R::Request) -> Self {
        let reading = Arc::new(Mutex::new(Reading::<R>::Asked(request)));
        NativePages { reading, cancellation: Cancellation::default() }
    }
}

#[napi]
impl NativePages {
    /// Starts a job that reads the next page. Its only batch is its end.
    #[napi(catch_unwind)]
    pub fn next(&self, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        let (reading, cancellation) = (self.reading.clone(), self.cancellation.clone());
        start(on_ready, move || cancellation.during(|| reading.lock().next_page(&cancellation)))
    }

    /// Ends a read in progress: the next page is the last one.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.cancellation.cancel();
    }

    /// Closes the recording at once, if nothing is reading it and there is nothing to remove. Returns whether it is closed.
    #[napi(catch_unwind)]
    pub fn close_at_once(&self) -> bool {
        self.reading.try_lock().is_some_and(|mut reading| reading.close_at_once())
    }

    /// Closes the recording, after ending a read in progress, without telling when. What was unpacked is removed elsewhere: this may be the
    /// JavaScript thread.
    #[napi(catch_unwind)]
    pub fn abandon(&self) {
        if !self.close_at_once() {
            self.cancellation.cancel();
            let reading = self.reading.clone();
            background::spawn_helper(move || reading.lock().close());
        }
    }

    /// Ends a read in progress, and starts a job that closes the recording and removes what was unpacked.
    #[napi(catch_unwind)]
    pub fn close(&self, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        self.cancellation.cancel();
        let reading = self.reading.clone();
        start(on_ready, move || {
            reading.lock().close();
            JobEnd::done(|json| json.raw(b"null"))
        })
    }
}

impl Drop for NativePages {
    /// An iteration was left without an end, or its environment ends.
    fn drop(&mut self) {
        self.abandon();
    }
}

fn start(on_ready: Function<'_, (), ()>, work: impl FnOnce() -> JobEnd + Send + 'static) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| work());
    Ok(job)
}

impl<R: Paged> Readable for Reading<R> {
    fn next_page(&mut self, cancellation: &Cancellation) -> JobEnd {
        if matches!(self, Reading::Asked(_))
            && let Reading::Asked(request) = std::mem::replace(self, Reading::Closed)
        {
            match R::open(request, cancellation) {
                Ok((reader, unpacked)) => *self = Reading::Open { reader: Box::new(reader), unpacked },
                Err(end) => return *end,
            }
        }
        match self {
            Reading::Open { reader, .. } => reader.next_page(),
            Reading::Asked(_) | Reading::Closed => R::no_page(),
        }
    }

    fn close_at_once(&mut self) -> bool {
        if let Reading::Open { reader, unpacked } = self
            && (!reader.is_at_rest() || unpacked.as_ref().is_some_and(|unpacked| unpacked.has_files()))
        {
            return false;
        }
        *self = Reading::Closed;
        true
    }

    fn close(&mut self) {
        if let Reading::Open { reader, unpacked } = std::mem::replace(self, Reading::Closed) {
            // Some systems do not remove an open file.
            reader.end();
            if let Some(unpacked) = unpacked {
                unpacked.remove();
            }
        }
    }
}
