'use strict'

// Extracts the images of items, to embed them completely: a truncated image shows nothing.

const { createHash } = require('node:crypto')
const { closeSync, constants, fstatSync, openSync, readFileSync } = require('node:fs')
const { blocksOf, itemsOf } = require('./items.js')

/** @import { Fields, MaybeFields } from './items.js' */

/** The types of images that a browser decodes without running anything. SVG is not among them: it is shown as text. @type {Set<unknown>} */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const CONTENT_ID = /^sha256:([0-9a-f]{64})$/

/** The maximum sizes of one image and of all images, in characters of base64. */
const MAX_IMAGE = 4 << 20
const ALL_IMAGES = 32 << 20

/** The path of the object with a hash, in the store of a session or in its bundle. @typedef {(hash: string) => string} ObjectAt */

class Images {
  /** `data:` URLs. @type {string[]} */
  urls = []
  /** `undefined` for an object that can't be embedded. @type {Map<string, number | undefined>} */
  #indices = new Map()
  #objectAt
  #room

  /** @param {ObjectAt} [objectAt] without it, images that are references are not embedded */
  constructor(objectAt, room = ALL_IMAGES) {
    this.#objectAt = objectAt
    this.#room = room
  }

  /**
   * Takes the images out of the items in a payload, whose blocks are left without their data, and reads those that blocks refer to.
   *
   * @param {unknown} type of the event
   * @param {unknown} payload
   * @returns {Record<string, number>} the indices of the images by the paths of their blocks in the payload
   */
  takeFrom(type, payload) {
    /** @type {Record<string, number>} */
    const images = {}
    for (const { item, path } of itemsOf(type, payload)) {
      for (const [at, block] of /** @type {Fields[]} */ (blocksOf(item)).entries()) {
        const index = this.#indexOf(block)
        if (index === undefined) continue
        images[`${path}/blocks/${at}`] = index
        if (block.encoding === 'base64') block.data = ''
      }
    }
    return images
  }

  /**
   * The index of the image of a block, if it is embedded. An edit brings again what the history already had, so each image is embedded once.
   *
   * @param {MaybeFields} block
   */
  #indexOf(block) {
    if (block?.type !== 'media' || !TYPES.has(block.mimeType)) return undefined
    const { mimeType, encoding, data, contentId } = block
    if (encoding === 'reference') return this.#objectOf(block, `${mimeType} ${contentId} ${block.byteLength}`)
    if (encoding !== 'base64' || typeof data !== 'string' || data.length > MAX_IMAGE) return undefined
    const url = `data:${mimeType};base64,${data}`
    return this.#indices.get(url) ?? (data.length <= this.#room && BASE64.test(data) ? this.#add(url, url) : undefined)
  }

  /** @type {(block: Fields, key: string) => number | undefined} */
  #objectOf(block, key) {
    if (!this.#indices.has(key)) this.#indices.set(key, this.#addObject(block, key))
    return this.#indices.get(key)
  }

  /** @type {(block: Fields, key: string) => number | undefined} */
  #addObject({ mimeType, contentId, byteLength }, key) {
    const hash = typeof contentId === 'string' ? CONTENT_ID.exec(contentId)?.[1] : undefined
    if (hash === undefined || this.#objectAt === undefined) return undefined
    // What it takes as base64, so that nothing is read for which there is no room.
    const length = typeof byteLength === 'number' ? Math.ceil(byteLength / 3) * 4 : Infinity
    if (!(length <= Math.min(MAX_IMAGE, this.#room))) return undefined
    const bytes = bytesOf(this.#objectAt(hash), hash, byteLength)
    return bytes && this.#add(`data:${mimeType};base64,${bytes.toString('base64')}`, key)
  }

  /** @type {(url: string, key: string) => number} */
  #add(url, key) {
    const index = this.urls.push(url) - 1
    this.#indices.set(key, index)
    this.#room -= url.length
    return index
  }
}

/**
 * The bytes of an object. `undefined` if it is missing, or is not what its name says.
 *
 * @type {(path: string, hash: string, byteLength: unknown) => Buffer | undefined}
 */
function bytesOf(path, hash, byteLength) {
  try {
    // A pipe in its place is not waited for.
    const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const found = fstatSync(file)
      if (!found.isFile() || found.size !== byteLength) return undefined
      const bytes = readFileSync(file)
      return createHash('sha256').update(bytes).digest('hex') === hash ? bytes : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

module.exports = { Images }
