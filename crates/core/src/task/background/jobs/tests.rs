use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// A queue whose threads are always granted.
struct Granted(Arc<JobQueue>);

impl Granted {
    fn new(cores: usize) -> Self {
        Granted(Arc::new(JobQueue::new(cores)))
    }

    fn spawn(&self, cancellation: &Cancellation, job: impl FnOnce() + Send + 'static) -> Ticket {
        let (ticket, needs_thread) = self.0.push(cancellation.clone(), Box::new(move |_| job()));
        if needs_thread {
            start_thread(self.0.clone());
        }
        ticket
    }
}

fn start_thread(queue: Arc<JobQueue>) {
    thread::spawn(move || queue.clone().work(|| start_thread(queue.clone())));
}

#[test]
fn parallelism_of_jobs_is_bounded_and_all_finish() {
    const CORES: usize = 2;
    let queue = Granted::new(CORES);
    let (now, most, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), mpsc::channel());
    for _ in 0..60 {
        let (now, most, sender) = (now.clone(), most.clone(), done.0.clone());
        let cancellation = Cancellation::default();
        queue.spawn(&cancellation.clone(), move || {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                cancellation.check().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
            now.fetch_sub(1, Ordering::SeqCst);
            sender.send(()).unwrap();
        });
    }
    (0..60).for_each(|_| done.1.recv().unwrap());
    let most = most.load(Ordering::SeqCst);
    assert!((CORES..=CORES * AT_MOST).contains(&most), "{most} at once");
}

#[test]
fn blocked_jobs_do_not_starve_others() {
    let queue = Granted::new(1);
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    for _ in 0..2 * AT_MOST {
        let held = held.clone();
        queue.spawn(&Cancellation::default(), move || assert!(held.lock().recv().is_err()));
    }
    let (sender, receiver) = mpsc::channel();
    queue.spawn(&Cancellation::default(), move || sender.send(()).unwrap());
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(()));
    drop(release);
}

#[test]
fn withdrawn_or_cancelled_job_does_not_wait() {
    let queue = Granted::new(1);
    let (release, held) = mpsc::channel::<()>();
    let (begun, began) = mpsc::channel();
    let busy = Cancellation::default();
    queue.spawn(&busy.clone(), move || {
        begun.send(()).unwrap();
        while held.try_recv() == Err(mpsc::TryRecvError::Empty) {
            busy.check().unwrap();
            thread::yield_now();
        }
    });
    began.recv().unwrap();
    let taken = queue.spawn(&Cancellation::default(), || panic!("this job was taken back"));
    assert!(queue.0.remove(taken).is_some() && queue.0.remove(taken).is_none());
    let (sender, receiver) = mpsc::channel();
    let cancellation = Cancellation::default();
    cancellation.cancel();
    queue.spawn(&cancellation, move || sender.send(()).unwrap());
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(()));
    drop(release);
}

#[test]
fn a_job_without_any_thread_is_taken_back_and_one_with_a_thread_is_not() {
    let queue = JobQueue::new(1);
    let (_, needs_thread) = queue.push(Cancellation::default(), Box::new(|_| ()));
    let (_, needs_another) = queue.push(Cancellation::default(), Box::new(|_| ()));
    assert!(needs_thread && !needs_another && queue.take_refused().len() == 2);
    let queue = Arc::new(queue);
    let (inner, (sender, receiver)) = (queue.clone(), mpsc::channel());
    let nested = move |_| {
        let (_, needs_thread) = inner.push(Cancellation::default(), Box::new(move |_| sender.send(()).unwrap()));
        assert!(needs_thread && inner.take_refused().is_empty(), "this thread will do it");
    };
    queue.push(Cancellation::default(), Box::new(nested));
    queue.work(|| ());
    receiver.try_recv().unwrap();
}
