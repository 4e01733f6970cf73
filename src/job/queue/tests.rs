use super::*;

fn batch(byte: u8) -> Batch {
    OutputText::Latin1(vec![byte]).into()
}

fn byte(batch: Option<Batch>) -> Option<u8> {
    match batch?.text {
        OutputText::Latin1(bytes) => bytes.first().copied(),
        _ => None,
    }
}

#[test]
fn receiver_of_an_empty_queue_is_woken_once() {
    let queue = BatchQueue::default();
    let send = |byte| queue.send(batch(byte), || false);
    assert_eq!((send(1), send(2)), (Sent::Wake, Sent::Queued));
    assert_eq!((byte(queue.take()), byte(queue.take())), (Some(1), Some(2)));
    assert_eq!(send(3), Sent::Queued);
    assert_eq!((byte(queue.take()), byte(queue.take())), (Some(3), None));
    assert_eq!((send(4), send(5)), (Sent::Wake, Sent::Queued));
}

#[test]
fn no_more_batches_wait_than_there_is_room_for() {
    let queue = BatchQueue::default();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..100).for_each(|byte| assert_ne!(queue.send(batch(byte), || false), Sent::Closed)));
        for expected in 0..100 {
            let next = std::iter::repeat_with(|| byte(queue.take())).find_map(|byte| byte);
            assert_eq!(next, Some(expected));
            assert!(queue.state.lock().waiting.len() <= WAITING);
        }
    });
    assert!(queue.has_room());
}

#[test]
fn a_sender_that_waits_for_room_stops_when_the_queue_is_closed_or_the_environment_has_ended() {
    let queue = BatchQueue::default();
    (0..WAITING).for_each(|_| assert_ne!(queue.send(batch(0), || false), Sent::Closed));
    assert!(!queue.has_room());
    assert_eq!(queue.send(batch(0), || true), Sent::Closed);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| queue.send(batch(0), || false));
        queue.close();
        assert_eq!(waiting.join().unwrap(), Sent::Closed);
    });
    assert_eq!(queue.send(batch(0), || false), Sent::Closed);
    assert!(queue.cancellation().is_cancelled());
}

#[test]
fn the_end_of_stopped_work_is_still_taken() {
    let queue = BatchQueue::default();
    queue.cancellation().cancel();
    assert_eq!(queue.send(batch(7), || false), Sent::Wake);
    assert_eq!(byte(queue.take()), Some(7));
}

#[test]
fn a_sender_can_wait_until_its_batches_are_dealt_with() {
    let queue = BatchQueue::default();
    let is_dealt_with = std::sync::atomic::AtomicBool::new(false);
    queue.send(batch(1), || false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            queue.wait_until_taken(|| false);
            is_dealt_with.load(std::sync::atomic::Ordering::SeqCst)
        });
        assert_eq!(byte(queue.take()), Some(1));
        // The receiver asks for the next one when it has dealt with this one.
        is_dealt_with.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(byte(queue.take()), None);
        assert!(waiting.join().unwrap());
    });
    // What is never taken is waited for only until the work is over.
    queue.send(batch(2), || false);
    queue.wait_until_taken(|| true);
    queue.close();
    queue.wait_until_taken(|| false);
}

#[test]
fn a_queue_is_idle_only_while_no_batch_waits() {
    let queue = BatchQueue::default();
    assert!(queue.idle_for().is_some());
    queue.send(batch(0), || false);
    assert_eq!(queue.idle_for(), None);
    queue.take();
    assert!(queue.idle_for().is_some());
}
