// Tool calls: folded, with arguments and result side by side.

const STATES = {
  failed: ['✗', 'failed'],
  open: ['…', 'without a result'],
  done: ['✓', 'succeeded'],
  copied: ['↺', 'recorded before'],
}

/**
 * The calls and responses that edits bring again, each with its partner in the same edit: of a call, the response and its cuts. Null if the partner is not
 * there.
 */
const partners = new WeakMap()

/** Finds the partners among the items of an edit. */
function pairWithin(items, cuts) {
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

/** @param block the call's block, with index `index` in the item of the row */
function callView(page, row, index, block, cuts) {
  const call = page.callOf(page.rows[row].line, index)
  const response = call ? responseOf(page, call) : partners.get(block)
  const state = response
    ? isFailure(response.block.error)
      ? 'failed'
      : 'done'
    : partners.has(block)
      ? 'copied'
      : 'open'
  const [mark, says] = STATES[state]
  const name = typeof block.name === 'string' && block.name !== '' ? block.name : '(unnamed)'
  const facts = call && call.ms !== null ? el('span.took', lengthOf(call.ms)) : null
  const summary = el(
    'summary',
    withAttributes(el(`span.state.${state}`, mark), { 'aria-hidden': 'true' }),
    content('span.tool-name', name),
    ' ',
    content('span.brief', fieldsBriefly(block.parameters)),
    el('span.unseen', `, ${says}`),
    facts,
  )
  const view = details(`call ${page.rows[row].line} ${index}`, summary, () => [
    el(
      'div.call-parts',
      part('Arguments', valueView(block.parameters, cutsBelow(cuts, '/parameters'))),
      resultPart(page, call, response, state),
    ),
  ])
  view.classList.add('call', state)
  return view
}

const part = (title, ...children) => el('section.call-part', el('h4', title), ...children)

function resultPart(page, call, response, state) {
  if (!response)
    return part(
      'Result',
      el('p.note', state === 'copied' ? 'There is none in this edit.' : 'There is none in this recording.'),
    )
  const { block, cuts } = response
  const where = call ? [', ', lineLink(call.responseLine, `line ${call.responseLine}`)] : []
  const views = []
  if (state === 'failed') views.push(errorView(block.error, cuts))
  if (block.result !== undefined && block.result !== null && block.result !== '')
    views.push(valueView(block.result, cutsBelow(cuts, '/result')))
  if (views.length === 0) views.push(el('p.note', 'Nothing.'))
  return part(el('span', state === 'failed' ? 'Failed' : 'Result', ...where), ...views)
}

function errorView(error, cuts) {
  const view = valueView(error, cutsBelow(cuts, '/error'))
  view.classList.add('error')
  return view
}

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
function responseView(page, row, index, block, cuts) {
  const { line } = page.rows[row]
  const call = page.answeredBy(line, index)
  const failed = isFailure(block.error)
  const name =
    [block.toolName, call?.name, partners.get(block)?.name].find((each) => typeof each === 'string' && each !== '') ??
    '(unnamed)'
  const [mark, says] = STATES[failed ? 'failed' : 'done']
  const origin = originOf(block, call)
  const summary = el(
    'summary',
    withAttributes(el(`span.state.${failed ? 'failed' : 'done'}`, mark), { 'aria-hidden': 'true' }),
    content('span.tool-name', name),
    ' ',
    content('span.brief', fieldsBriefly(failed ? block.error : (block.result ?? ''))),
    el('span.unseen', `, ${says}`),
  )
  const view = details(`response ${line} ${index}`, summary, () => [
    ...(failed ? [errorView(block.error, cuts)] : []),
    ...(block.result === undefined || block.result === null
      ? []
      : [valueView(block.result, cutsBelow(cuts, '/result'))]),
  ])
  view.classList.add('response')
  return el('div.response-row', view, origin)
}

/** Which call a response answers; null for one that an edit brings without its call. */
function originOf(block, call) {
  if (call) return el('span.origin', 'to the call at ', lineLink(call.line, `line ${call.line}`))
  if (!partners.has(block)) return el('span.origin', 'to no call in this recording')
  return partners.get(block) ? el('span.origin', 'to its call above') : null
}

const lineLink = (line, ...children) => withAttributes(el('a.line-link', ...children), { href: `#line-${line}` })
