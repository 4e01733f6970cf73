'use strict'

// Extracts the images of items, to embed them completely: a truncated image shows nothing.

const { blocksOf, itemsOf } = require('../view/session/items.js')

/** @import { Fields, MaybeFields } from '../view/session/items.js' */

/** The types of images that a browser decodes without running anything. SVG is not among them: it is shown as text. @type {Set<unknown>} */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The maximum sizes of one image and of all images, in characters of base64. */
const MAX_IMAGE = 4 << 20
const ALL_IMAGES = 6 << 20

class Images {
  /** `data:` URLs. @type {string[]} */
  urls = []
  /** @type {Map<string, number>} */
  #indices = new Map()
  #room

  constructor(room = ALL_IMAGES) {
    this.#room = room
  }

  /**
   * Takes the images out of the items in a payload, whose blocks are left without their data.
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
        block.data = ''
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
    if (block?.type !== 'media' || block.encoding !== 'base64' || !TYPES.has(block.mimeType)) return undefined
    const { mimeType, data } = block
    if (typeof data !== 'string' || data.length > MAX_IMAGE) return undefined
    const url = `data:${mimeType};base64,${data}`
    return this.#indices.get(url) ?? (data.length <= this.#room && BASE64.test(data) ? this.#add(url, data) : undefined)
  }

  /** @type {(url: string, data: string) => number} */
  #add(url, data) {
    const index = this.urls.push(url) - 1
    this.#indices.set(url, index)
    this.#room -= data.length
    return index
  }
}

module.exports = { Images }
