//! Bundles, end to end: the throughput of exporting, verifying and importing a generated run, how much smaller it becomes, and the peak memory.
//! `cargo bench --manifest-path bench/Cargo.toml --bench bundle`; `BUNDLE_MB` sets the size of the run (256 by default), and `BUNDLE_SOURCE` is the
//! path of a run or session to use instead.

// An error ends the measurement.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

use session_tape_core::bundle::{ExportOptions, RedactOptions, RedactionRule, VerifyOptions, export, import, verify};
use session_tape_core::disk::Durability;
use session_tape_core::json::Text;
use session_tape_core::run::record::{EventInput, RunRecorder, RunRecorderConfig};
use session_tape_core::run::{Kind, Scheduler};
use session_tape_core::task::{Cancellation, Task};

const CALLS: usize = 20;

/// What a line has besides its payload, approximately.
const ENVELOPE_BYTES: usize = 420;

/// Pseudorandom words like those of a log, the same in each run of the program.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn hash(&mut self) -> String {
        (0..4).map(|_| format!("{:016x}", self.next())).collect()
    }

    fn text(&mut self, words: usize) -> String {
        const WORDS: [&str; 16] = [
            "the",
            "file",
            "src/index.ts",
            "was",
            "read",
            "test",
            "failed:",
            "expected",
            "undefined",
            "at",
            "line",
            "https://example.com/docs",
            "import",
            "{ vitest }",
            "from",
            "agent",
        ];
        (0..words).map(|_| WORDS[self.next() as usize % 16]).collect::<Vec<_>>().join(" ")
    }
}

struct Generator {
    recorder: RunRecorder,
    bytes: u64,
}

impl Generator {
    fn append(&mut self, kind: Kind, node: Option<&str>, payload: &str) {
        let input = EventInput { kind, node: node.map(Text::from_plain), parent: None };
        let Ok(recorded) = self.recorder.append(&input, payload.as_bytes(), 1_770_825_600_000.0 + self.bytes as f64);
        recorded.unwrap();
        self.bytes += (payload.len() + ENVELOPE_BYTES) as u64;
    }

    fn node(&mut self, node: &str, words: &mut Words) {
        let task = format!(r#""task":"{node}#1""#);
        self.append(Kind::NodeScheduled, None, &format!(r#"{{{task},"dependsOn":[]}}"#));
        self.append(Kind::TaskAssigned, None, &format!(r#"{{{task},"worker":"w-1"}}"#));
        self.append(Kind::TaskAccepted, None, &format!(r#"{{{task},"worker":"w-1"}}"#));
        self.append(Kind::NodeStarted, None, &format!(r#"{{{task},"worker":"w-1","inputHash":"{}"}}"#, words.hash()));
        for number in 0..CALLS {
            let call = format!(r#""tool":"read_file","call":"call-{number}""#);
            let text = words.text(40);
            self.append(
                Kind::ToolInvoked,
                Some(node),
                &format!(r#"{{{call},"requestHash":"{}","arguments":"{text}"}}"#, words.hash()),
            );
            self.append(
                Kind::ToolFailed,
                Some(node),
                &format!(r#"{{{call},"code":"EFAIL","message":"{}"}}"#, words.text(60)),
            );
        }
        self.append(Kind::NodeCompleted, None, &format!(r#"{{{task},"outputHash":"{}"}}"#, words.hash()));
    }
}

fn generate(root: &Path, megabytes: u64, secret: Option<&str>) -> PathBuf {
    let nodes = (megabytes * 1_000_000 / 40_000).max(1) as usize;
    let listed: Vec<String> = (0..nodes).map(|n| format!(r#"{{"id":"node-{n}","kind":"agent"}}"#)).collect();
    let workflow = format!(r#"{{"name":"bench","version":"1","nodes":[{}]}}"#, listed.join(","));
    let directory = root.join("run");
    let config = RunRecorderConfig {
        directory: directory.clone(),
        mode: 0o600,
        run_id: Text::from_plain("run-1"),
        workflow: &workflow,
        scheduler: Scheduler::External,
        capabilities: None,
        resume: false,
        durability: Durability::Os,
        owner: "a benchmark".to_owned(),
    };
    let recorder = RunRecorder::open(&config, 1_770_825_600_000.0, |failure| panic!("{}", failure.error)).unwrap();
    let mut generator = Generator { recorder, bytes: 0 };
    generator.append(Kind::RunStarted, None, r#"{"workers":[{"id":"w-1","capabilities":[]}]}"#);
    let mut words = Words(88_172_645_463_325_252);
    for node in 0..nodes {
        generator.node(&format!("node-{node}"), &mut words);
        if let Some(secret) = secret.filter(|_| node % 100 == 0) {
            generator.append(Kind::Error, None, &format!(r#"{{"code":"E","message":"{secret}","recoverable":true}}"#));
        }
        if generator.bytes > megabytes * 1_000_000 {
            break;
        }
    }
    let (sender, disposed) = mpsc::channel();
    generator.recorder.dispose(move || sender.send(()).unwrap_or_default());
    disposed.recv().unwrap();
    directory
}

fn size(path: &Path) -> u64 {
    if path.is_file() {
        return fs::metadata(path).unwrap().len();
    }
    fs::read_dir(path).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
}

fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn measured<T>(what: &str, bytes: u64, work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let result = work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} });
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let megabytes = bytes as f64 / 1e6;
    println!("{what:<34} {:>7.0} MB/s  {:>7.0} MB/s per core's time", megabytes / seconds, megabytes / cpu.max(0.01));
    result
}

fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown").to_owned()
}

fn main() {
    let megabytes = std::env::var("BUNDLE_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let given = std::env::var_os("BUNDLE_SOURCE").map(PathBuf::from);
    let secret = std::env::var("BUNDLE_SECRET").ok();
    let source = given.unwrap_or_else(|| generate(root.path(), megabytes, secret.as_deref()));
    let bytes = size(&source);
    println!("{} MB; after generating, {}", bytes / 1_000_000, peak_memory());
    // Resets the peak: generating took memory of its own.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let plain = ExportOptions { redact: None, ..ExportOptions::default() };
    let by_rule =
        RedactionRule { name: "mine".into(), pattern: Some("hunter[0-9]+".into()), ..RedactionRule::default() };
    let with_rule = RedactOptions { builtin: true, rules: vec![by_rule] };
    let with_rule = ExportOptions { redact: Some(with_rule), ..ExportOptions::default() };
    let info =
        measured("export, archive", bytes, |task| export(&source, &at("a.tar.zst"), &ExportOptions::default(), task))
            .unwrap();
    println!("  {} redactions, {:.1} times smaller", info.redactions, bytes as f64 / size(&at("a.tar.zst")) as f64);
    println!("  {}", peak_memory());
    measured("export, archive, not redacting", bytes, |task| export(&source, &at("b.tar.zst"), &plain, task)).unwrap();
    measured("verify, archive", bytes, |task| verify(&at("a.tar.zst"), &VerifyOptions::default(), task)).unwrap();
    if std::env::var_os("BUNDLE_SHORT").is_none() {
        measured("export, directory", bytes, |task| export(&source, &at("d"), &ExportOptions::default(), task))
            .unwrap();
        measured("verify, directory", bytes, |task| verify(&at("d"), &VerifyOptions::default(), task)).unwrap();
        measured("import, archive", bytes, |task| import(&at("a.tar.zst"), &at("i"), &VerifyOptions::default(), task))
            .unwrap();
        measured("export, archive, a user's pattern", bytes, |task| {
            export(&source, &at("r.tar.zst"), &with_rule, task)
        })
        .unwrap();
    }
    println!("{}", peak_memory());
}
