import type { PlainRun } from './plain-run-engine.mjs'

/** Where the golden run is, with a separator at the end. */
export declare const GOLDEN: string

export declare function keysFromSeed(seed: string): { privateKey: string; publicKey: string }

export declare function goldenRun(): { run: PlainRun; expected: unknown }

export declare function damagedLog(
  log: Buffer,
  damage: { keep?: number; replace?: { at: number; text?: string; byte?: number }; lines?: number[] },
): Buffer
