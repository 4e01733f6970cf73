//! Tests the queue in every interleaving of its sender and its receiver. The receiver is an event loop: it takes batches until there are none,
//! and then sleeps until it is woken.

use super::*;
use loom::sync::Notify;
use session_tape_core::task::threading::{explore, spawn};
use std::sync::Arc;

/// No wait times out: each ends with a signal.
const NONE: Duration = Duration::ZERO;
/// Every wait times out at once.
const ALL: Duration = Duration::from_secs(60);

/// More batches than fit in the queue.
const BATCHES: u8 = WAITING as u8 + 2;

fn batch(byte: u8) -> Batch {
    OutputText::Latin1(vec![byte]).into()
}

fn byte(batch: Batch) -> u8 {
    match batch.text {
        OutputText::Latin1(bytes) => bytes[0],
        _ => unreachable!("all batches here are Latin-1"),
    }
}

/// Sends batches on another thread, as [`Sender`](super::super::Sender) does. Returns the signal that wakes the receiver.
fn send_elsewhere(queue: &Arc<BatchQueue>) -> Arc<Notify> {
    let (queue, on_ready) = (queue.clone(), Arc::new(Notify::new()));
    let woken = on_ready.clone();
    let send = move || {
        for number in 0..BATCHES {
            match queue.send(batch(number), || false) {
                Sent::Queued => {}
                Sent::Wake => woken.notify(),
                Sent::Closed => return,
            }
        }
    };
    spawn("sender", send).unwrap();
    on_ready
}

#[test]
fn each_batch_is_received_once_and_wakes_the_receiver() {
    for ends_below in [NONE, ALL] {
        let orders = explore(2, ends_below, || {
            let queue = Arc::new(BatchQueue::default());
            let on_ready = send_elsewhere(&queue);
            let mut next = 0;
            while next < BATCHES {
                on_ready.wait();
                while let Some(batch) = queue.take() {
                    assert_eq!(byte(batch), next);
                    next += 1;
                }
            }
            assert!(queue.take().is_none());
        });
        println!("waits below {ends_below:?} end at once: {orders} orders");
    }
}

#[test]
fn a_sender_does_not_wait_for_a_queue_that_is_closed() {
    let orders = explore(2, NONE, || {
        let queue = Arc::new(BatchQueue::default());
        let _on_ready = send_elsewhere(&queue);
        let taken = queue.take().map(byte);
        assert!(taken.is_none() || taken == Some(0));
        queue.close();
    });
    println!("{orders} orders");
}
