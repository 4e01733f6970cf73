import { native } from '../addon.js'
import {
  NO_OPTIONS,
  type Shape,
  WORK,
  check,
  checkEach,
  checked,
  checkedStrictly,
  expect,
  unlessMissing,
} from '../arguments.js'
import { bundles, bundlesToWrite } from '../binding/bundles.js'
import { runJob } from '../binding/job.js'
import type {
  NativeExportOptions,
  NativeJob,
  NativeLimits,
  NativeRedactOptions,
  NativeVerifyOptions,
} from '../binding/native.js'
import { checkKeys } from '../keys.js'
import type { Progress } from '../progress.js'
import { BUNDLE, type BundleProblem } from './error.js'
// Only for links in the comments.
import type { verifyRun } from '../run/replay.js'
import type { BundleError } from './error.js'

/** A redaction rule: what counts as a secret, and where. Give exactly one of `pattern` and `path`. */
export interface RedactionRule {
  /** The name of the rule. Matches are replaced by `[redacted:<name>]`. */
  name: string
  /**
   * A regular expression in RE2 syntax: no look-around and no back-references, so that matching takes linear time. It is matched against each string
   * with its escapes decoded, and against the bytes of blobs. If it has a group named `secret`, only that group is redacted.
   */
  pattern?: string | undefined
  /** A JSON pointer to the value to redact in payloads (`/headers/authorization`); `*` matches any key or index. */
  path?: string | undefined
  /** Apply only to events of these kinds, or lines of these types. Default: all. */
  kinds?: string[] | undefined
  /** Apply only to calls of these tools and their results. Default: all. */
  tools?: string[] | undefined
}

/** Options of {@link exportBundle}. */
export interface ExportOptions {
  /**
   * Runs only: begin with a snapshot, the one with this id (`snap_<logical time>`) or the newest. The bundle then contains the snapshot, the events
   * after it, and the blobs that these events name. If the snapshot can't be used, the export fails with `SnapshotNotFound`. Default: the whole
   * run.
   */
  fromSnapshot?: string | 'latest' | undefined
  /**
   * What to redact in the bundle; the source is not changed.
   *
   * - `builtin` (default `true`): well-known kinds of secrets: private keys, tokens of cloud providers and code hosts, JWTs, bearer headers, passwords in
   *   URLs.
   * - `rules` (default none): additional rules.
   *
   * `false`: nothing is redacted. Each match is replaced by `[redacted:<name of the rule>]`; after the export no file of the bundle contains the
   * secret, neither as it is nor with the escapes of JSON, percent-encoded, in base64 or hex digits once, or in the other spellings that
   * docs/redaction.md lists. A secret that may occur by chance, as a few letters or digits, is removed only from the string in which it was found. A
   * match that can't be replaced (in an id, a hash, a name) fails the export with `RedactionConflict`. A rule that
   * can't be used fails it with `InvalidRule`, before anything is read. Redacted parts count as unverifiable, not as failed; the hash chain still
   * verifies.
   */
  redact?: { builtin?: boolean | undefined; rules?: RedactionRule[] | undefined } | false | undefined
  /**
   * Sign the manifest: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it: `key.export({ type: 'pkcs8', format: 'pem' })`.
   */
  signWith?: string | undefined
  /** Compression level of an archive, a zstd level from 1 to 22. Default 3. */
  level?: number | undefined
  /**
   * Export an archived session that is damaged, up to the damage. By default that is a `SourceInvalid`: what is sealed should be the whole session.
   * Default `false`.
   */
  allowDamaged?: boolean | undefined
  /**
   * The store that has the media to which a session refers: the directory that has `objects/sha256`. Default: `media` beside the directory of the session, if
   * that has it. What a source that is a bundle has of them is taken from there.
   */
  mediaDir?: string | undefined
  /**
   * What to do with the media to which a session refers. By default all are sealed, and if one is missing or altered, the export fails with `MediaMissing` or
   * `MediaCorrupt`. Media are not redacted.
   *
   * - `'skip'`: those that are missing, altered or can't be read are left out, and counted.
   * - `'drop'`: none is sealed.
   */
  media?: 'skip' | 'drop' | undefined
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the total. Throwing from it stops the export. */
  onProgress?: ((progress: Progress) => void) | undefined
  /**
   * Aborting it stops the export. The promise rejects with the signal's `reason` once all temporary files are removed; if the bundle is already at its
   * destination, it resolves.
   */
  signal?: AbortSignal | undefined
}

/** Summary of a bundle. */
export interface BundleInfo {
  /** SHA-256 of the manifest without this field, in hex. The same source, exported with the same options, has the same id on any machine. */
  bundleId: string
  /** What the bundle contains. */
  kind: 'run' | 'session'
  /** Its path, as it was passed. */
  path: string
  /** Number of files that its manifest lists. */
  files: number
  /** Total size of these files in bytes, uncompressed. */
  bytes: number
  /** Number of lines of its log. */
  events: number
  /** Number of redacted events, blobs, lines and other files. */
  redactions: number
  /** Whether it is a partial bundle, which begins with a snapshot. */
  partial: boolean
  /** The media to which its session refers. Absent if there are none. */
  media?: BundleMedia
}

/** The media to which the session of a bundle refers. Each object counts once. */
export interface BundleMedia {
  /** Number of objects in the bundle. */
  sealed: number
  /** Number of objects that were missing or altered, or could not be read. */
  missing: number
  /** Total size of those in the bundle, in bytes. */
  bytes: number
  /** With `media: 'drop'`: number of objects that were left out. */
  dropped?: number
}

/** Limits for reading a bundle. `Infinity` removes a limit. */
export interface BundleLimits {
  /** Maximum length of a line in bytes. Default 16 MiB, also the maximum for a run; session lines may be as long as a replay reads, unless the limit is lower. */
  lineBytes: number
  /** Maximum size of a blob, in bytes. Default 256 MiB. */
  blobBytes: number
  /** Maximum number of files. Default 100 000. */
  files: number
  /** Maximum ratio of an archive's unpacked size to its own size. Default 200, plus 1 MiB; a higher limit never allows less than that. */
  expansion: number
  /** Maximum total size of all files, in bytes. Default 64 GiB. */
  totalBytes: number
}

/** Options of {@link verifyBundle} and {@link importBundle}. */
export interface VerifyBundleOptions {
  /** The keys whose signatures count: Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. Default: none. */
  trustedKeys?: string[] | undefined
  /**
   * The signature policy:
   *
   * - `'required'`: one of `trustedKeys` must have signed the bundle.
   * - `'ifPresent'` (default): if the bundle is signed and there are `trustedKeys`, one of them must have signed it. Additional signatures by other
   *   keys are allowed.
   * - `'ignore'`: the signature is not checked.
   */
  signature?: 'required' | 'ifPresent' | 'ignore' | undefined
  /** Limits that replace the defaults. They are checked while the bundle is read, before it can fill the disk or the memory. */
  limits?: { [Limit in keyof BundleLimits]?: number | undefined } | undefined
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the total. Throwing from it stops the work. */
  onProgress?: ((progress: Progress) => void) | undefined
  /** As in {@link ExportOptions}. */
  signal?: AbortSignal | undefined
}

/** Options of {@link importBundle}. */
export interface ImportBundleOptions extends VerifyBundleOptions {
  /**
   * - `'fsync'` (default): the promise resolves when all files are on stable storage.
   * - `'os'`: the files are handed to the operating system, which is many times faster for a bundle of many files. For a directory that is removed
   *   after it was read.
   */
  durability?: 'os' | 'fsync' | undefined
  /**
   * The store into which the media of a session are put, before the session appears: the directory that has, or gets, `objects/sha256`. What it has stays; a
   * file with the name of an object and other bytes is a `MediaCorrupt`. Default: `media` beside the directory, if that has `objects/sha256`; else they are
   * only in the directory. Not within the directory (`InvalidOption`). Synced to stable storage whatever `durability` says, since it stays.
   */
  mediaDir?: string | undefined
}

/** Result of {@link verifyBundle}. */
export interface BundleVerification {
  /** Whether there are no problems. */
  ok: boolean
  /** The content of the manifest, whether or not it verified; `null` if it can't be read. */
  info: BundleInfo | null
  /** All problems; after the first thousand, one that says that there are more. Empty for a valid bundle. */
  problems: BundleProblem[]
}

const POLICIES = ['required', 'ifPresent', 'ignore']
const MEDIA = ['skip', 'drop']
const DURABILITIES = ['os', 'fsync']
const LIMITS = ['lineBytes', 'blobBytes', 'files', 'expansion', 'totalBytes']

const EXPORT_OPTIONS: Shape<ExportOptions> = {
  ...WORK,
  allowDamaged: 'boolean?',
  fromSnapshot: 'string?',
  level: unlessMissing(checkLevel),
  redact: checkRedaction,
  signWith: checkPrivateKey,
  mediaDir: 'filledString?',
  media: unlessMissing((media, name) => check.oneOf(media, name, MEDIA)),
}
const VERIFY_OPTIONS: Shape<VerifyBundleOptions> = {
  ...WORK,
  trustedKeys: unlessMissing(checkKeys),
  signature: unlessMissing((signature, name) => check.oneOf(signature, name, POLICIES)),
  limits: unlessMissing(checkLimits),
}
const IMPORT_OPTIONS: Shape<ImportBundleOptions> = {
  ...VERIFY_OPTIONS,
  mediaDir: 'filledString?',
  durability: unlessMissing((durability, name) => check.oneOf(durability, name, DURABILITIES)),
}

/**
 * Exports a run or a session as a bundle: a set of files with a manifest that lists the size and hash of each.
 *
 * Another machine can verify a bundle, replay it, and read its events: all functions that read recordings accept one as their path. Its content
 * does not depend on the machine or the time of the export: the same source gives the same bytes, and so the same `bundleId`.
 * `sha256sum -c manifest.sha256` and `tar --zstd -xf` work on it.
 *
 * The bundle is built next to its destination under a temporary name, and renamed when it is complete and on stable storage. A failure or an abort
 * leaves no files, and an existing file or directory is never replaced. Memory is bounded, whatever the size of the source. The source is read
 * twice; if it was changed in between, the export fails with `SourceChanged`. The images to which a session refers are sealed with it; the total of the
 * progress grows by their size once the session was read. Exporting a run that is being recorded includes the events that are
 * complete when the export begins.
 *
 * @param source - A run's directory, whose log must verify; a session's file, which must replay; or a bundle of either, as a directory or an
 * archive, under any name.
 * @param destination - A path that does not exist yet. If the name ends in `.tar.zst`, the bundle is an archive (by convention
 * `X.cath-bundle.tar.zst`), else a directory (`X.cath-bundle`).
 * @returns A summary of the bundle. Rejects with a {@link BundleError}, with the reason of an aborted `options.signal`, with the error that
 * `options.onProgress` throws, and for a bug in session-tape with an `Error` whose `code` is `EBUNDLEPANIC` and whose `cause` has the message of
 * the addon.
 * @throws TypeError - At once, if an argument is of the wrong type, or `signWith` is not a private key.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { exportBundle, replaySession, SessionRecordingService } from 'session-tape';
 *
 * const directory = mkdtempSync(join(tmpdir(), 'chats-'));
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: directory,
 *   workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * await recorder.dispose();
 *
 * const archive = join(directory, 'hello.cath-bundle.tar.zst');
 * const { kind, events } = await exportBundle(recorder.getFilePath()!, archive);
 * console.log(kind, 'of', events, 'lines'); // session of 2 lines
 * const replay = await replaySession(archive, 'my-project');
 * console.log(replay.ok && replay.history.length); // 1
 * ```
 */
export function exportBundle(
  source: string,
  destination: string,
  options: ExportOptions = NO_OPTIONS,
): Promise<BundleInfo> {
  check.filledString(source, 'source')
  check.filledString(destination, 'destination')
  const { redact, signal, onProgress, ...plain } = checkedStrictly(options, EXPORT_OPTIONS)
  const wanted: NativeExportOptions = { ...plain, redact: redaction(redact), progress: onProgress !== undefined }
  return run((onReady) => native.startExport(bundlesToWrite(), source, destination, wanted, onReady), {
    signal,
    onProgress,
  })
}

/**
 * Verifies a bundle: everything that can be checked without replaying it.
 *
 * No part of the bundle is trusted. Every file is read once. Checks each file's path, size and hash, the hash of every event and the chain that
 * they form, that every blob that the log names is present, the manifest's id, its signature, and that there are no other files. To check that
 * states, assignments and outputs are those that were recorded, use {@link verifyRun}, which accepts a bundle too.
 *
 * @param path - The bundle: a directory or an archive.
 * @returns Resolves whatever the bundle contains. Rejects with a {@link BundleError} if it can't be read at all (`ENOENT`, `EACCES` …), and
 * otherwise as {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { verifyBundle } from 'session-tape';
 *
 * const path = join(mkdtempSync(join(tmpdir(), 'bundles-')), 'x.cath-bundle.tar.zst');
 * writeFileSync(path, 'not a bundle');
 * const { ok, problems } = await verifyBundle(path);
 * console.log(ok, problems[0]!.code); // false NotABundle
 * ```
 */
export function verifyBundle(path: string, options: VerifyBundleOptions = NO_OPTIONS): Promise<BundleVerification> {
  check.filledString(path, 'path')
  const wanted = checked(options, VERIFY_OPTIONS)
  return run((onReady) => native.startVerification(bundles, path, verification(wanted), onReady), wanted)
}

/**
 * Unpacks a bundle into a directory, if {@link verifyBundle} finds nothing wrong with it.
 *
 * The bundle is verified while it is unpacked, next to the directory under a temporary name, and read only once, so that the verified bytes are the
 * ones that are kept. A failure or an abort leaves no files. The directory is again a bundle and can be read; a run in it can't be resumed.
 *
 * @param path - The bundle: a directory or an archive.
 * @param directory - A path that does not exist yet.
 * @returns A summary of the bundle. Rejects with a {@link BundleError} that has `problems` if it does not verify, and otherwise as
 * {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { generateKeyPairSync } from 'node:crypto';
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { exportBundle, importBundle, replaySession, SessionRecordingService } from 'session-tape';
 *
 * const chatsDir = mkdtempSync(join(tmpdir(), 'chats-'));
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir, workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Close TICKET-202611' }] });
 * await recorder.dispose();
 *
 * const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
 *   privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' },
 * });
 * const rules = [{ name: 'ticket', pattern: 'TICKET-[0-9]+' }];
 * const bundle = join(chatsDir, 'demo.cath-bundle.tar.zst');
 * await exportBundle(recorder.getFilePath()!, bundle, { signWith: privateKey, redact: { rules } });
 *
 * // Elsewhere.
 * const { redactions } = await importBundle(bundle, join(chatsDir, 'demo.cath-bundle'), { signature: 'required', trustedKeys: [publicKey] });
 * const replay = await replaySession(join(chatsDir, 'demo.cath-bundle'), 'my-project');
 * console.log(redactions, replay.ok && replay.history[0]!.blocks[0]); // 1 { type: 'text', text: 'Close [redacted:ticket]' }
 * ```
 */
export function importBundle(
  path: string,
  directory: string,
  options: ImportBundleOptions = NO_OPTIONS,
): Promise<BundleInfo> {
  check.filledString(path, 'path')
  check.filledString(directory, 'directory')
  const wanted = checkedStrictly(options, IMPORT_OPTIONS)
  const isSynced = wanted.durability !== 'os'
  return run(
    (onReady) =>
      native.startImport(
        bundlesToWrite(),
        path,
        directory,
        isSynced,
        { ...verification(wanted), mediaDir: wanted.mediaDir },
        onReady,
      ),
    wanted,
  )
}

function run<T>(
  start: (onReady: () => void) => NativeJob,
  { signal, onProgress }: ExportOptions | VerifyBundleOptions,
): Promise<T> {
  return runJob<T>(BUNDLE, start, { signal, onProgress })
}

function checkLevel(level: unknown, name: string): void {
  expect(
    Number.isInteger(level) && (level as number) >= 1 && (level as number) <= 22,
    name,
    'an integer from 1 to 22',
    level,
  )
}

function checkPrivateKey(key: string | undefined, name: string): void {
  check.optional(key, name, 'string')
  const fault = key === undefined ? null : native.privateKeyFault(key)
  // The value is not shown: although it is not a key, it may be a secret.
  expect(fault === null, name, `the PEM text of an Ed25519 private key (${fault})`, '…')
}

/** Checks the types of the option `redact`. The addon validates the rules. */
function checkRedaction(redact: ExportOptions['redact'], name: string): void {
  if (redact === undefined || redact === false) return
  expect(redact !== null && typeof redact === 'object' && !Array.isArray(redact), name, 'an object, or false', redact)
  check.optional(redact.builtin, `${name}.builtin`, 'boolean')
  if (redact.rules === undefined) return
  expect(Array.isArray(redact.rules), `${name}.rules`, 'an array', redact.rules)
  checkEach(redact.rules, `${name}.rules`, checkRule)
}

function checkRule(rule: RedactionRule, name: string): void {
  check.object(rule, name)
  check.string(rule.name, `${name}.name`)
  check.optional(rule.pattern, `${name}.pattern`, 'string')
  check.optional(rule.path, `${name}.path`, 'string')
  for (const list of ['kinds', 'tools'] as const)
    if (rule[list] !== undefined) check.strings(rule[list], `${name}.${list}`)
}

/** Returns the option `redact` in the addon's form; `undefined` to redact nothing. */
function redaction(redact: ExportOptions['redact'] = NO_OPTIONS): NativeRedactOptions | undefined {
  if (redact === false) return undefined
  const { builtin = true, rules = [] } = redact
  return {
    builtin,
    rules: rules.map(({ name, pattern, path, kinds, tools }) => ({ name, pattern, path, kinds, tools })),
  }
}

function checkLimits(limits: NonNullable<VerifyBundleOptions['limits']>, where: string): void {
  check.object(limits, where)
  for (const name of Object.keys(limits)) {
    const limit = limits[name as keyof BundleLimits]
    // Ignoring a misspelt name would drop a limit.
    expect(LIMITS.includes(name), where, `an object with any of ${LIMITS.join(', ')}`, limits)
    if (limit !== undefined) check.count(limit === Infinity ? 0 : limit, `${where}.${name}`)
  }
}

/** The options of a verification or import in the addon's form. */
function verification({
  trustedKeys = [],
  signature = 'ifPresent',
  limits = NO_OPTIONS,
  onProgress,
}: VerifyBundleOptions): NativeVerifyOptions {
  const bareLimits: NativeLimits = { ...limits }
  return { trustedKeys: trustedKeys.slice(), signature, limits: bareLimits, progress: onProgress !== undefined }
}
