// The result of the verification of the run.

const CHECK_NAMES = {
  chain: 'Hash chain',
  dag: 'Graph',
  schedule: 'Schedule',
  stateHashes: 'States',
  outputHashes: 'Outputs',
  blobs: 'Blobs',
  snapshots: 'Snapshots',
}

/** The failures; empty while the run is being verified. */
const failuresOf = ({ verification }) =>
  (verification?.checks ?? [])
    .filter(([, { failure }]) => failure !== null)
    .map(([name, { failure }]) => ({ name, failure }))

function verdictView(run, pick) {
  const { verification, problem } = run
  const parts =
    verification === null ? [el('p.verdict', 'It is being verified…')] : verificationParts(run, verification, pick)
  if (problem !== null) parts.push(content('p.problem', `The log can’t be read further: ${problem.message}`))
  return el('section.verification', ...parts)
}

function verificationParts(run, verification, pick) {
  const unverifiable = verification.checks.reduce((sum, [, check]) => sum + check.unverifiable, 0)
  const failed = failuresOf(run)
  const verdict =
    failed.length > 0
      ? el('p.verdict.bad', el('strong', 'Not what was recorded. '), `${counted(failed.length, 'check')} failed.`)
      : verification.ok
        ? el('p.verdict.good', el('strong', 'Sound. '), 'It is what was recorded.')
        : el('p.verdict', el('strong', 'Nothing failed'), `, but ${counted(unverifiable, 'item')} can’t be verified.`)
  return [
    verdict,
    checksTable(verification.checks),
    ...failed.map(({ name, failure }) => failureView(run, name, failure, pick)),
  ]
}

function checksTable(checks) {
  const rows = checks.map(([name, { checked, failed, unverifiable }]) => {
    const state = failed > 0 ? '✗' : checked === 0 ? '–' : unverifiable > 0 ? '!' : '✓'
    const row = el(
      'tr',
      withAttributes(el('th', `${state} ${CHECK_NAMES[name]}`), { scope: 'row' }),
      ...[checked, failed, unverifiable].map((count) => el('td', count === 0 ? '–' : NUMBERS.format(count))),
    )
    row.className = failed > 0 ? 'failed' : ''
    return row
  })
  const head = el(
    'tr',
    ...['Check', 'Checked', 'Failed', 'Unverifiable'].map((name) => withAttributes(el('th', name), { scope: 'col' })),
  )
  return el('table', el('thead', head), el('tbody', ...rows))
}

function failureView(run, name, { code, message, time }, pick) {
  const at = time === null ? -1 : time - run.first
  const where = at >= 0 && at < run.length ? button('.link', null, () => pick(at), run.nameOf(at)) : null
  return el('p.problem', el('b', `${CHECK_NAMES[name]}, ${code}: `), content('span', message), ' ', where)
}
