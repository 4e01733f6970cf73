import type { Files } from '../plain-bundle.mjs'

export declare function textsIn(bytes: Buffer, depth?: number): Set<string>
export declare function leaksOf(files: Files, secret: string): string[]
