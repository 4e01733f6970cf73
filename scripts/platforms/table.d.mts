import type { Facts } from './toolchain.mjs'

export function table(addons: { file: string; facts: Facts; problems: string[] }[]): string
