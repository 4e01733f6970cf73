'use strict'

// Extracts the images of items, to embed them completely: a truncated image shows nothing.

const { isObject } = require('../../session/values.js')

/** The types of images that a browser decodes without running anything. SVG is not among them: it is shown as text. */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The maximum sizes of one image and of all images, in characters of base64. */
const MAX_IMAGE = 4 << 20
const ALL_IMAGES = 6 << 20

class Images {
  /** `data:` URLs. */
  urls = []
  #indices = new Map()
  #room

  constructor(room = ALL_IMAGES) {
    this.#room = room
  }

  /**
   * @param {any} payload that of a record
   * @returns {{ payload: any, images: Record<string, number> }} the payload without the data of the images in its items, and the indices of the images
   * by the paths of their blocks in the payload
   */
  takeFrom(payload) {
    const images = {}
    if (!isObject(payload)) return { payload, images }
    const taken = { ...payload }
    const item = (value, path) => this.#takeFromItem(value, path, images)
    for (const name of ['content', 'summary']) if (isObject(payload[name])) taken[name] = item(payload[name], `/${name}`)
    const { replacements, history } = payload
    if (Array.isArray(replacements)) {
      taken.replacements = replacements.map((one, at) =>
        isObject(one) && isObject(one.replacement) ? { ...one, replacement: item(one.replacement, `/replacements/${at}/replacement`) } : one,
      )
    }
    if (Array.isArray(history)) taken.history = history.map((one, at) => (isObject(one) ? item(one, `/history/${at}`) : one))
    return { payload: taken, images }
  }

  #takeFromItem(item, path, images) {
    if (!Array.isArray(item.blocks)) return item
    const blocks = item.blocks.map((block, at) => {
      const index = this.#indexOf(block)
      if (index === undefined) return block
      images[`${path}/blocks/${at}`] = index
      return { ...block, data: '' }
    })
    return { ...item, blocks }
  }

  /** The index of the image of a block, if it is embedded. An edit brings again what the history already had, so each image is embedded once. */
  #indexOf(block) {
    if (block?.type !== 'media' || block.encoding !== 'base64' || !TYPES.has(block.mimeType)) return undefined
    const { mimeType, data } = block
    if (typeof data !== 'string' || data.length > MAX_IMAGE) return undefined
    const url = `data:${mimeType};base64,${data}`
    return this.#indices.get(url) ?? (data.length <= this.#room && BASE64.test(data) ? this.#add(url, data) : undefined)
  }

  #add(url, data) {
    const index = this.urls.push(url) - 1
    this.#indices.set(url, index)
    this.#room -= data.length
    return index
  }
}

module.exports = { Images }
