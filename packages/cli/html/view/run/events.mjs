// The list of all events, which scrolls by itself.

import { countBefore } from '../../count-before.js'
import { box, content, el, elWith, node } from '../dom.mjs'
import { List } from '../list.mjs'
import { clockOf } from '../quantities.mjs'

export class EventList extends List {
  // The page shows the event, whatever the list is filtered by.
  keepsCurrent = true
  #rows
  #nothing

  /** @param {(event: number) => void} pick shows an event */
  constructor(run, pick) {
    const rows = node(elWith('div.event-rows', { role: 'none' }))
    const nothing = node(elWith('p.note', { hidden: true }, 'Nothing.'))
    super(box(elWith('div.events', { role: 'listbox', tabindex: 0, 'aria-label': 'Events' }), rows, nothing))
    Object.assign(this, { run, jump: pick })
    this.#rows = rows
    this.#nothing = nothing
    this.element.addEventListener('click', ({ target }) => {
      const row = target.closest('.event')
      if (row) pick(Number(row.dataset.row))
    })
  }

  show(events) {
    this.#nothing.hidden = events.length > 0
    this.showIn([[this.#rows, events]])
    this.#reveal(this.current)
  }

  rowView(event) {
    const { run } = this
    const isUnsound = run.failures.some(({ time }) => time === event + run.first)
    return elWith(
      `div.event${run.hasFailed(event) ? '.failed' : ''}${isUnsound ? '.unsound' : ''}`,
      {
        role: 'option',
        id: `event-${event}`,
        'aria-setsize': this.shown.length,
        'aria-posinset': countBefore(this.shown, event) + 1,
        'aria-selected': 'false',
        'data-row': event,
      },
      el('span.number', event + run.first),
      el('time', clockOf(run.clocks[event])),
      content('span.kind', run.kindOf(event)),
      content('span.label', run.nodeOf(event) ?? ''),
      content('span.excerpt', [run.workerOf(event), run.labelOf(event)].filter(Boolean).join(' · ')),
    )
  }

  /** The list has the focus itself, and says which of its rows is selected. */
  mark(event, isSelected) {
    const row = this.lineOf(event)
    row?.setAttribute('aria-selected', String(isSelected))
    if (isSelected && row) this.element.setAttribute('aria-activedescendant', row.id)
    else if (isSelected) this.element.removeAttribute('aria-activedescendant')
  }

  setCurrent(event) {
    super.setCurrent(event)
    this.#reveal(event)
  }

  /** Scrolls only the list: the window stays. */
  #reveal(event) {
    const middle = this.middleOf(event)
    if (middle === undefined) return
    const { scrollTop, clientHeight } = this.element
    if (middle < scrollTop + 13 || middle > scrollTop + clientHeight - 13)
      this.element.scrollTop = middle - clientHeight / 2
  }
}
