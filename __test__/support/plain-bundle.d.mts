import type { PlainRun } from './plain-run-engine.mjs'

/** The files of a bundle by path. */
export type Files = Record<string, Buffer>
export interface Manifest {
  v: number
  kind: string
  files: Record<string, { sha256: string; size: number }>
  log: { count: number; firstTime: number | null; head: string | null; lastTime: number | null }
  partial?: { logicalTime: number; snapshot: string }
}
export interface Sealing {
  partial?: { logicalTime: number; snapshot: string } | undefined
  /** The hash of the event before the log. */
  before?: string | undefined
  signWith?: string | string[] | undefined
  change?: (manifest: Manifest) => Manifest | undefined
}
export interface TarEntry {
  name: string | Uint8Array
  size?: number
  type?: string
  link?: string
  prefix?: string
  mode?: number
  change?: (block: Buffer) => void
}

export declare function filesOfRun(run: PlainRun, options: { version: string; after?: number }): Files
export declare function filesOfSession(text: string, options: { version: string }): Files
export declare function sealed(files: Record<string, string | Uint8Array>, sealing?: Sealing): Files
export declare function signatureOf(document: string | Uint8Array, privateKeys: string[]): string
export declare function isSignedBy(files: Files, publicKeys: string[]): boolean
export declare function blobPath(hash: string): string
export declare function problemsOf(files: Files): string[]
export declare function tarHeader(entry: TarEntry): Buffer
export declare function tarOf(
  entries: (Buffer | readonly [string | TarEntry, (string | Uint8Array)?])[],
  options?: { end?: Buffer },
): Buffer
export declare function filesOfTar(tar: Buffer): Files
export declare function zstdOf(data: Buffer, options?: { windowLog?: number; zeros?: number; at?: number }): Buffer
