use proptest::prelude::*;

use super::*;
use crate::run::format::{Kind, Redactions};
use crate::run::read::trace::Range;
use crate::run::record::Recorded;
use crate::run::sample::SampleOptions;

fn trace(recorded: &Recorded, range: Range) -> Trace {
    Trace::open(&recorded.directory.log(), range, Redactions::default()).unwrap()
}

fn read(recorded: &Recorded) -> EventColumns {
    let mut columns = EventColumns::new([]);
    columns.read(trace(recorded, Range::default())).unwrap();
    columns
}

fn decoded((bytes, numbers): (usize, Vec<u8>)) -> Vec<f64> {
    let number = |each: &[u8]| match bytes {
        1 => f64::from(each[0] as i8),
        2 => f64::from(i16::from_le_bytes(each.try_into().unwrap())),
        4 => f64::from(i32::from_le_bytes(each.try_into().unwrap())),
        _ => f64::from_le_bytes(each.try_into().unwrap()),
    };
    numbers.chunks(bytes).map(number).collect()
}

/// A name in a column, unescaped.
fn name(names: &Names, index: f64) -> Option<String> {
    (index >= 0.0).then(|| serde_json::from_str(&format!("\"{}\"", names.list()[index as usize])).unwrap())
}

#[test]
fn columns_say_what_the_events_say() {
    let recorded = Recorded::new(SampleOptions { nodes: 12, trouble: 40, ..SampleOptions::default() });
    let columns = read(&recorded);
    let of = |column| decoded(columns.encode(column, 0));
    let (kinds, nodes, workers, attempts) =
        (of(Column::Kind), of(Column::Node), of(Column::Worker), of(Column::Attempt));
    let (labels, extras, parents) = (of(Column::Label), of(Column::Extra), of(Column::Parent));
    assert_eq!(columns.len(), recorded.records.len());
    for (time, record) in recorded.records.iter().enumerate() {
        let said = |field: &str| record.payload[field].as_str().map(str::to_owned);
        let task = said("task");
        let (of_task, attempt) = task.as_deref().and_then(|task| task.rsplit_once('#')).unzip();
        assert_eq!(Kind::ALL[kinds[time] as usize], record.kind);
        assert_eq!(name(&columns.nodes, nodes[time]), of_task.map(str::to_owned).or(record.node.clone()));
        assert_eq!(attempts[time].to_string(), attempt.unwrap_or("0"));
        assert_eq!(name(&columns.workers, workers[time]), said("worker"));
        let label = ["tool", "code", "capability", "rule", "reason", "snapshot"].iter().find_map(|field| said(field));
        assert_eq!(name(&columns.labels, labels[time]), label);
        assert_eq!(parents[time], record.parent.map_or(0.0, |parent| time as f64 - parent as f64));
        let is_marked = record.payload["willRetry"] == true || record.payload["allowed"] == false;
        match record.kind {
            Kind::Heartbeat => assert_eq!(name(&columns.statuses, extras[time]), said("status")),
            _ => assert_eq!(extras[time], f64::from(is_marked)),
        }
    }
}

#[test]
fn reading_goes_on_where_it_ended() {
    let recorded = Recorded::new(SampleOptions::default());
    let whole = read(&recorded);
    let mut columns = EventColumns::new([]);
    for to in [3, 3, 40, u64::MAX, u64::MAX] {
        columns.read(trace(&recorded, Range { from: columns.next(), to, ..Range::default() })).unwrap();
        assert_eq!(columns.next(), (to.min(recorded.last())) + 1);
    }
    for (column, name) in Column::ALL {
        assert_eq!(columns.encode(column, 0), whole.encode(column, 0), "{name}");
        assert_eq!(decoded(columns.encode(column, 7)), decoded(whole.encode(column, 0))[7..], "{name}");
    }
    assert_eq!(columns.encode(Column::At, columns.len() + 1), (1, vec![]));
}

#[test]
fn events_before_a_bad_line_are_there() {
    let recorded = Recorded::new(SampleOptions::default());
    let log = String::from_utf8(recorded.log()).unwrap();
    std::fs::write(recorded.directory.log(), log.replacen(r#""time":30,"#, r#""time":31,"#, 1)).unwrap();
    let mut columns = EventColumns::new([]);
    let error = columns.read(trace(&recorded, Range::default())).unwrap_err();
    assert_eq!((columns.next(), error.time), (30, Some(31)));
}

#[test]
fn nodes_keep_the_numbers_of_the_graph() {
    let recorded = Recorded::new(SampleOptions { odd_ids: true, ..SampleOptions::default() });
    let ids = || recorded.sample.dag.nodes().iter().rev().map(|node| node.id.borrowed());
    let mut columns = EventColumns::new(ids());
    columns.read(trace(&recorded, Range::default())).unwrap();
    assert_eq!(columns.nodes.list(), ids().map(|id| id.as_json().to_owned()).collect::<Vec<_>>());
}

#[test]
fn there_is_an_end_to_labels() {
    let mut names = Names { most: 2, ..Names::default() };
    let indices = ["a", "b", "c", "a"].map(|name| names.index(&Text::from_plain(name)));
    assert_eq!(indices, [0, 1, -1, 0]);
}

#[test]
fn times_are_milliseconds_since_the_event_before() {
    let mut clock = TimeReader::default();
    assert_eq!(clock.begin("1970-01-01T00:00:01.500Z"), 1500);
    let passed = ["1970-01-01T00:00:01.500Z", "1970-01-01T00:00:02.000Z", "soon", "1970-01-01T00:00:01.999Z"]
        .map(|ts| clock.passed(ts));
    assert_eq!(passed, [0, 500, 0, -1]);
}

#[test]
fn the_latest_payloads_are_those_that_fit() {
    let mut columns = EventColumns::new([]);
    (columns.payload_bytes, columns.at) = (vec![10, 500, 30, 20], vec![0; 4]);
    for (room, first) in [(0, 4), (19, 4), (20, 3), (49, 3), (50, 2), (149, 2), (150, 1), (160, 0), (9999, 0)] {
        assert_eq!(columns.latest_with_payloads(room, 100), first, "{room}");
    }
}

proptest! {
    #[test]
    fn numbers_are_kept_in_as_few_bytes_as_hold_them(numbers: Vec<i16>, wide: Option<i32>, huge: Option<i32>) {
        let numbers = numbers.into_iter().map(i64::from).chain(wide.map(i64::from)).chain(huge.map(|huge| i64::from(huge) << 20));
        let numbers: Vec<i64> = numbers.collect();
        let (bytes, encoded) = narrowed(&numbers);
        prop_assert_eq!(decoded((bytes, encoded)), numbers.iter().map(|number| *number as f64).collect::<Vec<_>>());
        let holds = |bytes: usize| bytes == 8 || numbers.iter().all(|number| number.abs() < 1 << (8 * bytes - 1) || *number == -(1 << (8 * bytes - 1)));
        prop_assert!(holds(bytes) && (bytes == 1 || !holds(bytes / 2)));
    }
}
