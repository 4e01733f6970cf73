//! Pipelines in every order of their owner and their helpers. Without panics: loom runs all threads on one system thread, which can't unwind
//! two at a time.

use super::*;
use crate::task::threading::explore;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const ROOM: usize = 2;

/// Doubles numbers.
struct Doubling(Arc<AtomicUsize>);

impl Worker for Doubling {
    type Job = usize;
    type Output = usize;

    fn work(&mut self, job: usize) -> usize {
        loom::thread::yield_now();
        self.0.fetch_add(1, SeqCst);
        2 * job
    }
}

/// Explores a model of a pipeline with a helper, with two, and of a serial one.
fn explore_pipelines(preemptions: usize, model: fn(Pipeline<Doubling>, Arc<AtomicUsize>)) {
    for helpers in [Some(1), Some(2), None] {
        let orders = explore(preemptions, Duration::ZERO, move || {
            let done = Arc::new(AtomicUsize::new(0));
            let worker = || Doubling(done.clone());
            let pipeline = match helpers {
                Some(helpers) => Pipeline::parallel(worker(), (0..helpers).map(|_| worker()).collect(), ROOM),
                None => Pipeline::serial(worker(), ROOM),
            };
            model(pipeline, done);
        });
        println!("{helpers:?} helpers: {orders} orders");
    }
}

/// The results of these jobs, in the order in which they arrive.
fn results(pipeline: &mut Pipeline<Doubling>, jobs: &[usize]) -> Vec<(u64, usize)> {
    let mut results = Vec::new();
    for job in jobs {
        if pipeline.is_full() {
            results.extend(pipeline.next_output());
        }
        pipeline.push(*job);
    }
    results.extend(std::iter::from_fn(|| pipeline.next_output()));
    results
}

#[test]
fn each_job_runs_once_and_returns_its_result() {
    explore_pipelines(2, |mut pipeline, done| {
        let mut found = results(&mut pipeline, &[5, 6, 7]);
        if !pipeline.is_serial {
            found.sort_unstable();
        }
        assert_eq!((found, done.load(SeqCst)), (vec![(0, 10), (1, 12), (2, 14)], 3));
    });
}

#[test]
fn a_pipeline_that_is_dropped_holds_no_thread() {
    explore_pipelines(2, |mut pipeline, done| {
        pipeline.push(5);
        pipeline.push(6);
        drop(pipeline);
        assert!(done.load(SeqCst) <= 2);
    });
}

#[test]
fn a_worker_is_taken_back_when_its_thread_has_ended() {
    let orders = explore(2, Duration::ZERO, || {
        let done = Arc::new(AtomicUsize::new(0));
        let mut pipeline = Pipeline::serial(Doubling(done.clone()), ROOM);
        results(&mut pipeline, &[5, 6, 7]);
        assert_eq!(pipeline.into_worker().unwrap().0.load(SeqCst), 3);
    });
    println!("{orders} orders");
}
