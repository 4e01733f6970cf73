// Images that a session refers to, in the page: from the store beside the directory of sessions, or from a bundle.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { crc32, deflateSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { archiveSession, exportBundle, importBundle } from '../../index.js'
import { shown } from '../support/command-line'
import { reference } from '../support/plain-media.js'
import { session, sessionDirectory } from '../support/session-file.js'
import { CHROMIUM, NO_CHROMIUM, freshFile, launch, open, part, seriousFindings, sourceOf } from '../support/view-page'

type Block = ReturnType<typeof reference>

/** A picture of one grey, as PNG. `noise` makes each other one, and larger. */
function png(width: number, height: number, noise = 0): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const around = Buffer.alloc(8)
    around.writeUInt32BE(data.length, 0)
    around.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc((width + 1) * height, noise % 251)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows, { level: noise > 1000 ? 0 : 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const dimensions = (width: number, height: number) => ({ width, height })
const hashOf = ({ contentId }: Block) => (contentId as string).slice('sha256:'.length)

/** A project: a session whose records have these blocks, and the store with these objects. */
function project(blocks: unknown[], objects: Buffer[]): { log: string; objectOf: (bytes: Buffer) => string } {
  const root = mkdtempSync(join(sessionDirectory(), 'project-'))
  const store = join(root, 'media/objects/sha256')
  mkdirSync(store, { recursive: true })
  mkdirSync(join(root, 'chats'))
  const objectOf = (bytes: Buffer) => join(store, hashOf(reference(bytes)))
  for (const bytes of objects) writeFileSync(objectOf(bytes), bytes)
  const log = join(root, 'chats', 'session-one.jsonl')
  writeFileSync(
    log,
    session(...blocks.map((block) => ['content', { content: { speaker: 'human', blocks: [block] } }] as const)),
  )
  return { log, objectOf }
}

describe.skipIf(CHROMIUM === undefined)(
  `images that a session refers to${CHROMIUM === undefined ? ` (${NO_CHROMIUM})` : ''}`,
  () => {
    let browser: Browser
    beforeAll(async () => void (browser = await launch()))
    afterAll(() => browser?.close())

    async function pageOf(log: string, options: Parameters<typeof open>[2] = {}) {
      const out = freshFile('page.html')
      await shown(['view', log, '--html', out])
      return open(browser, pathToFileURL(out).href, options)
    }
    const widthsIn = ({ page }: Awaited<ReturnType<typeof pageOf>>) =>
      page.locator('img').evaluateAll((images) => images.map((each) => (each as HTMLImageElement).naturalWidth))

    test('are shown, each embedded once, of a session and of its archive', async () => {
      const [one, two] = [png(3, 2), png(5, 4)]
      const { log } = project([reference(one), reference(two), reference(one), reference(one, two)], [one, two])
      const opened = await pageOf(log)
      expect(await widthsIn(opened)).toEqual([3, 5, 3, 5])
      expect(await opened.page.locator('figcaption').first().textContent()).toBe('a caption')
      expect(await opened.page.evaluate('JSON.parse(document.getElementById("images").textContent).length')).toBe(2)
      expect(opened.complaints).toEqual([])
      expect(await widthsIn(await pageOf((await archiveSession(log)).filePath))).toEqual([3, 5, 3, 5])
    })

    test('that are missing, cut off, altered, too large or of a type that is not shown are cards', async () => {
      const [missing, cutOff, altered, good] = [png(1, 1), png(2, 1), png(4, 1), png(6, 1)]
      const [large, drawing] = [png(2000, 1600, 1001), Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')]
      const changes = { mimeType: 'image/svg+xml' }
      const ofDrawing = { ...reference(drawing, drawing, changes) }
      const { log, objectOf } = project(
        [
          ...[missing, cutOff, altered].map((each) => reference(each)),
          reference(large, large, {
            dimensions: dimensions(2000, 1600),
            caption: 'The tide\u202e',
            filename: 'tide.png',
          }),
          ofDrawing,
          reference(good),
        ],
        [cutOff, altered, large, drawing, good],
      )
      truncateSync(objectOf(cutOff), 20)
      writeFileSync(objectOf(altered), Buffer.concat([altered.subarray(0, -1), Buffer.from([altered.at(-1)! ^ 1])]))
      const opened = await pageOf(log)
      expect(await widthsIn(opened)).toEqual([6])
      const cards = await opened.page.locator('figure.card').allInnerTexts()
      expect(cards).toHaveLength(5)
      expect(cards[0]).toContain(`image/png, 3 × 2, ${missing.length} bytes, not shown here`)
      expect(cards[0]).toContain(reference(missing).contentId as string)
      expect(cards[3]).toMatch(/^image\/png, 2000 × 1600, 3\.1 MiB, not shown here\s+tide\.png, The tide/)
      expect(cards[4]).toContain('image/svg+xml')
      expect(opened.complaints).toEqual([])
      expect(await seriousFindings(opened.page)).toEqual([])
    })

    test('are embedded up to 32 MiB a page, and the last ones are cards', async () => {
      const images = Array.from({ length: 14 }, (_, at) => png(1700, 1480, 1001 + at))
      const { log } = project(
        images.map((each) => reference(each)),
        images,
      )
      const { conversation } = await part('session/gather').gather({
        ...sourceOf(log),
        objectAt: (hash: string) => join(dirname(dirname(log)), 'media/objects/sha256', hash),
      })
      expect(conversation.images.urls).toHaveLength(Math.floor((32 << 20) / (Math.ceil(images[0]!.length / 3) * 4)))
      expect((await pageOf(log)).complaints).toEqual([])
    })

    test.each([
      ['light', 420],
      ['light', 1300],
      ['dark', 420],
      ['dark', 1300],
    ] as const)('stay within the window (%s, %i px)', async (colorScheme, width) => {
      const [wide, missing] = [png(1900, 300), png(7, 7)]
      const { log } = project(
        [
          reference(wide, wide, { caption: 'wide'.repeat(60) }),
          reference(missing, missing, { caption: `${'long'.repeat(300)} ${'word '.repeat(50)}` }),
        ],
        [wide],
      )
      const { page } = await pageOf(log, { colorScheme, viewport: { width, height: 800 } })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      expect(
        await page
          .locator('figure')
          .evaluateAll((figures) => figures.map((each) => each.getBoundingClientRect().right)),
      ).toSatisfy((rights: number[]) => rights.every((right) => right <= width))
      expect(await seriousFindings(page)).toEqual([])
    })

    test('are found through a linked directory, and in a bundle that was unpacked, whose store has gone', async () => {
      const one = png(3, 2)
      const { log } = project([reference(one)], [one])
      const root = dirname(dirname(log))
      const link = join(mkdtempSync(join(sessionDirectory(), 'link-')), 'chats')
      symlinkSync(join(root, 'chats'), link)
      expect(await widthsIn(await pageOf(join(link, 'session-one.jsonl')))).toEqual([3])
      const [bundle, imported] = [join(root, 'b.cath-bundle.tar.zst'), join(root, 'imported/chats')]
      await exportBundle(log, bundle)
      mkdirSync(dirname(imported))
      await importBundle(bundle, imported)
      rmSync(join(root, 'media'), { recursive: true })
      for (const shownPath of [bundle, imported, join(imported, 'session.jsonl')])
        expect(await widthsIn(await pageOf(shownPath))).toEqual([3])
    })

    test('an object that is a directory, or whose store has gone, costs no page', async () => {
      const [one, two] = [png(3, 3), png(3, 4)]
      const { log, objectOf } = project([reference(one), reference(two)], [one, two])
      rmSync(objectOf(one))
      mkdirSync(objectOf(one))
      expect(await widthsIn(await pageOf(log))).toEqual([3])
      rmSync(join(dirname(dirname(log)), 'media'), { recursive: true })
      expect(await widthsIn(await pageOf(log))).toEqual([])
    })
  },
)
