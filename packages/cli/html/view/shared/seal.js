// The bundle that a recording is in: its seal, its signature, and what was redacted.

function sealView({ bundleId, files, bytes, redactions, partial, signature }) {
  const facts = [
    ['Bundle', bundleId.slice(0, 16)],
    ['Holds', `${counted(files, 'file')}, ${fileSize(bytes)}${partial ? ', from a snapshot on' : ''}`],
    ['Signature', signature],
    ['Redacted', redactions === 0 ? 'nothing' : counted(redactions, 'place')],
  ]
  const list = el('dl.facts-list', ...facts.map(([name, value]) => el('div', el('dt', name), content('dd', value))))
  return withAttributes(el('section.seal', el('h2', 'A sealed bundle, verified'), list), { 'aria-label': 'Seal' })
}

const redactedNote = (rules) => el('p.redacted', el('b', 'Redacted'), content('span', ` by ${rules.join(', ')}`))
