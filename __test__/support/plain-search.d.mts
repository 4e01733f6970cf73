import type { SearchOptions, SessionHit } from '../../index.js'

export declare function searchBytes(
  bytes: Uint8Array,
  query: string,
  options?: SearchOptions & { expression?: string | undefined },
): Omit<SessionHit, 'filePath' | 'archived'>[]
