/**
 * References to media, in plain JavaScript from section 10 of docs/session-format.md: what is one, and which images the sweep of a CLI finds named in
 * a text.
 */
import { createHash } from 'node:crypto'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const isId = (value: unknown) => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
const hasDimensions = ({ dimensions }: Json) =>
  dimensions === undefined ||
  (isObject(dimensions) && typeof dimensions.width === 'number' && typeof dimensions.height === 'number')
const isStored = (value: unknown): value is Json =>
  isObject(value) &&
  isId(value.contentId) &&
  typeof value.mimeType === 'string' &&
  Number.isSafeInteger(value.byteLength) &&
  (value.byteLength as number) >= 0 &&
  value.normalizedBase64Length === Math.ceil((value.byteLength as number) / 3) * 4 &&
  hasDimensions(value)
const factsOf = ({ contentId, mimeType, byteLength, dimensions }: Json) =>
  JSON.stringify([
    contentId,
    mimeType,
    byteLength,
    dimensions && [(dimensions as Json).width, (dimensions as Json).height],
  ])

export function isReference(value: unknown): boolean {
  if (
    !isObject(value) ||
    value.type !== 'media' ||
    value.encoding !== 'reference' ||
    'data' in value ||
    'sourcePath' in value
  )
    return false
  const { originalObject: original, selectedObject: selected } = value
  if (!isStored(value) || !isStored(original) || !isStored(selected)) return false
  return (
    value.originalContentId === original.contentId &&
    value.selectedContentId === selected.contentId &&
    factsOf(value) === factsOf(selected) &&
    (original.contentId !== selected.contentId || factsOf(original) === factsOf(selected))
  )
}

/** Whether a value has a reference at any depth. */
export function hasReference(value: unknown): boolean {
  return isReference(value) || (typeof value === 'object' && value !== null && Object.values(value).some(hasReference))
}

export const contentIdOf = (bytes: string | Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** What a reference says of an object. */
export function stored(bytes: string | Buffer, changes: Json = {}): Json {
  const byteLength = Buffer.byteLength(bytes)
  return {
    contentId: contentIdOf(bytes),
    mimeType: 'image/png',
    byteLength,
    normalizedBase64Length: Math.ceil(byteLength / 3) * 4,
    dimensions: { width: 3, height: 2 },
    ...changes,
  }
}

/** A reference to the images with these bytes. */
export function reference(original: string | Buffer, selected = original, changes: Json = {}): Json {
  const [originalObject, selectedObject] = [stored(original), stored(selected)]
  return {
    type: 'media',
    encoding: 'reference',
    ...selectedObject,
    originalContentId: originalObject.contentId,
    selectedContentId: selectedObject.contentId,
    originalObject,
    selectedObject,
    transformation: { policyId: 'identity', policyVersion: 1, parameters: {} },
    semanticMetadata: {},
    caption: 'a caption',
    ...changes,
  }
}

/** The ids that the sweep of a CLI finds in a text. */
export const idsNamedIn = (text: string): string[] =>
  [...new Set(Array.from(text.matchAll(/"contentId"\s*:\s*"(sha256:[0-9a-f]{64})"/g), ([, id]) => id!))].sort()
