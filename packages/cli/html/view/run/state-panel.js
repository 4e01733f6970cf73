// The state of the coordinator and the workers after the selected event.

const MAX_SHOWN = 60

class StatePanel {
  constructor(run) {
    this.run = run
    this.title = el('h2', 'State')
    this.body = el('div.state-body')
    this.element = withAttributes(el('section.panel.state', this.title, this.body), {
      'aria-label': 'State after the event',
    })
  }

  show(event, shown, isOfEngine) {
    this.title.replaceChildren(
      `State after ${this.run.nameOf(event)}`,
      el('span.note', isOfEngine ? ' rebuilt by the engine' : ''),
    )
    const counts = countsOf(shown.status)
    const chips = NODE.map((name, at) =>
      counts[at] > 0
        ? el(`span.chip.${name.toLowerCase()}`, `${SIGNS[name]} ${name} `, el('b', counts[at].toLocaleString('en-US')))
        : null,
    )
    this.body.replaceChildren(
      el('p.run-status', 'Run ', el('b', shown.run)),
      el('p.chips', ...chips.filter(Boolean)),
      pendingView(shown.pending),
      workersTable(shown.workers),
    )
  }
}

function countsOf(status) {
  const counts = NODE.map(() => 0)
  for (const each of status) counts[each] += 1
  return counts
}

function pendingView(pending) {
  if (pending.length === 0) return el('p.note', 'No task waits for a worker.')
  const more = pending.length > MAX_SHOWN ? ` and ${counted(pending.length - MAX_SHOWN, 'more task')}` : ''
  return el(
    'p.pending',
    `Waiting for a worker (${NUMBERS.format(pending.length)}): `,
    ...pending.slice(0, MAX_SHOWN).flatMap((task) => [content('code', task), ' ']),
    more,
  )
}

function workersTable(workers) {
  if (workers.length === 0) return el('p.note', 'There are no workers yet.')
  const rows = workers.slice(0, MAX_SHOWN).map(({ id, status, active, completed }) => {
    const tasks = active.slice(0, 12).flatMap(([task, of]) => [content('code', task), ` ${of} `])
    return el(
      'tr',
      withAttributes(content('th', id), { scope: 'row' }),
      content('td', status),
      el('td', ...(tasks.length > 0 ? tasks : ['–'])),
      el('td', completed.toLocaleString('en-US')),
    )
  })
  const head = el(
    'tr',
    ...['Worker', 'Status', 'Tasks', 'Completed'].map((name) => withAttributes(el('th', name), { scope: 'col' })),
  )
  const view = withAttributes(el('div.scrollable', el('table', el('thead', head), el('tbody', ...rows))), {
    tabindex: 0,
    role: 'region',
    'aria-label': 'Workers',
  })
  return workers.length > MAX_SHOWN
    ? el('div', view, el('p.note', `and ${counted(workers.length - MAX_SHOWN, 'more worker')}`))
    : view
}
