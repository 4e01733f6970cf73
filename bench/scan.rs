//! The core without the addon: how fast lines are validated and folded. `cargo bench --manifest-path bench/Cargo.toml`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use session_tape_core::session::fold::{Fold, FoldOptions};

/// Lines of `content` events with a text of `bytes` bytes, similar to what agents write: code, with escapes and some characters beyond ASCII.
fn session(lines: usize, bytes: usize) -> Vec<u8> {
    let code = r#"fn main() {\n\tprintln!(\"naïve — {}\", value); // prints it\n}\n "#;
    let text: String = code.chars().cycle().take(bytes / code.len() * code.chars().count()).collect();
    let line = |seq: usize| {
        format!(
            r#"{{"v":1,"seq":{seq},"ts":"2026-02-11T16:00:00.000Z","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{{"type":"text","text":"{text}"}},{{"type":"tool_call","id":"{seq}","name":"read","parameters":{{"path":"/a","lines":[1,2]}}}}]}}}}}}"#
        ) + "\n"
    };
    (1..=lines).map(line).collect::<String>().into_bytes()
}

fn fold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fold");
    for (name, lines, bytes) in [("typical, 1400 bytes a line", 8_000, 1_200), ("small, 250 bytes a line", 40_000, 64)]
    {
        let text = session(lines, bytes);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            let mut fold = Fold::new(FoldOptions::default());
            bencher.iter(|| fold.effect(&text, 0, true));
        });
    }
    group.finish();
}

criterion_group!(benches, fold);
criterion_main!(benches);
