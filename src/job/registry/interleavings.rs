//! Tests the registry in every interleaving of jobs and the end of their environment.

use super::*;
use session_tape_core::threading::{explore, spawn};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn the_end_of_an_environment_waits_until_its_jobs_have_cleaned_up() {
    let orders = explore(4, Duration::ZERO, || {
        let (registry, cleaned_up) = (JobRegistry::default(), [const { AtomicBool::new(false) }; 2].map(Arc::new));
        for cleaned_up in cleaned_up.clone() {
            let guard = registry.register(&Cancellation::default());
            let work = move || {
                loom::thread::yield_now();
                cleaned_up.store(true, SeqCst);
                drop(guard);
            };
            spawn("job", work).unwrap();
        }
        registry.end(Instant::now() + Duration::from_secs(24 * 3600));
        assert!(cleaned_up.iter().all(|cleaned_up| cleaned_up.load(SeqCst)));
    });
    println!("{orders} orders");
}
