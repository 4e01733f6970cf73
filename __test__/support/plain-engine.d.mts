import type { ReplayOptions, ReplayResult, SessionLine, SessionPreview, SessionStartPayload } from '../../index.js'

export declare function replayBytes<C = unknown>(
  bytes: Uint8Array,
  expectedProjectHash?: string,
  options?: Pick<ReplayOptions, 'throughSeq' | 'auditTrail' | 'strict'>,
): ReplayResult<C>

export declare function replayFileWithReadline<C = unknown>(
  filePath: string,
  expectedProjectHash?: string,
  options?: Pick<ReplayOptions, 'throughSeq' | 'auditTrail' | 'strict' | 'signal'>,
): Promise<ReplayResult<C>>

export declare function readHeaderWithReadline(filePath: string): Promise<SessionStartPayload | null>

export declare function previewOfBytes(bytes: Uint8Array, length: number): SessionPreview

export declare function titleOfBytes(bytes: Uint8Array): string | null | undefined

export declare function headerOfBytes(bytes: Uint8Array): SessionStartPayload | null

export declare function recordsOfBytes(bytes: Uint8Array, options?: { strict?: boolean }): SessionLine[]
export declare function historiesOfBytes(bytes: Uint8Array, options?: { strict?: boolean }): number[][]

export declare function finalPlacesOfBytes(bytes: Uint8Array): { line: number; pointer: string }[]
