//! Jobs that have to clean up. The end of their environment waits for them.

use std::sync::{Arc, Weak};
use std::time::Instant;

use session_tape_core::task::Cancellation;
use session_tape_core::task::threading::{Condvar, Mutex};

/// The jobs that have to clean up.
#[derive(Default)]
pub struct JobRegistry(Mutex<Vec<Weak<Registered>>>);

struct Registered {
    cancellation: Cancellation,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

/// Held by a job that has to clean up; dropped when it has done so.
pub struct JobGuard(Arc<Registered>);

impl JobRegistry {
    /// Registers a job that `cancellation` stops.
    pub fn register(&self, cancellation: &Cancellation) -> JobGuard {
        let job = Registered { cancellation: cancellation.clone(), has_ended: Mutex::default(), ended: Condvar::new() };
        let job = Arc::new(job);
        let mut jobs = self.0.lock();
        jobs.retain(|job| job.strong_count() > 0);
        jobs.push(Arc::downgrade(&job));
        JobGuard(job)
    }

    /// Stops all jobs and waits until they have cleaned up, but not beyond `deadline`. Returns whether all have.
    pub fn end(&self, deadline: Instant) -> bool {
        let jobs: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        jobs.iter().for_each(|job| job.cancellation.cancel());
        jobs.iter().all(|job| job.wait(deadline))
    }
}

impl Registered {
    fn wait(&self, deadline: Instant) -> bool {
        let mut has_ended = self.has_ended.lock();
        self.ended.wait_while_until(&mut has_ended, |has_ended| !*has_ended, deadline);
        *has_ended
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        *self.0.has_ended.lock() = true;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
#[cfg(feature = "interleavings")]
mod interleavings;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn the_end_stops_jobs_and_waits_until_they_have_cleaned_up() {
        let (registry, cancellation) = (JobRegistry::default(), Cancellation::default());
        let guard = registry.register(&cancellation);
        let cleaned_up = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let cleaned_up = cleaned_up.clone();
            move || {
                while !cancellation.is_cancelled() {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(50));
                cleaned_up.store(true, Ordering::Relaxed);
                drop(guard);
            }
        });
        registry.end(Instant::now() + Duration::from_secs(60));
        assert!(cleaned_up.load(Ordering::Relaxed));
        thread.join().unwrap();
    }
}
