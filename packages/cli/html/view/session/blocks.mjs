// The blocks of an item.

import { fileSize } from '../../../quantities.js'
import { blocksOf, captionsOf, isFailure, itemsOf } from '../../session/items.js'
import { content, details, el, elWith } from '../dom.mjs'
import { codeView, markdownView } from '../markdown.mjs'
import { briefly, cutsBelow, fieldsBriefly, leftOutView, valueView } from '../payload.mjs'
import { lengthOf } from '../quantities.mjs'
import { lineLink } from './words.mjs'

/**
 * @typedef {object} Place of a block
 * @property {import('./model.mjs').Conversation} page
 * @property {number} line
 * @property {number} index of the block in its item
 * @property {object[]} cuts with paths relative to the block
 * @property {number} [image] the index of its image, if the page has that
 */

/** @type {Record<string, (block: object, place: Place) => unknown>} A view is null for a block that is not as it should be. */
const BLOCKS = {
  text: ({ text }, { cuts }) => withCut(text, cuts, '/text', markdownView),
  thinking: thinkingView,
  code: codeBlock,
  tool_call: callView,
  tool_response: responseView,
  media: mediaView,
}

/** The names of the texts of blocks of a kind that the page does not know, and of thinking. */
const TEXTS = ['thought', 'thinking', 'text', 'code']
/** Longer thinking is folded. */
const SHORT_THINKING = 300

export function blockView(block, place) {
  if (typeof block !== 'object' || block === null) return valueView(block, place.cuts)
  const known = typeof block.type === 'string' && Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type] : null
  return known?.(block, place) ?? valueView(block, place.cuts)
}

/** Shows a text that may be cut; null for anything else, which is shown as JSON. */
function withCut(text, cuts, path, view) {
  if (typeof text !== 'string') return null
  const cut = cuts.find((each) => each.path === path)
  return cut ? el('div', view(text.slice(0, cut.at)), leftOutView(cut, 'p'), view(text.slice(cut.at))) : view(text)
}

function thinkingView(block, { line, index, cuts }) {
  const name = TEXTS.find((each) => typeof block[each] === 'string')
  if (name === undefined) return null
  const text = block[name]
  const body = () => withCut(text, cuts, `/${name}`, markdownView)
  if (text.length <= SHORT_THINKING) return el('div.thinking', el('span.thinking-label', 'Thinking'), body())
  const summary = ['Thinking', content('span.brief', ` ${briefly(text, 160)}`)]
  return details('.thinking', `thinking ${line} ${index}`, summary, body)
}

function codeBlock({ code, language: named }, { cuts }) {
  const language = typeof named === 'string' ? named : ''
  const view = withCut(code, cuts, '/code', (part) => codeView(part, language))
  return view === null || language === '' ? view : el('div', content('p.media', briefly(language, 100)), view)
}

function mediaView(block, { page, cuts, image }) {
  const { data, encoding } = block
  const type = typeof block.mimeType === 'string' ? block.mimeType : 'of an unknown type'
  const captions = captionsOf(block).map((caption) => briefly(caption, 400))
  const caption = captions.length > 0 ? content('figcaption', captions.join(', ')) : null
  if (image !== undefined) {
    const attributes = { src: page.image(image), alt: `Image (${type})`, decoding: 'async' }
    return el('figure.media', elWith('img', attributes), caption)
  }
  const named = [type, ...captions].join(', ')
  if (encoding === 'url' && typeof data === 'string')
    return el('p.media', content('span', `${named} at ${briefly(data, 400)}`))
  if (encoding === 'reference') return cardView(block, type, caption)
  const about = el('p.media', content('span', `${named}, not shown here`))
  return /^(?:text\/|image\/svg)/.test(type) && typeof data === 'string'
    ? el('div', about, valueView(data, cutsBelow(cuts, '/data')))
    : about
}

/** An image that the page does not have: what the recording says of it. */
function cardView({ dimensions, byteLength, contentId }, type, caption) {
  const size = Number.isFinite(byteLength) && byteLength >= 0 ? fileSize(byteLength) : null
  const { width, height } = dimensions ?? {}
  const pixels = Number.isFinite(width) && Number.isFinite(height) ? `${width} × ${height}` : null
  const facts = [type, pixels, size, 'not shown here'].filter((fact) => fact !== null)
  const id = typeof contentId === 'string' ? el('p.id', content('code', briefly(contentId, 100))) : null
  return el('figure.media.card', content('p', facts.join(', ')), caption, id)
}

const STATES = {
  failed: ['✗', 'failed'],
  open: ['…', 'without a result'],
  done: ['✓', 'succeeded'],
  copied: ['↺', 'recorded before'],
}

/**
 * The calls and responses that edits bring again, each with its partner in the same edit: of a call, the response and its cuts. Null if the
 * partner is not there.
 */
const partners = new WeakMap()

/** Finds the partners among the items of an edit. */
export function pairWithin(items, cuts) {
  const open = new Map()
  for (const { item, path } of items) {
    for (const [index, block] of blocksOf(item).entries()) {
      if (block?.type === 'tool_call') {
        partners.set(block, null)
        open.set(block.id, block)
      } else if (block?.type === 'tool_response') {
        const call = open.get(block.callId) ?? null
        partners.set(block, call)
        if (call) partners.set(call, { block, cuts: cutsBelow(cuts, `${path}/blocks/${index}`) })
        open.delete(block.callId)
      }
    }
  }
}

const isNamed = (name) => typeof name === 'string' && name !== ''

/** What the summary of a call or a response says. */
function toolSummary(state, name, brief, ms = null) {
  const [mark, says] = STATES[state]
  return [
    elWith(`span.state.${state}`, { 'aria-hidden': 'true' }, mark),
    content('span.tool-name', name),
    ' ',
    content('span.brief', fieldsBriefly(brief)),
    el('span.unseen', `, ${says}`),
    ms === null ? null : el('span.took', lengthOf(ms)),
  ]
}

/** A call, folded, with arguments and result side by side. */
function callView(block, { page, line, index, cuts }) {
  const call = page.callOf(line, index)
  const response = call ? responseOf(page, call) : partners.get(block)
  const answered = response && (isFailure(response.block.error) ? 'failed' : 'done')
  const state = answered || (partners.has(block) ? 'copied' : 'open')
  const name = isNamed(block.name) ? block.name : '(unnamed)'
  return details(
    `.call.${state}`,
    `call ${line} ${index}`,
    toolSummary(state, name, block.parameters, call?.ms ?? null),
    () =>
      el(
        'div.call-parts',
        el('section.call-part', el('h4', 'Arguments'), valueView(block.parameters, cutsBelow(cuts, '/parameters'))),
        el('section.call-part', ...resultPart(call, response, state)),
      ),
  )
}

function resultPart(call, response, state) {
  if (!response) {
    const where = state === 'copied' ? 'edit' : 'recording'
    return [el('h4', 'Result'), el('p.note', `There is none in this ${where}.`)]
  }
  const link = call ? [', ', lineLink(call.responseLine)] : []
  const views = resultViews(response.block, response.cuts)
  const title = el('h4', el('span', state === 'failed' ? 'Failed' : 'Result', ...link))
  return [title, ...(views.length > 0 ? views : [el('p.note', 'Nothing.')])]
}

/** The error and the result of a response, as far as there are any. */
const resultViews = ({ error, result }, cuts) => [
  ...(isFailure(error) ? [valueView(error, cutsBelow(cuts, '/error'), '.error')] : []),
  ...(result === undefined || result === null || result === '' ? [] : [valueView(result, cutsBelow(cuts, '/result'))]),
]

/** The response to a call, or null. */
function responseOf(page, { responseLine, responseBlock }) {
  const row = page.rowOf.get(responseLine)
  if (row === undefined) return null
  const payload = page.payload(row)
  const [found] = itemsOf(page.rows[row].type, payload.value)
  const block = found?.item.blocks?.[responseBlock]
  return block ? { block, cuts: cutsBelow(payload.cuts, `${found.path}/blocks/${responseBlock}`) } : null
}

/** A response, folded, with a link to its call if the recording contains it. */
function responseView(block, { page, line, index, cuts }) {
  const call = page.answeredBy(line, index)
  const failed = isFailure(block.error)
  const name = [block.toolName, call?.name, partners.get(block)?.name].find(isNamed) ?? '(unnamed)'
  const summary = toolSummary(failed ? 'failed' : 'done', name, failed ? block.error : (block.result ?? ''))
  const view = details('.response', `response ${line} ${index}`, summary, () => resultViews(block, cuts))
  return el('div.response-row', view, originOf(block, call))
}

/** Which call a response answers; null for one that an edit brings without its call. */
function originOf(block, call) {
  if (call) return el('span.origin', 'to the call at ', lineLink(call.line))
  if (!partners.has(block)) return el('span.origin', 'to no call in this recording')
  return partners.get(block) ? el('span.origin', 'to its call above') : null
}
