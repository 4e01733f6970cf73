import { openSession, type OpenedSession } from 'session-tape'

import { type IContent, withoutStoredResponses as map } from './content.js'
import { verifyMedia, type MediaStore } from './media.js'

/** What reads the items of a session: `rows({ from?, to? })` and `items(from?, to?)`. */
export type Cursor = Pick<OpenedSession<IContent>, 'rows' | 'items'>

/** What a session is resumed with that is too large for memory: its items are read when they are wanted. */
export class ResumeCursorBoot {
  readonly cursor: Cursor
  /** The last record that was acknowledged when the session was resumed. */
  readonly watermark: number
  #session: Promise<OpenedSession<IContent>> | undefined
  #isClosed = false

  /** `session` is opened when it is first read, unless it is open already. */
  constructor(
    readonly filePath: string,
    readonly lastSeq: number,
    session?: OpenedSession<IContent>,
    private readonly mediaStore?: MediaStore,
  ) {
    this.watermark = lastSeq
    this.#session = session && Promise.resolve(session)
    const open = (): Promise<OpenedSession<IContent>> => this.#open()
    this.cursor = {
      items: async (from, to) => (await open()).items(from, to),
      async *rows(range) {
        yield* (await open()).rows(range)
      },
    }
  }

  async *streamRows(): AsyncGenerator<IContent, void, undefined> {
    for await (const row of this.cursor.rows()) {
      await verifyMedia(row, this.mediaStore)
      yield row
    }
  }

  /** The CLI's history has the references from now on. Nothing was reserved for them here. */
  async markMediaAdopted(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#session?.then(
      (session) => session.close(),
      () => {},
    )
  }

  #open(): Promise<OpenedSession<IContent>> {
    if (this.#isClosed) return Promise.reject(new Error('Resume boot is closed'))
    return (this.#session ??= opened(this.filePath, this.lastSeq))
  }
}

async function opened(filePath: string, throughSeq: number): Promise<OpenedSession<IContent>> {
  const result = await openSession<IContent>(filePath, undefined, { strict: true, throughSeq, map })
  if (!result.ok) throw new Error(result.error)
  return result.session
}
