// The blocks of an item.

const BLOCKS = {
  text: (page, row, index, { text }, cuts) => prose(text, cuts, '/text'),
  thinking: (page, row, index, block, cuts) => thinkingView(page, row, index, block, cuts),
  code: (page, row, index, { code, language }, cuts) =>
    codeBlock(code, typeof language === 'string' ? language : '', cuts),
  tool_call: callView,
  tool_response: responseView,
  media: mediaView,
}

/** The names of the texts of blocks of a kind that the page does not know, and of thinking. */
const TEXTS = ['thought', 'thinking', 'text', 'code']

/** `image` is the index of its image, if the page has that. */
function blockView(page, row, index, block, cuts, image) {
  if (typeof block !== 'object' || block === null) return valueView(block, cuts)
  const known = typeof block.type === 'string' && Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type] : null
  return known?.(page, row, index, block, cuts, image) ?? valueView(block, cuts)
}

const prose = (text, cuts, path) => withCut(text, cuts, path, markdownView)

/** Shows a text that may be cut; null for anything else, which is shown as JSON. */
function withCut(text, cuts, path, view) {
  if (typeof text !== 'string') return null
  const cut = cuts.find((each) => each.path === path)
  if (!cut) return view(text)
  return el('div', view(text.slice(0, cut.at)), el('p.left-out', leftOut(cut)), view(text.slice(cut.at)))
}

function thinkingView(page, row, index, block, cuts) {
  const name = TEXTS.find((each) => typeof block[each] === 'string')
  if (name === undefined) return null
  const text = block[name]
  const summary = el('summary', 'Thinking', text.length > 300 ? content('span.brief', ` ${briefly(text, 160)}`) : null)
  const body = () => [prose(text, cuts, `/${name}`)]
  const view =
    text.length > 300
      ? details(`thinking ${page.rows[row].line} ${index}`, summary, body)
      : el('div', el('span.thinking-label', 'Thinking'), ...body())
  view.classList.add('thinking')
  return view
}

function codeBlock(code, language, cuts) {
  const view = withCut(code, cuts, '/code', (part) => codeView(part, language))
  return view === null || language === '' ? view : el('div', content('p.media', briefly(language, 100)), view)
}

function mediaView(page, row, index, block, cuts, image) {
  const type = typeof block.mimeType === 'string' ? block.mimeType : 'of an unknown type'
  const captions = captionsOf(block).map((caption) => briefly(caption, 400))
  if (image !== undefined) return imageView(page.image(image), type, captions)
  const { data, encoding } = block
  const named = [type, ...captions].join(', ')
  if (encoding === 'url' && typeof data === 'string')
    return el('p.media', content('span', `${named} at ${briefly(data, 400)}`))
  if (encoding === 'reference') return cardView(block, type, captions)
  const about = el('p.media', content('span', `${named}, not shown here`))
  return /^(?:text\/|image\/svg)/.test(type) && typeof data === 'string'
    ? el('div', about, valueView(data, cutsBelow(cuts, '/data')))
    : about
}

/** An image that the page does not have: what the recording says of it. */
function cardView({ dimensions, byteLength, contentId }, type, captions) {
  const size = Number.isFinite(byteLength) && byteLength >= 0 ? fileSize(byteLength) : null
  const { width, height } = dimensions ?? {}
  const pixels = Number.isFinite(width) && Number.isFinite(height) ? `${width} × ${height}` : null
  const facts = [type, pixels, size, 'not shown here'].filter((fact) => fact !== null)
  return el(
    'figure.media.card',
    content('p', facts.join(', ')),
    captions.length > 0 ? content('figcaption', captions.join(', ')) : null,
    typeof contentId === 'string' ? el('p.id', content('code', briefly(contentId, 100))) : null,
  )
}

function imageView(url, type, captions) {
  const image = withAttributes(el('img'), { src: url, alt: `Image (${type})`, decoding: 'async' })
  return el('figure.media', image, captions.length > 0 ? content('figcaption', captions.join(', ')) : null)
}
