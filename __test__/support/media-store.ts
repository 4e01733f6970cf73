/** Projects with sessions in `chats` and the store of their images beside it, as a CLI has them. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freshDirectory } from './bundles.js'
import { contentIdOf } from './plain-media'
import { session } from './session-file.js'
import type { Event } from './session-file.js'

/** An event with these blocks. */
export const shown = (...blocks: unknown[]): Event => ['content', { content: { speaker: 'human', blocks } }]

export const objectsOf = (mediaDir: string) => join(mediaDir, 'objects', 'sha256')
export const digitsOf = (contentId: string) => contentId.slice('sha256:'.length)

/** The file of the image with these bytes. */
export const objectIn = (mediaDir: string, image: string) => join(objectsOf(mediaDir), digitsOf(contentIdOf(image)))

/** Where it is in a bundle. */
export function pathInBundle(image: string): string {
  const digits = digitsOf(contentIdOf(image))
  return `media/${digits.slice(0, 2)}/${digits}`
}

export function storeOf(mediaDir: string, images: readonly string[]): string {
  mkdirSync(objectsOf(mediaDir), { recursive: true, mode: 0o700 })
  for (const image of images) writeFileSync(objectIn(mediaDir, image), image, { mode: 0o600 })
  return mediaDir
}

/** A new project with a session of these events, and a store of these images. */
export function projectWith(events: readonly (Event | string)[], images: readonly string[]) {
  const root = freshDirectory()
  const [chatsDir, mediaDir] = [join(root, 'chats'), join(root, 'media')]
  mkdirSync(chatsDir)
  const file = join(chatsDir, 'session-1.jsonl')
  writeFileSync(file, session(...events))
  storeOf(mediaDir, images)
  return { root, chatsDir, mediaDir, file }
}

/** The names in a store, each with whether its bytes have that hash. */
export function storedIn(mediaDir: string): Record<string, boolean> {
  const names = readdirSync(objectsOf(mediaDir)).sort()
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(objectsOf(mediaDir), name)))
        .digest('hex') === name,
    ]),
  )
}
