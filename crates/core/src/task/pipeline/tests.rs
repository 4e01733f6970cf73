use super::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

/// Doubles numbers once it may begin, and returns its thread too. Panics at 13.
struct Doubling {
    may_begin: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

impl Worker for Doubling {
    type Job = usize;
    type Output = (usize, ThreadId);

    fn work(&mut self, job: usize) -> Self::Output {
        assert_ne!(job, 13, "an unlucky number");
        while !self.may_begin.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        // The first jobs take longest, so that results are not ready in their order.
        sleep(Duration::from_micros(200_usize.saturating_sub(job) as u64));
        self.done.fetch_add(1, Ordering::SeqCst);
        (2 * job, current().id())
    }
}

struct Counted {
    pipeline: Pipeline<Doubling>,
    may_begin: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

const ROOM: usize = 8;

/// A parallel pipeline with this many helpers, or a serial one.
fn pipeline(helpers: Option<usize>) -> Counted {
    let (may_begin, done) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let worker = || Doubling { may_begin: may_begin.clone(), done: done.clone() };
    let pipeline = match helpers {
        Some(helpers) => Pipeline::parallel(worker(), (0..helpers).map(|_| worker()).collect(), ROOM),
        None => Pipeline::serial(worker(), ROOM),
    };
    Counted { pipeline, may_begin, done }
}

/// Waits until all threads have dropped what they share with the pipeline. Returns false if they do not.
fn has_ended(done: &Arc<AtomicUsize>) -> bool {
    (0..1000).any(|_| {
        sleep(Duration::from_millis(10));
        Arc::strong_count(done) == 1
    })
}

/// The results of these jobs with their numbers.
fn results(pipeline: &mut Pipeline<Doubling>, jobs: impl IntoIterator<Item = usize>) -> Vec<(u64, (usize, ThreadId))> {
    let mut results = Vec::new();
    for job in jobs {
        if pipeline.is_full() {
            results.extend(pipeline.next_output());
        }
        pipeline.push(job);
    }
    results.extend(rest(pipeline));
    results
}

fn rest<W: Worker>(pipeline: &mut Pipeline<W>) -> impl Iterator<Item = (u64, W::Output)> {
    std::iter::from_fn(|| pipeline.next_output())
}

#[test]
fn each_job_runs_once_on_any_number_of_threads() {
    for helpers in [Some(0), Some(1), Some(4), None] {
        let Counted { mut pipeline, done, .. } = pipeline(helpers);
        let mut found: Vec<_> =
            results(&mut pipeline, 100..300).into_iter().map(|(n, (number, _))| (n, number)).collect();
        if helpers.is_some() {
            found.sort_unstable();
        }
        assert_eq!(found, (0..200).map(|n| (n, 200 + 2 * n as usize)).collect::<Vec<_>>(), "{helpers:?}");
        assert_eq!(done.load(Ordering::SeqCst), 200);
        drop(pipeline);
        assert!(has_ended(&done));
    }
}

#[test]
fn a_single_job_starts_no_thread_and_several_do() {
    for helpers in [Some(1), None] {
        let mut counted = pipeline(helpers);
        for job in 100..110 {
            counted.pipeline.push(job);
            assert_eq!(counted.pipeline.next_output(), Some((job as u64 - 100, (2 * job, current().id()))));
        }
        assert_eq!(counted.pipeline.idle.lock().len(), 1);
        results(&mut counted.pipeline, 100..300);
        assert_eq!(counted.pipeline.idle.lock().len(), 0);
    }
}

#[test]
fn helpers_work_while_the_owner_does_not() {
    let Counted { mut pipeline, done, .. } = pipeline(None);
    (0..ROOM).for_each(|job| pipeline.push(job));
    let are_done = (0..1000).any(|_| {
        sleep(Duration::from_millis(10));
        done.load(Ordering::SeqCst) == ROOM
    });
    assert!(are_done);
    let (_, (_, helper)) = pipeline.next_output().unwrap();
    assert_ne!(helper, current().id());
    assert!(rest(&mut pipeline).all(|(_, (_, thread))| thread == helper));
}

/// A job returns once the given number of jobs have begun, so a single thread cannot do two that need each other. False after ten seconds.
struct Meeting(Arc<AtomicUsize>);

impl Worker for Meeting {
    type Job = usize;
    type Output = bool;

    fn work(&mut self, begun: usize) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        (0..10_000).any(|_| {
            sleep(Duration::from_millis(1));
            self.0.load(Ordering::SeqCst) >= begun
        })
    }
}

#[test]
fn the_owner_works_although_a_helper_waits_for_a_job() {
    let begun = Arc::new(AtomicUsize::new(0));
    let worker = || Meeting(begun.clone());
    let mut pipeline = Pipeline::parallel(worker(), vec![worker()], ROOM);
    for meeting in 1..=20 {
        // Its helper has had the time to begin to wait.
        sleep(Duration::from_millis(2));
        pipeline.push(2 * meeting);
        pipeline.push(2 * meeting);
        assert!(rest(&mut pipeline).all(|(_, have_met)| have_met), "only one thread works");
    }
}

#[test]
fn panic_in_any_thread_reaches_the_owner() {
    for helpers in [Some(0), Some(3), None] {
        let Counted { mut pipeline, done, .. } = pipeline(helpers);
        [11, 12, 13, 14].into_iter().for_each(|job| pipeline.push(job));
        let mut panics = Vec::new();
        while pipeline.under_way() > 0 {
            panics.extend(catch_unwind(AssertUnwindSafe(|| pipeline.next_output())).err());
        }
        assert_eq!(panics.len(), 1);
        assert!(panics[0].downcast_ref::<String>().unwrap().contains("an unlucky number"));
        assert_eq!(done.load(Ordering::SeqCst), 3, "the other jobs are not affected");
        drop(pipeline);
        assert!(has_ended(&done));
    }
}

#[test]
fn no_job_is_begun_once_the_pipeline_is_dropped() {
    for helpers in [Some(2), None] {
        let Counted { mut pipeline, may_begin, done } = pipeline(helpers);
        may_begin.store(false, Ordering::SeqCst);
        (0..ROOM).for_each(|job| pipeline.push(job));
        sleep(Duration::from_millis(20));
        drop(pipeline);
        may_begin.store(true, Ordering::SeqCst);
        assert!(has_ended(&done));
        assert!(done.load(Ordering::SeqCst) <= helpers.unwrap_or(1), "only those that were under way are done");
    }
}

#[test]
fn a_worker_can_be_taken_back() {
    let Counted { mut pipeline, done, .. } = pipeline(None);
    results(&mut pipeline, 100..120);
    assert_eq!(pipeline.into_worker().unwrap().done.load(Ordering::SeqCst), 20);
    assert_eq!(Arc::strong_count(&done), 1);
}

#[test]
fn a_pipeline_whose_results_are_taken_lets_go_of_its_workers_at_once() {
    for helpers in [Some(1), Some(4), None] {
        for _ in 0..50 {
            let Counted { mut pipeline, done, .. } = pipeline(helpers);
            results(&mut pipeline, 300..340);
            drop(pipeline);
            assert_eq!(Arc::strong_count(&done), 1, "{helpers:?}");
        }
    }
}

#[test]
fn a_job_belongs_to_the_work_that_its_owner_does() {
    struct Looking;
    impl Worker for Looking {
        type Job = ();
        type Output = bool;

        fn work(&mut self, _: ()) -> bool {
            sleep(Duration::from_millis(5));
            Cancellation::current().is_cancelled()
        }
    }
    let cancellation = Cancellation::default();
    cancellation.cancel();
    cancellation.during(|| {
        let mut pipeline = Pipeline::parallel(Looking, vec![Looking], ROOM);
        (0..ROOM).for_each(|_| pipeline.push(()));
        assert!(rest(&mut pipeline).all(|(_, is_cancelled)| is_cancelled));
    });
}

#[test]
fn a_paused_pipeline_keeps_no_helper_and_starts_it_again() {
    let mut counted = pipeline(Some(1));
    for _ in 0..3 {
        assert_eq!(results(&mut counted.pipeline, 20..40).len(), 20);
        assert_eq!(counted.pipeline.idle.lock().len(), 0);
        counted.pipeline.pause();
        let has_ended = (0..1000).any(|_| {
            sleep(Duration::from_millis(10));
            counted.pipeline.idle.lock().len() == 1
        });
        assert!(has_ended);
    }
}
