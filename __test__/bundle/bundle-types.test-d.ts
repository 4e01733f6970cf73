// The types of bundles, checked by the compiler: nothing here is executed.
import { describe, expectTypeOf, test } from 'vitest'

import {
  exportBundle,
  importBundle,
  verifyBundle,
  type BundleCode,
  type BundleError,
  type BundleInfo,
  type BundleLimits,
  type BundleProblem,
  type ExportOptions,
  type Progress,
  type RunError,
  type VerifyBundleOptions,
} from '../../index.js'

describe('bundles', () => {
  test('match the specification', () => {
    interface SpecifiedInfo {
      bundleId: string
      kind: 'run' | 'session'
      path: string
      files: number
      bytes: number
      events: number
      redactions: number
      partial: boolean
      media?: { sealed: number; missing: number; bytes: number; dropped?: number }
    }
    interface SpecifiedProblem {
      code: string
      path?: string
      message: string
    }
    interface SpecifiedLimits {
      lineBytes: number
      blobBytes: number
      files: number
      expansion: number
      totalBytes: number
    }
    expectTypeOf<BundleInfo>().toEqualTypeOf<SpecifiedInfo>()
    expectTypeOf<BundleProblem>().toExtend<SpecifiedProblem>()
    expectTypeOf<SpecifiedProblem>().toExtend<BundleProblem>()
    expectTypeOf<BundleLimits>().toEqualTypeOf<SpecifiedLimits>()
    expectTypeOf(exportBundle).returns.resolves.toEqualTypeOf<BundleInfo>()
    expectTypeOf(importBundle).returns.resolves.toEqualTypeOf<BundleInfo>()
    expectTypeOf(verifyBundle).returns.resolves.toExtend<{
      ok: boolean
      info: SpecifiedInfo | null
      problems: SpecifiedProblem[]
    }>()
  })

  test('take the options of the specification, and undefined for any', () => {
    interface SpecifiedExport {
      fromSnapshot?: string | 'latest'
      signWith?: string
      redact?:
        | {
            builtin?: boolean
            rules?: { name: string; pattern?: string; path?: string; kinds?: string[]; tools?: string[] }[]
          }
        | false
      level?: number
      mediaDir?: string
      media?: 'skip' | 'drop'
      onProgress?: (progress: Progress) => void
      signal?: AbortSignal
    }
    interface SpecifiedVerify {
      trustedKeys?: string[]
      signature?: 'required' | 'ifPresent' | 'ignore'
      limits?: Partial<BundleLimits>
      onProgress?: (progress: Progress) => void
      signal?: AbortSignal
    }
    expectTypeOf<SpecifiedExport>().toExtend<ExportOptions>()
    expectTypeOf<SpecifiedVerify>().toExtend<VerifyBundleOptions>()
    expectTypeOf<{ level: undefined; signal: undefined }>().toExtend<ExportOptions>()
    expectTypeOf<{ limits: { files: undefined } }>().toExtend<VerifyBundleOptions>()
    // @ts-expect-error An unknown policy.
    void verifyBundle('x', { signature: 'always' })
    // @ts-expect-error An unknown limit.
    void verifyBundle('x', { limits: { lines: 1 } })
    // @ts-expect-error Keys are strings.
    void exportBundle('x', 'y', { signWith: Buffer.from('') })
  })

  test('have problems with known codes as literal types, and allow other codes', () => {
    expectTypeOf<'WrongHash'>().toExtend<BundleCode>()
    expectTypeOf<string>().toExtend<BundleProblem['code']>()
    expectTypeOf<BundleError>().toExtend<Error>()
    expectTypeOf<BundleError['problems']>().toEqualTypeOf<BundleProblem[] | undefined>()
    expectTypeOf<RunError['problems']>().toEqualTypeOf<BundleProblem[] | undefined>()
  })
})
