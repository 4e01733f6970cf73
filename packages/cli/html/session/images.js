'use strict'

// Extracts the images of an item, to embed them completely: a truncated image shows nothing.

/** The types of images that a browser decodes without running anything. SVG is not among them: it is shown as text. */
const TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The maximum sizes of one image and of all images, in characters of base64. */
const LARGEST_IMAGE = 4 << 20
const ALL_IMAGES = 6 << 20

class Images {
  /** `data:` URLs. */
  urls = []
  #room

  constructor(room = ALL_IMAGES) {
    this.#room = room
  }

  /**
   * @param {{ blocks?: unknown }} item
   * @returns {{ item: object, images: Record<number, number> }} the item without the data of its images, and the indices of the images by the
   * indices of their blocks
   */
  takeFrom(item) {
    const images = {}
    if (!Array.isArray(item.blocks)) return { item, images }
    const blocks = item.blocks.map((block, index) => {
      if (!this.#isEmbedded(block)) return block
      images[index] = this.urls.push(`data:${block.mimeType};base64,${block.data}`) - 1
      this.#room -= block.data.length
      return { ...block, data: '' }
    })
    return { item: { ...item, blocks }, images }
  }

  #isEmbedded(block) {
    if (block?.type !== 'media' || block.encoding !== 'base64' || !TYPES.has(block.mimeType)) return false
    const { data } = block
    return typeof data === 'string' && data.length <= Math.min(LARGEST_IMAGE, this.#room) && BASE64.test(data)
  }
}

module.exports = { Images }
