// The graph of the run: layered, with the status of each node by colour and by sign.

const SIGNS = { Pending: '○', Scheduled: '◇', Running: '▶', Completed: '✓', Failed: '✗', Skipped: '⤼' }
/**
 * The largest number of nodes that is drawn. Larger graphs are shown as cells by layer, with marks for the neighbours of the current node instead
 * of lines, which could not be told apart.
 */
const MAX_DRAWN = 250
const NODE_HEIGHT = 34
const WIDEST_FITTED = 1700
const CHARACTER = 7.2

class Graph {
  constructor(run, onPick) {
    this.run = run
    this.onPick = onPick
    this.element = withAttributes(el('div.graph'), { tabindex: 0, role: 'region', 'aria-label': 'Graph' })
    this.boxes = new Map()
    this.build()
  }

  build() {
    const { run } = this
    const ids = run.nodes
    const known = new Map(run.graph.nodes.map((node) => [node.id, node]))
    const nodes = ids.map((id) => known.get(id) ?? { id, kind: '', tool: null })
    this.boxes.clear()
    this.count = ids.length
    this.cells = nodes.length <= MAX_DRAWN ? null : new Cells(this, nodes)
    this.element.replaceChildren(this.cells?.element ?? this.#drawing(nodes))
  }

  #drawing(nodes) {
    const graph = new dagre.graphlib.Graph()
    graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 44, marginx: 8, marginy: 8 })
    graph.setDefaultEdgeLabel(() => ({}))
    for (const { id } of nodes)
      graph.setNode(id, { width: Math.min(Math.max(id.length * CHARACTER + 40, 70), 240), height: NODE_HEIGHT })
    for (const [from, to] of this.run.graph.edges) graph.setEdge(from, to)
    dagre.layout(graph)
    const { width, height } = graph.graph()
    // A wider drawing is scrolled: if it were scaled to fit, its names could not be read.
    const canvas = svg('svg', {
      class: width < WIDEST_FITTED ? 'fits' : '',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'group',
      'aria-label': 'Nodes',
    })
    canvas.append(...graph.edges().map((edge) => svg('path', { class: 'edge', d: pathOf(graph.edge(edge).points) })))
    for (const node of nodes) canvas.append(this.#box(node, graph.node(node.id)))
    return canvas
  }

  #box({ id, tool }, { x, y, width, height }) {
    const shape = svg('rect', { class: 'shape', x: -width / 2, y: -height / 2, width, height, rx: 6 })
    const sign = svg('text', { class: 'sign', x: -width / 2 + 10, y: 5 })
    const name = svg('text', { class: 'name', x: -width / 2 + 28, y: 4.5 })
    appendPlain(name, shortened(id, (width - 40) / CHARACTER))
    const title = svg('title')
    const box = svg(
      'g',
      { class: 'node', transform: `translate(${x} ${y})`, role: 'button', tabindex: 0 },
      title,
      shape,
      sign,
      name,
    )
    const pick = () => this.onPick(id)
    box.addEventListener('click', pick)
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return
      event.preventDefault()
      pick()
    })
    this.boxes.set(id, { box, sign, title, tool })
    return box
  }

  /** Shows a state. Updates only what has changed. */
  show({ status, attempt }, current) {
    if (this.count !== this.run.nodes.length) this.build()
    for (const [at, id] of this.run.nodes.entries()) {
      const found = this.boxes.get(id)
      const key = `${status[at]} ${attempt[at]} ${at === current}`
      if (found.key === key) continue
      found.key = key
      showStatus(found, id, NODE[status[at]], attempt[at], at === current)
    }
    this.cells?.mark(this.run.nodes[current])
  }
}

/** The cells of a large graph. One of them is a tab stop; the arrow keys move between them. */
class Cells {
  #layers
  #edges
  #boxes
  #marked = []
  #stop

  constructor({ run, boxes, onPick }, nodes) {
    this.#edges = run.graph.edges
    this.#boxes = boxes
    this.#layers = layersOf(nodes, this.#edges)
    const columns = this.#layers.map((layer) =>
      el(
        'div.layer',
        ...layer.map((id) => {
          const sign = el('span')
          const box = withAttributes(
            button('.cell', null, () => onPick(id), sign),
            { tabindex: -1 },
          )
          boxes.set(id, { box, sign, title: null, tool: null })
          return box
        }),
      ),
    )
    this.element = el('div.layers', ...columns)
    this.element.addEventListener('keydown', (event) => this.#move(event))
    this.#setStop(columns[0].firstChild)
  }

  #setStop(box) {
    this.#stop?.setAttribute('tabindex', -1)
    this.#stop = box
    box.setAttribute('tabindex', 0)
  }

  #move(event) {
    const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key]
    if (step === undefined || !event.target.matches('.cell')) return
    const column = event.target.parentNode
    const layer = [...this.element.children].indexOf(column) + step[0]
    const place = [...column.children].indexOf(event.target) + step[1]
    const next =
      this.element.children[layer]?.children[Math.min(place, this.element.children[layer].children.length - 1)]
    event.preventDefault()
    if (next === undefined) return
    this.#setStop(next)
    next.focus()
  }

  /** Marks the nodes that the current node depends on, and those that depend on it. */
  mark(current) {
    for (const box of this.#marked) box.classList.remove('before', 'after')
    this.#marked = []
    for (const [from, to] of this.#edges) {
      if (to === current) this.#add(from, 'before')
      if (from === current) this.#add(to, 'after')
    }
  }

  #add(id, side) {
    const box = this.#boxes.get(id)?.box
    if (box === undefined) return
    box.classList.add(side)
    this.#marked.push(box)
  }
}

function showStatus({ box, sign, title, tool }, id, status, attempt, isCurrent) {
  const says = visible(`${id}: ${status}${attempt > 1 ? `, attempt ${attempt}` : ''}${tool ? `, tool ${tool}` : ''}`)
  const kind = title ? 'node' : 'cell'
  box.setAttribute(
    'class',
    `${kind} ${status.toLowerCase()}${isCurrent ? ' current' : ''}${attempt > 1 ? ' retried' : ''}`,
  )
  box.setAttribute('aria-label', says)
  sign.textContent = SIGNS[status]
  if (title) title.textContent = says
  else box.title = says
}

/** Text for attributes and for SVG, which can't contain the element that shows a hidden character. */
const visible = (text) => text.replace(INVISIBLE, nameOfHidden)
const appendPlain = (parent, text) => parent.append(visible(text))
const shortened = (text, longest) => (text.length > longest ? `${text.slice(0, Math.max(longest - 1, 1))}…` : text)

const pathOf = (points) => `M${points.map(({ x, y }) => `${x} ${y}`).join('L')}`

/** The ids of nodes by the length of the longest path to them. */
function layersOf(nodes, edges) {
  const depth = new Map(nodes.map(({ id }) => [id, 0]))
  const after = new Map()
  const missing = new Map(nodes.map(({ id }) => [id, 0]))
  for (const [from, to] of edges) {
    if (!after.has(from)) after.set(from, [])
    after.get(from).push(to)
    missing.set(to, (missing.get(to) ?? 0) + 1)
  }
  const ready = nodes.map(({ id }) => id).filter((id) => missing.get(id) === 0)
  for (let at = 0; at < ready.length; at++) {
    for (const to of after.get(ready[at]) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, depth.get(ready[at]) + 1))
      missing.set(to, missing.get(to) - 1)
      if (missing.get(to) === 0) ready.push(to)
    }
  }
  const layers = []
  for (const [id, layer] of depth) (layers[layer] ??= []).push(id)
  return layers.filter(Boolean)
}
