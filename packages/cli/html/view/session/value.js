// Arguments and results of tools: texts with their line ends, anything else as JSON.

/** The maximum number of fields that are shown as a list rather than as JSON. */
const MAX_FIELDS = 12

/** @param cuts what was cut, with paths relative to the value */
function valueView(value, cuts = []) {
  if (typeof value === 'string') return textView(value, cuts)
  if (isReadable(value, cuts)) return fieldsView(value, cuts)
  return withAttributes(payloadView([value ?? null, cuts], false), { tabindex: 0 })
}

/** Whether a value is an object with texts, such as the arguments of a tool. */
function isReadable(value, cuts) {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || cuts.some(({ path }) => path === ''))
    return false
  const values = Object.values(value)
  return values.length > 0 && values.length <= MAX_FIELDS && values.some((field) => typeof field === 'string')
}

function fieldsView(value, cuts) {
  const entries = Object.entries(value).map(([name, field]) => {
    const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const isShort = typeof field !== 'object' && String(field).length < 80 && !String(field).includes('\n')
    const shown = isShort ? content('code.short', String(field)) : valueView(field, cutsBelow(cuts, path))
    return el(isShort ? 'div.short-field' : 'div', content('dt', name), el('dd', shown))
  })
  return el('dl.fields', ...entries)
}

function textView(text, cuts) {
  const view = withAttributes(el('pre.text'), { tabindex: 0 })
  const cut = cuts.find(({ path }) => path === '')
  appendContent(view, withPlainLines(cut ? text.slice(0, cut.at) : text))
  if (cut) {
    view.append('\n', el('span.left-out', leftOut(cut)), '\n')
    appendContent(view, withPlainLines(text.slice(cut.at)))
  }
  return view
}

/** A value on one line. */
function briefly(value, longest = 120) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const line = text
    .slice(0, longest * 2)
    .replace(/\s+/gu, ' ')
    .trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** A tool's arguments or result on one line, without names if there is only one. */
function fieldsBriefly(parameters) {
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    return briefly(parameters ?? '')
  const entries = Object.entries(parameters)
  if (entries.length === 1) return fieldsBriefly(entries[0][1])
  return briefly(entries.map(([name, value]) => `${name}: ${briefly(value, 60)}`).join(' · '))
}
