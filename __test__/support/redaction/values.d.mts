export type Random = (below: number) => number
export type Value = string | ((random: Random) => string)

export declare const SEED: string
export declare function randomOf(text: string): Random
export declare function textOf(pattern: string, random: Random): string
export declare function oneOf(patterns: readonly string[]): (random: Random) => string
export declare const HEX32: string
export declare const UUID: string
export declare const BASE64: string
export declare const generated: (random: Random) => string
export declare const plain: (random: Random) => string
export declare const chosen: (random: Random) => string
