// Takes away each safeguard of what is on the disk, one at a time, in a copy of the work tree, and runs the tests: they must fail. Prints a table
// of which test noticed, and fails if none did. `node scripts/mutations.mjs [PART OF A NAME]`;
// with a part of a name, the tests are not run without a mutation first.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const COPIED = ['Cargo.toml', 'Cargo.lock', 'build.rs', 'clippy.toml', 'README.md', 'src', 'tests', '__test__/fixtures', 'docs'];
const TESTS = ['lib', 'simulated_sessions', 'simulated_runs', 'simulated_bundles', 'simulated_errors', 'syncs', 'run_crash', 'crash', 'fork_crash', 'mounted'];

/** The tests that are to notice, what is taken away, where, and by which change of the source. */
const MUTATIONS = [
  ['simulated_sessions', 'sync of what was appended', 'src/disk/append.rs', 'match self.file.sync_data() {', 'match Ok::<(), io::Error>(()) {'],
  ['simulated_sessions', 'sync of the directories above an appended file', 'src/disk/unsynced.rs', 'if !self.with_entries {', 'if true {'],
  ['simulated_sessions', 'sync of directories above the nearest', 'src/disk/sync_directory.rs', 'above.map(Path::to_path_buf).collect()', 'above.map(Path::to_path_buf).take(1).collect()'],
  ['syncs', 'sync of every file that was left', 'src/disk/unsynced.rs', 'let synced = self.0.into_iter()', 'let synced = self.0.into_iter().rev().take(1)'],
  ['simulated_errors', 'end of the recording after a failed sync', 'src/jsonl/writer/thread.rs', '        unsynced.sync()?;', '        let _ = unsynced.sync();'],
  ['simulated_runs', 'sync of a blob, graph or snapshot', 'src/disk/atomic_file.rs', 'temporary.file().sync_all().map_err(failed("fsync"))?;', ''],
  ['simulated_runs', 'sync of the directories of a blob', 'src/disk/atomic_file.rs', 'directories.into_iter().try_for_each(sync_directory)?;', 'directories.take(0).try_for_each(sync_directory)?;'],
  ['simulated_runs', 'sync of the directories above a blob’s own', 'src/disk/atomic_file.rs', 'directories.into_iter().try_for_each(sync_directory)?;', 'directories.take(1).try_for_each(sync_directory)?;'],
  ['simulated_runs', 'rename of a whole file into place', 'src/disk/atomic_file.rs', 'let mut temporary = TemporaryFile::beside(path, NEW, false)?;', 'if let Ok(mut early) = TemporaryFile::beside(path, NEW, false) { early.file().write_all(&bytes[..bytes.len() / 2]).map_err(failed("write"))?; early.replace()?; }\n    let mut temporary = TemporaryFile::beside(path, NEW, false)?;'],
  ['simulated_errors', 'writing a blob again that may not be durable', 'src/run/blob.rs', 'if (durability == Durability::Os || known == Durability::Fsync) && holds', 'if (durability == Durability::Os || known == Durability::Fsync || true) && holds'],
  ['simulated_errors', 'end of the recording after a blob’s failed sync', 'src/run/recorder.rs', 'if error.syscall == "fsync" {', 'if error.syscall == "never" {'],
  ['lib', 'look at a blob that is there', 'src/run/blob.rs', 'same_size && found().is_ok_and(|found| found == bytes)', 'same_size'],
  ['simulated_runs', 'healing of a damaged workflow', 'src/run/recorder/opening.rs', '.filter(|found| compile(found).is_ok())', ''],
  ['simulated_runs', 'flush before a snapshot of a run', 'src/run/recorder.rs', 'self.writer.flush(Box::new(move |_| background::spawn(move || done(guarded(write)))));', 'background::spawn(move || done(guarded(write)));'],
  ['simulated_runs', 'hash of a snapshot’s content', 'src/run/snapshot.rs', 'if found != snapshot.content_hash {', 'if false {'],
  ['simulated_runs', 'comparison of a snapshot with the log', 'src/run/start_resolver.rs', 'if snapshot != log {', 'if false && snapshot != log {'],
  ['simulated_runs', 'cutting off a torn log', 'src/run/recorder/opening.rs', 'if torn_bytes > 0 {', 'if false {'],
  ['simulated_runs', 'sync of a log that was cut', 'src/run/recorder/torn_tail.rs', '        file.sync_all().map_err(|error| OsError::new(&error, "fsync", None))?;', ''],
  ['simulated_runs', 'copy of what is cut off', 'src/run/recorder/torn_tail.rs', 'if has_lines(log, whole_bytes)? {', 'if false && has_lines(log, whole_bytes)? {'],
  ['simulated_runs', 'look for holes in a log', 'src/run/log.rs', 'let hole = memchr::memchr(0, lines)?;', 'let hole = memchr::memchr(0, lines).filter(|_| false)?;'],
  ['simulated_sessions', 'look at the last byte of a file', 'src/disk/append.rs', 'Ok(count) => return Ok(count == 1 && last == *b"\\n"),', 'Ok(count) => return Ok(count == 1),'],
  ['simulated_errors', 'error of the look at the last byte', 'src/disk/append.rs', 'Err(error) => return Err(OsError::new(&error, "read", None)),', 'Err(_) => return Ok(false),'],
  ['simulated_errors', 'known end of an unreadable log', 'src/disk/append.rs', 'Ok(known_end == Some(end))', 'Ok(false)'],
  ['crash', 'cutting back a torn batch', 'src/disk/append.rs', 'if surplus > 0 && self.regular {', 'if false {'],
  ['simulated_errors', 'retry of an interrupted write', 'src/disk/append.rs', 'Err(error) if error.kind() == io::ErrorKind::Interrupted => {}\n                Err(error) => return Err(self.cut_back', 'Err(error) => return Err(self.cut_back'],
  ['simulated_sessions', 'checksum and digests of a session’s snapshot', 'src/session/snapshot.rs', '(matches_metadata || begins_with(source, &stored.blocks, threads))', '(matches_metadata || true)'],
  ['simulated_sessions', 'sync before the system’s word is taken', 'src/session/snapshot.rs', 'file.sync_all().is_ok() && ', ''],
  ['simulated_bundles', 'sync of an archive', 'src/disk/staged.rs', '        sync(self.0.file())?;', ''],
  ['simulated_bundles', 'sync of the files of a bundle', 'src/disk/staged.rs', 'if self.is_to_stay { sync(file) } else { Ok(()) }', 'let _ = file; Ok(())'],
  ['simulated_bundles', 'sync of the directories in a bundle', 'src/disk/staged.rs', '            sync_directory(&directory)?;\n        }', '        }'],
  ['simulated_bundles', 'sync of a bundle’s own entry', 'src/disk/staged.rs', '        place(self.directory, &self.destination)?;\n        Ok(sync_directory(parent(&self.destination))?)', '        place(self.directory, &self.destination)'],
  ['simulated_bundles', 'sync of an archive’s entry', 'src/disk/staged.rs', 'Ok(sync_directory(parent(&destination))?)', 'Ok(())'],
  ['simulated_bundles', 'sync of a fork', 'src/session/fork.rs', '    file.file().sync_all().map_err(|error| failed(error, "fsync"))?;', ''],
  ['simulated_bundles', 'sync of a fork’s entry', 'src/session/fork.rs', 'if let Err(error) = sync_directory(parent(&path)) {', 'if let Err(error) = Ok::<(), OsError>(()) {'],
  ['lib', 'whether a lock file is still there', 'src/disk/lock.rs', 'Ok(()) => Ok(is_still_there(&file, path).then_some(file)),', 'Ok(()) => Ok((is_still_there(&file, path) || true).then_some(file)),'],
  ['lib', 'release of a lock whose owner has ended', 'src/disk/lock.rs', 'match file.try_lock() {', 'match if file.metadata().is_ok_and(|there| there.size > 0) { Err(TryLockError::WouldBlock) } else { file.try_lock() } {'],
];

const copy = mkdtempSync(join(tmpdir(), 'mutations-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });

const wanted = MUTATIONS.filter(([, name]) => name.includes(process.argv[2] ?? ''));
const unchanged = process.argv[2] === undefined ? test(TESTS) : null;
if (unchanged !== null) fail(`the tests fail without a mutation: ${unchanged}`);
const survivors = [];
console.log('| taken away | where | noticed by |\n|---|---|---|');
for (const [tests, name, file, from, to] of wanted) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(from)) fail(`${file} has no longer what '${name}' changes: ${from}`);
  writeFileSync(path, source.replace(from, () => to));
  const noticed = test([tests]) ?? test(TESTS);
  writeFileSync(path, source);
  if (noticed === null) survivors.push(name);
  console.log(`| ${name} | \`${file}\` | ${noticed ?? '**nothing**'} |`);
}
if (survivors.length > 0) fail(`nothing noticed: ${survivors.join(', ')}`);

/** The first test that fails; `null` if none does. */
function test(names) {
  const tests = names.flatMap((name) => (name === 'lib' ? ['--lib'] : ['--test', name]));
  const args = ['test', '--no-default-features', '--features', 'failpoints', ...tests];
  const env = { ...process.env, CARGO_TARGET_DIR: join(ROOT, 'target/mutations'), RUST_BACKTRACE: '0' };
  const { status, stdout, stderr } = spawnSync('cargo', args, { cwd: copy, env, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status === 0) return null;
  if (/could not compile/.test(stderr)) fail(stderr);
  const failed = [...stdout.matchAll(/^test (\S+) .*FAILED$/gm)].map(([, name]) => `\`${name}\``);
  const listed = [...new Set([...stdout.matchAll(/^ {4}(\w[\w:]+)$/gm)].map(([, name]) => `\`${name}\``))];
  return [...new Set([...failed, ...listed])].slice(0, 3).join(', ') || `exit ${status}`;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
