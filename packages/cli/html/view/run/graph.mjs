// The graph of the run: layered, with the status of each node by colour and by sign.

import dagre from '@dagrejs/dagre'
import { render } from 'preact'
import { button, el, elWith, node, visible } from '../dom.mjs'
import { NODE } from './state.mjs'

export const SIGNS = { Pending: '○', Scheduled: '◇', Running: '▶', Completed: '✓', Failed: '✗', Skipped: '⤼' }
/**
 * The largest number of nodes that is drawn. Larger graphs are shown as cells by layer, with marks for the neighbours of the current node instead
 * of lines, which could not be told apart.
 */
const MAX_DRAWN = 250
const NODE_HEIGHT = 34
const WIDEST_FITTED = 1700
const CHARACTER = 7.2
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }

export class Graph {
  #run
  #onPick
  #view
  /** The cell that is a tab stop. */
  #stop
  #shown

  constructor(run, onPick) {
    this.#run = run
    this.#onPick = onPick
    this.element = node(elWith('div.graph', { tabindex: 0, role: 'region', 'aria-label': 'Graph' }))
    const isDrawn = run.nodes.length <= MAX_DRAWN
    const layers = isDrawn ? [] : layersOf(run.nodes, run.graph.edges)
    this.#stop = layers[0]?.[0]
    const tools = new Map(run.graph.nodes.map(({ id, tool }) => [id, tool]))
    const drawn = isDrawn ? this.#layout() : null
    this.#view = () => (isDrawn ? this.#drawing(drawn, tools) : this.#cells(layers))
  }

  /** Shows a state, with the node of the current event marked. */
  show(state, current) {
    this.#shown = { ...state, current }
    this.#render()
  }

  #render() {
    render(this.#view(), this.element)
  }

  /** What a node looks like now: its status, its classes and what it says. */
  #statusOf(id, index, tool = null) {
    const { status, attempt, current } = this.#shown
    const name = NODE[status[index]]
    const retried = attempt[index] > 1
    const says = `${id}: ${name}${retried ? `, attempt ${attempt[index]}` : ''}${tool ? `, tool ${tool}` : ''}`
    const classes = `${name.toLowerCase()}${index === current ? ' current' : ''}${retried ? ' retried' : ''}`
    return { sign: SIGNS[name], classes, says: visible(says) }
  }

  #layout() {
    const graph = new dagre.graphlib.Graph()
    graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 44, marginx: 8, marginy: 8 })
    graph.setDefaultEdgeLabel(() => ({}))
    for (const id of this.#run.nodes)
      graph.setNode(id, { width: Math.min(Math.max(id.length * CHARACTER + 40, 70), 240), height: NODE_HEIGHT })
    for (const [from, to] of this.#run.graph.edges) graph.setEdge(from, to)
    dagre.layout(graph)
    const edges = graph.edges().map((edge) => {
      const points = graph.edge(edge).points.map(({ x, y }) => `${x} ${y}`)
      return elWith('path.edge', { d: `M${points.join('L')}` })
    })
    return { ...graph.graph(), edges, places: this.#run.nodes.map((id) => graph.node(id)) }
  }

  #drawing({ width, height, edges, places }, tools) {
    const boxes = this.#run.nodes.map((id, index) => this.#box(id, index, places[index], tools.get(id)))
    // A wider drawing is scrolled: if it were scaled to fit, its names could not be read.
    const name = width < WIDEST_FITTED ? 'svg.fits' : 'svg'
    const attributes = { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': 'Nodes' }
    return elWith(name, attributes, ...edges, ...boxes)
  }

  #box(id, index, { x, y, width, height }, tool) {
    const { sign, classes, says } = this.#statusOf(id, index, tool)
    const pick = () => this.#onPick(index)
    const onKeyDown = (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return
      event.preventDefault()
      pick()
    }
    const longest = (width - 40) / CHARACTER
    const name = id.length > longest ? `${id.slice(0, Math.max(longest - 1, 1))}…` : id
    const attributes = { transform: `translate(${x} ${y})`, role: 'button', tabindex: 0, 'aria-label': says }
    return elWith(
      'g',
      { class: `node ${classes}`, ...attributes, onClick: pick, onKeyDown },
      el('title', says),
      elWith('rect.shape', { x: -width / 2, y: -height / 2, width, height, rx: 6 }),
      elWith('text.sign', { x: -width / 2 + 10, y: 5 }, sign),
      elWith('text.name', { x: -width / 2 + 28, y: 4.5 }, visible(name)),
    )
  }

  /** One of the cells is a tab stop; the arrow keys move between them. */
  #cells(layers) {
    const { nodes, graph } = this.#run
    const current = nodes[this.#shown.current]
    const before = new Set(graph.edges.filter(([, to]) => to === current).map(([from]) => from))
    const after = new Set(graph.edges.filter(([from]) => from === current).map(([, to]) => to))
    const indices = new Map(nodes.map((id, index) => [id, index]))
    const cell = (id) => {
      const { sign, classes, says } = this.#statusOf(id, indices.get(id))
      const marks = `${before.has(id) ? ' before' : ''}${after.has(id) ? ' after' : ''}`
      const attributes = { class: `cell ${classes}${marks}`, 'aria-label': says, title: says }
      const tabindex = id === this.#stop ? 0 : -1
      return button(
        '',
        () => this.#onPick(indices.get(id)),
        { ...attributes, tabindex, 'data-id': id },
        el('span', sign),
      )
    }
    const columns = layers.map((layer) => el('div.layer', ...layer.map(cell)))
    return elWith('div.layers', { onKeyDown: (event) => this.#move(event) }, ...columns)
  }

  #move(event) {
    const step = STEPS[event.key]
    if (step === undefined || !event.target.matches('.cell')) return
    event.preventDefault()
    const column = event.target.parentNode
    const columns = [...column.parentNode.children]
    const place = [...column.children].indexOf(event.target) + step[1]
    const cells = columns[columns.indexOf(column) + step[0]]?.children
    const next = cells?.[Math.min(place, cells.length - 1)]
    if (next === undefined) return
    this.#stop = next.dataset.id
    this.#render()
    next.focus()
  }
}

/** The ids of nodes by the length of the longest path to them. */
function layersOf(ids, edges) {
  const depth = new Map(ids.map((id) => [id, 0]))
  const missing = new Map(depth)
  const after = new Map()
  for (const [from, to] of edges) {
    if (!after.has(from)) after.set(from, [])
    after.get(from).push(to)
    missing.set(to, (missing.get(to) ?? 0) + 1)
  }
  const ready = ids.filter((id) => missing.get(id) === 0)
  for (const id of ready) {
    for (const to of after.get(id) ?? []) {
      depth.set(to, Math.max(depth.get(to) ?? 0, depth.get(id) + 1))
      missing.set(to, missing.get(to) - 1)
      if (missing.get(to) === 0) ready.push(to)
    }
  }
  const layers = []
  for (const [id, layer] of depth) (layers[layer] ??= []).push(id)
  return layers.filter(Boolean)
}
