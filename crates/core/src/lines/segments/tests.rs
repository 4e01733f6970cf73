use super::*;
use crate::lines::reader::LineReader;
use std::io::Write;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

fn source(bytes: u64) -> Arc<LineSource> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut line = 0u64;
    let mut content = Vec::new();
    while (content.len() as u64) < bytes {
        content.extend_from_slice(format!("{line:>width$}\n", width = (line * 37 % 5000) as usize).as_bytes());
        line += 1;
    }
    file.write_all(&content).unwrap();
    Arc::new(LineSource::open(file.path()).unwrap())
}

/// Collects the numbers in the lines.
struct Numbers {
    source: Arc<LineSource>,
    reader: LineReader,
    before: fn(u64),
}

impl Worker for Numbers {
    type Job = Range<u64>;
    type Output = Vec<u64>;

    fn work(&mut self, segment: Range<u64>) -> Vec<u64> {
        (self.before)(segment.start);
        let mut numbers = Vec::new();
        self.reader.begin(segment);
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0).unwrap() {
            let text = std::str::from_utf8(chunk.bytes).unwrap();
            numbers.extend(text.lines().map(|line| line.trim().parse::<u64>().unwrap()));
        }
        numbers
    }
}

fn segments(source: &Arc<LineSource>, before: fn(u64), threads: Threads) -> Segments<Numbers> {
    let make = || Numbers { source: source.clone(), reader: LineReader::default(), before };
    Segments::new(equal_segments(source, 0), threads, make)
}

fn in_order(source: &Arc<LineSource>, before: fn(u64), threads: Threads) -> Vec<u64> {
    let mut segments = segments(source, before, threads);
    let mut all = Vec::new();
    while let Some(numbers) = segments.next_output() {
        all.extend(numbers);
    }
    assert!(segments.next_output().is_none());
    all
}

#[test]
fn results_come_in_the_order_of_the_file_whichever_thread_is_faster() {
    let source = source(9 << 20);
    let alone = in_order(&source, |_| {}, Threads::Own);
    assert!(alone.len() > 3000 && alone.iter().enumerate().all(|(index, number)| index as u64 == *number));
    let pauses: [fn(u64); 3] = [
        |_| {},
        |start| std::thread::sleep(Duration::from_millis(start / SEGMENT_BYTES % 3)),
        |start| std::thread::sleep(Duration::from_millis(9 - start / SEGMENT_BYTES)),
    ];
    for pause in pauses {
        assert!(in_order(&source, pause, Threads::All) == alone);
    }
}

#[test]
fn a_small_file_is_one_segment() {
    assert_eq!(
        in_order(&source(10), |_| {}, Threads::All),
        [0, 1, 2, 3, 4][..in_order(&source(10), |_| {}, Threads::All).len()]
    );
    assert_eq!(in_order(&source(0), |_| {}, Threads::All), [] as [u64; 0]);
}

#[test]
fn data_appended_after_opening_is_not_read() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&b"0\n".repeat(1 << 20)).unwrap();
    file.write_all(b"1").unwrap();
    let source = Arc::new(LineSource::open(file.path()).unwrap());
    file.write_all(b"23\n").unwrap();
    file.write_all(&b"4\n".repeat(1 << 20)).unwrap();
    let found = in_order(&source, |_| {}, Threads::All);
    let (last, rest) = found.split_last().unwrap();
    assert_eq!((*last, rest.len()), (123, 1 << 20), "a line that was under way is whole");
    assert!(rest.iter().all(|number| *number == 0));
}

#[test]
fn dropping_segments_ends_their_threads() {
    let source = source(9 << 20);
    let mut segments = segments(&source, |_| {}, Threads::All);
    assert!(segments.next_output().is_some());
    drop(segments);
    // Helpers hold the source while they work.
    let ended = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Arc::strong_count(&source) == 1
    });
    assert!(ended);
}

#[test]
fn a_panic_of_any_worker_reaches_the_caller() {
    let source = source(9 << 20);
    let panics = |start: u64| assert!(start < 5 << 20, "a worker that panics");
    let panic = catch_unwind(|| in_order(&source, panics, Threads::All)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"a worker that panics"));
    assert!(!in_order(&source, |_| {}, Threads::All).is_empty());
}

#[cfg(unix)]
#[test]
fn a_file_has_no_segments_where_it_stores_nothing() {
    use std::os::unix::fs::FileExt;
    let file = tempfile::NamedTempFile::new().unwrap();
    let far = 1 << 42;
    for at in [0, 2 * SEGMENT_BYTES, far] {
        file.as_file().write_all_at(b"1\n", at).unwrap();
    }
    file.as_file().set_len(2 * far).unwrap();
    let source = Arc::new(LineSource::open(file.path()).unwrap());
    if source.data_at(2 * far - 1).start != 2 * far {
        return println!("skipped: the file system has no holes");
    }
    let begins: Vec<_> = equal_segments(&source, 0).map(|segment| segment.start).collect();
    assert_eq!(begins, [0, 2 * SEGMENT_BYTES, far]);
    let backwards: Vec<_> = equal_segments(&source, 0).rev().map(|segment| segment.start).collect();
    assert_eq!(backwards, [far, 2 * SEGMENT_BYTES, 0]);
    let last = Range { start: far + 2, end: far + 2 + SEGMENT_BYTES };
    assert!(equal_segments(&source, far + 2).eq([last]));
}
