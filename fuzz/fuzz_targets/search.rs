//! Any query in any session: the prefilter passes over no line that has a hit, and each hit is consistent in itself.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use session_tape_core::search::{Case, Field, Hit, Query, QueryOptions, ScanOptions, Search, SearchFile};

fuzz_target!(|input: (Vec<u16>, bool, u8, Vec<u8>)| {
    let (units, is_regex, case, session) = input;
    let case = [Case::Smart, Case::Sensitive, Case::Insensitive][usize::from(case % 3)];
    let Ok(query) = Query::new(&units, QueryOptions { is_regex, case }) else { return };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&session).unwrap();
    let found = hits(file.path(), query.clone());
    assert_eq!(found, hits(file.path(), query.without_prefilter()));
    let lines = session.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    for hit in &found {
        assert!((1..=lines).contains(&hit.line));
        assert!(hit.matches >= hit.ranges.len() as u64 && !hit.ranges.is_empty());
        assert!(hit.ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
    assert!(found.windows(2).all(|pair| pair[0].line <= pair[1].line));
});

fn hits(path: &std::path::Path, query: Query) -> Vec<Hit> {
    let options = ScanOptions {
        query,
        fields: Field::ALL.iter().fold(0, |bits, field| bits | field.bit()),
        speaker: None,
        tool: None,
        project_hash: None,
        between: None,
        is_current: false,
        context: 5,
        limit: usize::MAX,
    };
    let mut search = Search::new(vec![SearchFile { path: path.to_path_buf(), size: 0 }], options);
    std::iter::from_fn(|| search.next_part()).flat_map(|part| part.hits).collect()
}
