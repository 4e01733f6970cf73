// Removes each safeguard of the data on disk, one at a time, in a copy of the work tree, and runs the tests that should notice: they must fail.
// Prints a table of the test that noticed each mutation, and fails if one was not noticed. `node scripts/mutations.mjs [PART OF A NAME…]` runs only
// the mutations with these parts in their names, without first running the tests unmutated. A mutation that its own tests do not notice is run
// against all tests. `node scripts/mutations.mjs 2/3` runs the second third of the list, in a separate copy, so that all thirds can run at once.
//
// The copy is kept at the same place, so that each mutation compiles only what has changed.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const COPIED = ['Cargo.toml', 'Cargo.lock', 'python/Cargo.toml', 'python/src', 'build.rs', 'clippy.toml', 'README.md', 'src', 'crates', '__test__', 'docs', 'lib', 'dist', 'scripts', 'index.js', 'index.mjs', 'index.d.ts', 'vitest.config.mts', 'package.json'];
const LINKED = ['node_modules', ...readdirSync(ROOT).filter((name) => name.endsWith('.node'))];

/** All tests that examine the data on disk: a test binary of Cargo with the filters for its tests, or a spec. */
const TESTS = ['lib disk:: lines::writer run::record run::state::snapshot run::replay run::read::log run::store::blob session::record bundle::', 'simulated_sessions', 'simulated_runs', 'simulated_bundles', 'simulated_errors', 'syncs', 'run_crash', 'crash', 'fork_crash', 'mounted', 'power_cut'];

/** Time limit, longer than any of them takes: a mutation may make a test wait forever. */
const MAX_MS = 10 * 60 * 1000;

/** For each mutation: the tests that should notice, what is removed, the file, and the text that is replaced by another. */
const MUTATIONS = [
  ['simulated_sessions', 'sync of what was appended', 'crates/core/src/disk/append/appender.rs', 'match self.file.sync_data() {', 'match Ok::<(), io::Error>(()) {'],
  ['simulated_sessions', 'sync of the directories above an appended file', 'crates/core/src/disk/append/unsynced.rs', 'if !self.with_entries {', 'if true {'],
  ['simulated_sessions', 'sync of directories above the nearest', 'crates/core/src/disk/sync/sync_directory.rs', 'above.map(Path::to_path_buf).collect()', 'above.map(Path::to_path_buf).take(1).collect()'],
  ['syncs', 'sync of every file that was left', 'crates/core/src/disk/append/unsynced.rs', 'let synced = self.0.into_iter()', 'let synced = self.0.into_iter().rev().take(1)'],
  ['simulated_errors', 'end of the recording after a failed sync', 'crates/core/src/lines/writer/thread.rs', '        unsynced.sync()?;', '        let _ = unsynced.sync();'],
  ['simulated_runs', 'sync of a blob, graph or snapshot', 'crates/core/src/disk/write/atomic_file.rs', 'temporary.file().sync_all().map_err(failed("fsync"))?;', ''],
  ['simulated_runs', 'sync of the directories of a blob', 'crates/core/src/disk/write/atomic_file.rs', 'directories.into_iter().try_for_each(|directory| sync_entries(directory, path))?;', 'directories.take(0).try_for_each(|directory| sync_entries(directory, path))?;'],
  ['simulated_runs', 'sync of the directories above a blob’s own', 'crates/core/src/disk/write/atomic_file.rs', 'directories.into_iter().try_for_each(|directory| sync_entries(directory, path))?;', 'directories.take(1).try_for_each(|directory| sync_entries(directory, path))?;'],
  ['simulated_runs', 'rename of a whole file into place', 'crates/core/src/disk/write/atomic_file.rs', 'let mut temporary = StagedFile::beside(path, StagedFile::NEW, BY_UMASK)?;', 'if let Ok(mut early) = StagedFile::beside(path, StagedFile::NEW, BY_UMASK) { early.file().write_all(&bytes[..bytes.len() / 2]).map_err(failed("write"))?; early.replace()?; }\n    let mut temporary = StagedFile::beside(path, StagedFile::NEW, BY_UMASK)?;'],
  ['simulated_errors', 'writing a blob again that may not be durable', 'crates/core/src/run/store/blob.rs', 'if (durability == Durability::Os || known == Durability::Fsync) && holds', 'if (durability == Durability::Os || known == Durability::Fsync || true) && holds'],
  ['simulated_errors', 'end of the recording after a blob’s failed sync', 'crates/core/src/run/record/recorder.rs', 'if error.syscall == "fsync" {', 'if error.syscall == "never" {'],
  ['lib run::store::blob', 'look at a blob that is there', 'crates/core/src/run/store/blob.rs', 'same_size && found().is_ok_and(|found| found == bytes)', 'same_size'],
  ['simulated_runs', 'healing of a damaged workflow', 'crates/core/src/run/record/recorder/opening.rs', '.filter(|found| compile(found).is_ok())', ''],
  ['simulated_runs', 'flush before a snapshot of a run', 'crates/core/src/run/record/recorder.rs', 'self.writer.flush(Box::new(move |_| background::spawn(move || done(guarded(write)))));', 'background::spawn(move || done(guarded(write)));'],
  ['lib run::state::snapshot', 'hash of a snapshot’s content', 'crates/core/src/run/state/snapshot.rs', 'if found != snapshot.content_hash {', 'if false {'],
  ['lib run::replay', 'comparison of a snapshot with the log', 'crates/core/src/run/replay/start_resolver.rs', 'if snapshot != log {', 'if false && snapshot != log {'],
  ['simulated_runs', 'cutting off a torn log', 'crates/core/src/run/record/recorder/opening.rs', 'if torn_bytes > 0 {', 'if false {'],
  ['simulated_runs', 'sync of a log that was cut', 'crates/core/src/run/record/recorder/torn_tail.rs', '        file.sync_all().map_err(|error| OsError::new(&error, "fsync", Some(log)))?;', ''],
  ['simulated_runs', 'copy of what is cut off', 'crates/core/src/run/record/recorder/torn_tail.rs', 'if has_lines(log, whole_bytes)? {', 'if false && has_lines(log, whole_bytes)? {'],
  ['simulated_runs', 'look for holes in a log', 'crates/core/src/run/read/log.rs', 'let hole = memchr::memchr(0, lines)?;', 'let hole = memchr::memchr(0, lines).filter(|_| false)?;'],
  ['simulated_sessions', 'look at the last byte of a file', 'crates/core/src/disk/append/appender.rs', 'Ok(read.map_err(|error| OsError::new(&error, "read", None))? == 1 && last == *b"\\n")', 'Ok(read.map_err(|error| OsError::new(&error, "read", None))? == 1)'],
  ['simulated_errors', 'error of the look at the last byte', 'crates/core/src/disk/append/appender.rs', 'Ok(read.map_err(|error| OsError::new(&error, "read", None))? == 1 && last == *b"\\n")', 'Ok(read.is_ok_and(|count| count == 1) && last == *b"\\n")'],
  ['simulated_errors', 'known end of an unreadable log', 'crates/core/src/disk/append/appender.rs', 'Ok(known_end == Some(end))', 'Ok(false)'],
  ['crash', 'cutting back a torn batch', 'crates/core/src/disk/append/appender.rs', 'if surplus > 0 && self.regular {', 'if false {'],
  ['simulated_errors', 'retry of an interrupted write', 'crates/core/src/disk/open/file.rs', '            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}\n', ''],
  ['simulated_bundles', 'sync of an archive', 'crates/core/src/disk/write/staged.rs', '        self.sync()?;\n', ''],
  ['simulated_bundles', 'sync of the files of a bundle', 'crates/core/src/disk/write/staged.rs', 'if self.is_to_stay { files::sync_if_possible(file, &self.destination) } else { Ok(()) }', 'let _ = file;\n        Ok(())'],
  ['simulated_bundles', 'sync of the directories in a bundle', 'crates/core/src/disk/write/staged.rs', '        sync_directory(&directory)?;\n', ''],
  ['simulated_bundles', 'sync of a bundle’s own entry', 'crates/core/src/disk/write/staged.rs', 'sync_directory(parent(destination)).map_err(|error| {', 'Ok::<(), OsError>(()).map_err(|error| {'],
  ['simulated_bundles', 'sync of an archive’s entry', 'crates/core/src/disk/write/staged.rs', 'sync_entry(&destination).map_err(|error| about(error, &destination).into())', 'Ok(())'],
  ['simulated_archives', 'sync of an archive before its session goes', 'crates/core/src/session/record/archive.rs', '    temporary.sync()?;\n    failpoint!("archive::synced");\n', '    failpoint!("archive::synced");\n'],
  ['simulated_archives', 'sync of an archive’s entry before its session goes', 'crates/core/src/session/record/archive.rs', '        .and_then(|()| sync_entry(to))\n', ''],
  ['simulated_archives', 'sync of a restored session’s entry before its archive goes', 'crates/core/src/session/record/archive.rs', '        .and_then(|()| sync_entry(to))\n', ''],
  ['lib session::record::archive', 'look whether a session was changed while it was archived', 'crates/core/src/session/record/archive.rs', '    source.expect_unchanged()?;\n', ''],
  ['lib session::record::archive', 'look whether another file is in the place of an archived session', 'crates/core/src/session/record/archive.rs', 'files::symlink_metadata(path)?.id() == before.id();', 'true;'],
  ['lib session::record::archive', 'refusal of an archive with other content', 'crates/core/src/session/record/archive.rs', 'if is_contained && archive.damage().is_none() { Ok(()) }', 'if true { Ok(()) }'],
  ['lib session::record::archive', 'refusal to restore a damaged archive', 'crates/core/src/session/record/archive.rs', 'source.damage().map_or(Ok(done), |readable| Err(damaged(readable)))', 'Ok(done)'],
  ['archive_crash', 'comparison of an archive with its session', 'crates/core/src/session/record/archive.rs', 'if (bytes, hasher.finalize().into()) == content { Ok(archived_bytes) }', 'if true { Ok(archived_bytes) }'],
  ['lib archived', 'checksum of a seek table', 'crates/core/src/archived/frame.rs', '&& frame.checksum.is_none_or(|expected| checksum_of(&content) == expected);', ';'],
  ['simulated_bundles', 'sync of a fork', 'crates/core/src/session/record/fork.rs', '    file.sync().map_err(ForkError::System)?;\n', ''],
  ['simulated_bundles', 'sync of a fork’s entry', 'crates/core/src/session/record/fork.rs', '    sync_entry(&path).map_err(|error| ForkError::System(OsError { path: Some(path.clone()), ..error }))?;\n', ''],
  ['simulated_errors', 'whether a lock file is still there', 'crates/core/src/disk/lock/file_lock.rs', 'Ok(()) => Ok(is_still_there(&file, path).then_some(file)),', 'Ok(()) => Ok((is_still_there(&file, path) || true).then_some(file)),'],
  ['lib disk::lock', 'release of a lock whose owner has ended', 'crates/core/src/disk/lock/file_lock.rs', 'match file.try_lock() {', 'match if file.metadata().is_ok_and(|there| there.size > 0) { Err(TryLockError::WouldBlock) } else { file.try_lock() } {'],
  // What a sync covers, and who waits for it.
  ['simulated_sessions', 'sync of any directory', 'crates/core/src/disk/sync/sync_directory.rs', '    handle.sync_all().map_err(|error| OsError::new(&error, "fsync", None))', '    drop(handle);\n    Ok(())'],
  ['syncs', 'sync of what was written before a flush was asked for', 'crates/core/src/lines/writer.rs', 'let reached = if durability == Durability::Fsync { self.synced } else { self.written };', 'let reached = self.written;'],
  ['simulated_sessions', 'sync before a flush is answered', 'crates/core/src/lines/writer/thread.rs', '            self.sync_if_promised()?;\n            self.answer_flushes();', '            let written = self.state.lock().written;\n            self.state.lock().synced = written;\n            self.answer_flushes();\n            self.sync_if_promised()?;'],
  ['simulated_errors', 'what was kept when a sync fails', 'crates/core/src/lines/writer/thread.rs', 'let kept = if self.durability == Durability::Fsync { state.synced } else { state.written };', 'let kept = state.written;'],
  ['syncs', 'sync of what was written before a failure', 'crates/core/src/lines/writer/thread.rs', '        match self.sync_if_promised() {\n            Ok(()) => self.fail(error, path),', '        match Ok::<(), SyncError>(()) {\n            Ok(()) => self.fail(error, path),'],
  ['syncs', 'sync of what was written of a torn batch', 'crates/core/src/lines/writer/thread.rs', '        if appended.is_err() {', '        if appended.is_err() && false {'],
  ['syncs', 'directories of a file that its own recorder resumed', 'crates/core/src/disk/append/unsynced.rs', 'Some(known) => known.with_entries |= with_entries,', 'Some(known) => known.with_entries = with_entries,'],
  ['syncs', 'whether two files of one path are one file', 'crates/core/src/disk/append/appender.rs', 'self.id.is_some() && self.id == other.id', 'self.id.is_some()'],
  ['simulated_errors', 'sync of the file system where a directory can’t be opened', 'crates/core/src/disk/append/unsynced.rs', 'Err(error) if error.code == "EACCES" && self.file.sync_file_system() => Ok(()),', 'Err(error) if error.code == "EACCES" => Ok(()),'],
  ['simulated_errors', 'end of the recording after a snapshot’s failed sync', 'crates/core/src/run/record/recorder.rs', '                        stop_after_failed_sync(&writer, error);\n', '                        let _ = error;\n'],
  ['syncs', 'sync of a whole workflow that was found', 'crates/core/src/run/record/recorder/opening.rs', 'if is_whole && self.config.durability == Durability::Os {', 'if is_whole {'],
  ['simulated_runs', 'sync of the copy of what is cut off', 'crates/core/src/run/record/recorder/torn_tail.rs', '        copy.file().sync_all().map_err(|error| OsError::new(&error, "fsync", Some(&path)))?;', ''],
  ['simulated_runs', 'sync of the entry of that copy', 'crates/core/src/run/record/recorder/torn_tail.rs', 'if durability == Durability::Fsync { sync_entries(files::parent(&path), &path) } else { Ok(()) }', 'Ok(())'],
  // Checks of the ends of files.
  ['lib disk::write::append', 'whether others have appended behind a torn batch', 'crates/core/src/disk/append/appender.rs', '            && self.file.metadata().is_ok_and(|metadata| metadata.size == end)\n', ''],
  ['simulated_errors', 'lock against other writers', 'crates/core/src/disk/append/appender.rs', '        lock_against_other_writers(&file);\n', ''],
  ['lib run::read::log', 'whether a hole ends with a sector', 'crates/core/src/run/read/log.rs', '((line == hole || is_sector(hole)) && is_sector(end)).then_some(line)', '(line == hole || is_sector(hole)).then_some(line)'],
  ['lib run::read::log', 'whether a hole begins with a sector or behind a line', 'crates/core/src/run/read/log.rs', '((line == hole || is_sector(hole)) && is_sector(end)).then_some(line)', 'is_sector(end).then_some(line)'],
  ['lib run::replay', 'count of the lines behind a hole', 'crates/core/src/run/verify/verify.rs', '    findings.of_mut(Aspect::Chain).unverifiable += folded.torn.lines;\n', ''],
  // Checks of snapshots of runs.
  ['lib run::state::snapshot', 'form of a run’s snapshot', 'crates/core/src/run/state/snapshot.rs', 'if snapshot.print() != document.as_bytes() {', 'if false && snapshot.print() != document.as_bytes() {'],
  ['lib run::state::snapshot', 'signature of a run’s snapshot', 'crates/core/src/run/state/snapshot.rs', 'trusted.verify(PAYLOAD_TYPE, &bytes, signature).map_err(|error| invalid(&error.to_string()))?;', 'let _ = signature;'],
  ['lib run::', 'name of a run’s snapshot', 'crates/core/src/run/state/snapshot.rs', 'Some(time) if time != snapshot.content.logical_time => {', 'Some(time) if false && time != snapshot.content.logical_time => {'],
  ['lib run::', 'hash of the state in a run’s snapshot', 'crates/core/src/run/replay/replay_start.rs', 'if found != Some(content.state_hash) {', 'if false && found != Some(content.state_hash) {'],
  ['lib run::', 'run of a run’s snapshot', 'crates/core/src/run/replay/start_resolver.rs', 'if content.run_id != created.run_id.as_json() {', 'if false && content.run_id != created.run_id.as_json() {'],
  ['lib run::', 'graph of a run’s snapshot', 'crates/core/src/run/replay/start_resolver.rs', '        check_agrees(&start.state, &created)?;\n', ''],
  ['lib bundle::', 'hashes of the files of a bundle', 'crates/core/src/bundle/read/verify.rs', 'Some(Some(seen)) if seen.sha256 != listed.sha256 => {', 'Some(Some(seen)) if false && seen.sha256 != listed.sha256 => {'],
  ['lib bundle::', 'checksums beside a manifest', 'crates/core/src/bundle/read/verify.rs', 'if sums.is_some_and(|sums| *sums != checksums::print(manifest, document)) {', 'if sums.is_some_and(|_| false) {'],
  // What threads hand over to each other, in every interleaving.
  ['interleavings', 'waking of a writer that rests', 'crates/core/src/lines/writer/thread.rs', '                self.work.notify_one();\n', ''],
  ['interleavings', 'last look and rest of a writer under one lock', 'crates/core/src/lines/writer/thread.rs', '        (state.thread, state.urgent) = (afterwards, false);\n        let closes', '        drop(state);\n        state = self.state.lock();\n        (state.thread, state.urgent) = (afterwards, false);\n        let closes'],
  ['interleavings', 'sync for a flush that came after the batch', 'crates/core/src/lines/writer.rs', 'durability == Durability::Fsync && self.synced < self.written && self.is_waited_for()', 'let _ = durability;\n        false'],
  ['interleavings', 'signal that a writer rests', 'crates/core/src/lines/writer/thread.rs', '            call(closes);\n        }\n        self.progress.notify_all();\n', '            call(closes);\n        }\n'],
  ['interleavings', 'refusal while what was queued before a failure is written', 'crates/core/src/lines/writer/thread.rs', 'state.failing.clone()', 'state.failing.take()'],
  ['interleavings', 'last batch before the end', 'crates/core/src/lines/writer/thread.rs', 'let is_done = |state: &State| state.is_written() && !state.writing;', 'let is_done = |state: &State| state.queue.is_empty();'],
  ['interleavings', 'signal that a batch was taken', 'src/job/queue.rs', '        drop(state);\n        self.taken.notify_one();\n        batch\n', '        drop(state);\n        batch\n'],
  ['interleavings', 'note that the receiver rests', 'src/job/queue.rs', 'state.is_receiver_awake = batch.is_some();', 'state.is_receiver_awake = true;'],
  ['interleavings', 'signal that a queue is closed', 'src/job/queue.rs', '        state.waiting.clear();\n        drop(state);\n        self.taken.notify_one();\n', '        state.waiting.clear();\n        drop(state);\n'],
  ['interleavings', 'signal that a job has cleaned up', 'src/job/registry.rs', '        self.0.ended.notify_all();\n', ''],
  ['interleavings', 'signal that a pipeline has a job', 'crates/core/src/task/pipeline/job_queue.rs', '        self.added.notify_one();\n', ''],
  ['interleavings', 'signal that a pipeline has ended', 'crates/core/src/task/pipeline/job_queue.rs', '        self.added.notify_all();\n', ''],
  // The locks of sessions, in JavaScript.
  ['__test__/slow/lock-power-cut.spec.ts', 'sync of a session lock before it is linked', 'lib/locks/temporary-file.ts', '    await sync(handle)\n', ''],
];

const parts = process.argv.slice(2);
const [, nth, count] = /^(\d+)\/(\d+)$/.exec(parts[0] ?? '') ?? ['', '1', '1'];
const isShare = count !== '1';
const target = join(ROOT, isShare ? `target/mutations-${nth}-of-${count}` : 'target/mutations');
const copy = join(target, 'source');
rmSync(copy, { recursive: true, force: true });
mkdirSync(copy, { recursive: true });
// Keeps modification times, by which Cargo knows what it has compiled.
for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true, preserveTimestamps: true });
for (const path of LINKED) symlinkSync(join(ROOT, path), join(copy, path));

const share = (n) => Math.round((MUTATIONS.length * n) / Number(count));
const isWhole = parts.length === 0 || isShare;
const wanted = isWhole ? MUTATIONS.slice(share(Number(nth) - 1), share(Number(nth))) : MUTATIONS.filter(([, name]) => parts.some((part) => name.includes(part)));
if (wanted.length === 0) fail(`there is no such mutation: ${parts.join(' ')}`);
const unchanged = isWhole ? noticing([...new Set(wanted.map(([tests]) => tests))]) : null;
if (unchanged !== null) fail(`the tests fail without a mutation: ${unchanged}`);
const survivors = [];
console.log('| taken away | where | noticed by | seconds |\n|---|---|---|---|');
for (const [tests, name, file, from, to] of wanted) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) fail(`${file} has what '${name}' changes ${source.split(from).length - 1} times instead of once: ${from}`);
  const start = performance.now();
  writeFileSync(path, source.replace(from, () => to));
  if (file.startsWith('lib/')) buildLibrary();
  const noticed = noticing([tests]) ?? noticing(TESTS);
  writeFileSync(path, source);
  if (file.startsWith('lib/')) buildLibrary();
  if (noticed === null) survivors.push(name);
  console.log(`| ${name} | \`${file}\` | ${noticed ?? '**nothing**'} | ${((performance.now() - start) / 1000).toFixed(0)} |`);
}
if (survivors.length > 0) fail(`nothing noticed: ${survivors.join(', ')}`);

/** The first tests that fail; `null` if none fails. */
function noticing(all) {
  for (const tests of all) {
    const found = tests.endsWith('.spec.ts') ? failingInSpec(tests) : failingInBinary(tests);
    if (found !== null) return found;
  }
  return null;
}

function buildLibrary() {
  const { status } = spawnSync(process.execPath, ['scripts/build-library.mjs', '--noCheck'], { cwd: copy, stdio: 'inherit' });
  if (status !== 0) fail('the mutated library does not compile');
}

function failingInBinary(tests) {
  const [binary, ...filters] = tests.split(' ');
  const threads = binary === 'interleavings';
  const args = threads
    ? ['test', '--features', 'interleavings', '--lib']
    : ['test', '--package', 'session-tape-core', '--features', 'failpoints', ...(binary === 'lib' ? ['--lib'] : ['--test', binary])];
  const env = { ...process.env, CARGO_TARGET_DIR: target, CARGO_PROFILE_DEV_DEBUG: '0', RUST_BACKTRACE: '0' };
  const options = { cwd: copy, env, encoding: 'utf8', maxBuffer: 1 << 28 };
  // Built without a time limit: only a test may wait forever.
  const built = spawnSync('cargo', [...args, '--no-run'], options);
  if (built.status !== 0) fail(built.stderr);
  const { status, signal, stdout, stderr } = spawnSync('cargo', [...args, '--', ...(threads ? [binary] : filters)], { ...options, timeout: MAX_MS });
  if (status === 0) return null;
  const failed = [...stdout.matchAll(/^test (\S+) .*FAILED$/gm)].map(([, name]) => `\`${name}\``);
  const listed = [...stdout.matchAll(/^ {4}(\w[\w:]+)$/gm)].map(([, name]) => `\`${name}\``);
  // A model that panics again while it cleans up ends the process before its result is printed.
  const panicked = [...stderr.matchAll(/^thread '(\w[\w:]+)' .*panicked/gm)].map(([, name]) => `\`${name}\``);
  const noticed = failed.length + listed.length > 0 ? [...failed, ...listed] : panicked;
  return [...new Set(noticed)].slice(0, 3).join(', ') || (signal ? 'a test that does not end' : `exit ${status}`);
}

function failingInSpec(spec) {
  const { status, stdout } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', spec, '--reporter=json'], { cwd: copy, encoding: 'utf8', maxBuffer: 1 << 28, timeout: MAX_MS });
  if (status === 0) return null;
  const failed = [...stdout.matchAll(/"status":"failed","title":"([^"]+)"/g)].map(([, title]) => `\`${title}\``);
  return failed.slice(0, 3).join(', ') || `exit ${status}`;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
