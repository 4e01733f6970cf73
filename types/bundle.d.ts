// Bundles: exporting, verifying and importing.

import type { Progress } from './common.js';
// Only for links in the comments.
import type { verifyRun } from './run.js';

/**
 * What is wrong with a bundle, or with what was asked for: `code` of {@link BundleProblem} and {@link BundleError}. Later releases may add to it.
 *
 * What each means and what to do about it: https://github.com/session-tape/session-tape/blob/main/docs/bundle-format.md
 */
export type BundleCode =
  | 'AbsolutePath'
  | 'ParentPath'
  | 'DriveLetter'
  | 'NulInPath'
  | 'BackslashInPath'
  | 'NotUtf8Path'
  | 'ReservedName'
  | 'InvalidPath'
  | 'DuplicatePath'
  | 'CaseCollision'
  | 'Link'
  | 'Device'
  | 'UnsupportedEntry'
  | 'NotABundle'
  | 'ArchiveCorrupt'
  | 'Truncated'
  | 'TrailingBytes'
  | 'WindowTooLarge'
  | 'LineTooLong'
  | 'BlobTooLarge'
  | 'FileTooLarge'
  | 'TooManyFiles'
  | 'ExpansionTooLarge'
  | 'TotalTooLarge'
  | 'ManifestMissing'
  | 'ManifestInvalid'
  | 'UnsupportedVersion'
  | 'BundleIdMismatch'
  | 'NotInManifest'
  | 'FileMissing'
  | 'WrongSize'
  | 'WrongHash'
  | 'ChecksumsMismatch'
  | 'BlobNameMismatch'
  | 'BlobMissing'
  | 'LogInvalid'
  | 'WrongCount'
  | 'WrongHead'
  | 'RedactionMismatch'
  | 'RedactionsInvalid'
  | 'MetadataInvalid'
  | 'SnapshotInvalid'
  | 'SignatureMissing'
  | 'SignatureMalformed'
  | 'SignatureNotTrusted'
  | 'TooManyProblems'
  | 'SourceInvalid'
  | 'SourceChanged'
  | 'SnapshotNotFound'
  | 'DestinationExists'
  | 'RedactionConflict'
  | 'InvalidRule'
  | 'InvalidOption'
  | 'SystemError'
  | 'Cancelled';

/** A rule of redaction: what is a secret, and where. Exactly one of `pattern` and `path` is given. */
export interface RedactionRule {
  /** What stands in the place of what it hits: `[redacted:<name>]`. */
  name: string;
  /**
   * A regular expression as RE2 has them: without look-around and back-references, and so without patterns that take for ever. It is matched against each string
   * without its escapes, and against the bytes of blobs. If it has a group named `secret`, only that is redacted.
   */
  pattern?: string | undefined;
  /** A JSON pointer to what is redacted in payloads (`/headers/authorization`); `*` stands for any key or index. */
  path?: string | undefined;
  /** Only events of these kinds, or lines of these types. Left out: all. */
  kinds?: string[] | undefined;
  /** Only calls of these tools and what they gave. Left out: all. */
  tools?: string[] | undefined;
}

/** Options of {@link exportBundle}. */
export interface ExportOptions {
  /**
   * Runs only: begin with a snapshot, the one of this id (`snap_<logical time>`) or the newest. The bundle then holds the snapshot, the events after
   * it, and of the blobs those that these name. One that can't be used is `SnapshotNotFound`. Left out: the whole run.
   */
  fromSnapshot?: string | 'latest' | undefined;
  /**
   * What is redacted in the bundle; the source stays as it is.
   *
   * - `builtin` (default `true`): well-known shapes of secrets: private keys, tokens of clouds and of hosts of code, JWTs, bearer headers, passwords in
   *   URLs.
   * - `rules` (default none): rules of one's own beside them.
   *
   * `false`: nothing is redacted. What a rule hits is replaced by `[redacted:<name of the rule>]`, and is in no file of the bundle any more, whatever its
   * escapes. One that stands where nothing can be replaced (in an id, a hash, a name) is `RedactionConflict`; a rule that can't be used is `InvalidRule`,
   * before anything is read. Redacted parts are unverifiable, never wrong: the chain holds as before.
   */
  redact?: { builtin?: boolean | undefined; rules?: RedactionRule[] | undefined } | false | undefined;
  /**
   * Sign the manifest: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it: `key.export({ type: 'pkcs8', format: 'pem' })`.
   */
  signWith?: string | undefined;
  /** How hard an archive is compressed: a level of zstd, 1 to 22. Default 1. */
  level?: number | undefined;
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the whole. Throwing from it stops the export. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Aborting it stops the export. The promise rejects with the signal's `reason` when nothing is left of it; when the bundle is at its destination
   * already, it resolves.
   */
  signal?: AbortSignal | undefined;
}

/** A bundle in short. */
export interface BundleInfo {
  /** SHA-256 of the manifest without this field, in hex. The same source, exported with the same options, has the same id on any machine. */
  bundleId: string;
  /** What it is of. */
  kind: 'run' | 'session';
  /** Where it is, as it was asked for. */
  path: string;
  /** How many files its manifest lists. */
  files: number;
  /** How many bytes these have together, uncompressed. */
  bytes: number;
  /** How many lines its log has. */
  events: number;
  /** How many events, blobs, lines and other files are redacted in it. */
  redactions: number;
  /** Whether it begins with a snapshot. */
  partial: boolean;
}

/** One of the things that are wrong with a bundle. */
export interface BundleProblem {
  /** A {@link BundleCode}. */
  code: BundleCode | (string & {});
  /** The file of the bundle that it is about. Absent if it is about none. */
  path?: string;
  /** The same for people, in one line: what was found, where, and what to do. */
  message: string;
}

/** What the functions for bundles reject with, but for an abort. `name` is `'BundleError'`. */
export interface BundleError extends Error {
  /** A {@link BundleCode}, or the system's own (`ENOSPC`, `EACCES` …: these have `errno` and `syscall`). */
  code: BundleCode | (string & {});
  /** The file concerned: as the bundle names it, or, with a code of the system, as the system does. */
  path?: string;
  /** Where a bundle was refused: all that is wrong with it. `code` and `path` are of the first. */
  problems?: BundleProblem[];
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
}

/** How much a bundle may be. `Infinity` takes a limit away. */
export interface BundleLimits {
  /** Bytes of the longest line of the log. Default 16 MiB; of a run's log more is never read, and a session's lines may be as long as a replay reads, unless less is given. */
  lineBytes: number;
  /** Bytes of the largest blob. Default 256 MiB. */
  blobBytes: number;
  /** How many files. Default 100 000. */
  files: number;
  /** How many times its own size an archive may expand to, and a mebibyte more. Default 200. */
  expansion: number;
  /** Bytes of all files together. Default 64 GiB. */
  totalBytes: number;
}

/** Options of {@link verifyBundle} and {@link importBundle}. */
export interface VerifyBundleOptions {
  /** The keys whose signature counts: Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. Default: none. */
  trustedKeys?: string[] | undefined;
  /**
   * What is demanded of the signature:
   *
   * - `'required'`: one of `trustedKeys` must have signed the bundle.
   * - `'ifPresent'` (default): if it is signed and there are `trustedKeys`, one of them must have done it. Signatures of others beside that do no harm.
   * - `'ignore'`: it is not looked at.
   */
  signature?: 'required' | 'ifPresent' | 'ignore' | undefined;
  /** Other limits than the default ones. They are checked while the bundle is read, before anything can fill the disk or the memory. */
  limits?: { [Limit in keyof BundleLimits]?: number | undefined } | undefined;
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the whole. Throwing from it stops the work. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** As in {@link ExportOptions}. */
  signal?: AbortSignal | undefined;
}

/** What {@link verifyBundle} found. */
export interface BundleVerification {
  /** Whether nothing is wrong. */
  ok: boolean;
  /** What the manifest says, believed or not; `null` if it can't be read. */
  info: BundleInfo | null;
  /** All that is wrong; after the first thousand one that says so. Empty for a good bundle. */
  problems: BundleProblem[];
}

/**
 * Seals a run or a session into a bundle: a set of files with a manifest that has the size and hash of each.
 *
 * Another machine can verify a bundle, replay it, and read its events: all functions that read take one as their path. Nothing in it
 * depends on the machine or the hour: the same source gives the same bytes, and so the same `bundleId`. `sha256sum -c manifest.sha256` and `tar --zstd -xf`
 * work on it.
 *
 * The bundle is built beside its destination under a temporary name and renamed when it is whole and on stable storage. After a failure or an
 * abort there is nothing, and nothing that was there before is ever replaced. Memory is bounded, whatever the size of the source, which is read twice; one that
 * was changed in between is `SourceChanged`. Exporting a run that is being recorded takes the events that are whole when it begins.
 *
 * @param source - A run's directory, whose log must be whole; a session's file: whatever replays can be exported; or a bundle of either, in any form
 * and under any name.
 * @param destination - Where there is nothing yet: one file if the name ends in `.tar.zst` (`X.cath-bundle.tar.zst` by custom), else a directory
 * (`X.cath-bundle`).
 * @returns What the bundle is. Rejects with a {@link BundleError}, with the reason of an aborted `options.signal`, with what `options.onProgress` throws, and
 * for a bug in session-tape with an `Error` whose `code` is `EBUNDLEPANIC` and whose `cause` has what the addon said.
 * @throws TypeError - At once, if an argument is of the wrong type, or `signWith` is no key.
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
export declare function exportBundle(source: string, destination: string, options?: ExportOptions): Promise<BundleInfo>;

/**
 * Verifies a bundle: everything that can be told of it without replaying it.
 *
 * Nothing in it is believed. Every file is read once: its path, size and hash, the hashes of every event and the chain that they form, that every
 * blob is there that the log names, the manifest's own id, its signature, and that there is nothing else. Whether states, assignments and outputs are
 * those that were recorded is for {@link verifyRun}, which takes a bundle too.
 *
 * @param path - The bundle: a directory or an archive.
 * @returns Resolves whatever is in the bundle. Rejects with a {@link BundleError} if it can't be read at all (`ENOENT`, `EACCES` …), and
 * otherwise as {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
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
export declare function verifyBundle(path: string, options?: VerifyBundleOptions): Promise<BundleVerification>;

/**
 * Unpacks a bundle into a directory, if {@link verifyBundle} finds nothing wrong with it.
 *
 * It is verified while it is unpacked, beside the directory under a temporary name, and read once: what was verified is what is there afterwards.
 * After a failure or an abort there is nothing. The directory is a bundle again, and a run that can be read; it can't be recorded to.
 *
 * @param path - The bundle: a directory or an archive.
 * @param directory - Where there is nothing yet.
 * @returns What the bundle is. Rejects with a {@link BundleError} that has `problems` if something is wrong with it, and otherwise as
 * {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
 *
 * @example
 * ```ts
 * import { importBundle } from 'session-tape';
 *
 * try {
 *   await importBundle('no-such.cath-bundle.tar.zst', 'here', { signature: 'required', trustedKeys: [] });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export declare function importBundle(path: string, directory: string, options?: VerifyBundleOptions): Promise<BundleInfo>;
