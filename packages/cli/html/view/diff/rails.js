// Marks the causal chains in the timeline: a rail for each side, with a bead for each ancestor.

function drawRails(page, timeline) {
  if (!page.divergence) return
  const { width, height } = timeline.element.getBoundingClientRect()
  const spine = timeline.element.querySelector('.spine')?.getBoundingClientRect()
  if (!spine) return
  const left = spine.left - timeline.element.getBoundingClientRect().left
  const xs = [left + spine.width * 0.27, left + spine.width * 0.73]
  const beads = [0, 1].map((side) => placed(chainRows(page, side), timeline))
  const parts = [0, 1].flatMap((side) => railParts(beads[side], xs[side], page.sides[side].name))
  withAttributes(timeline.canvas, { width, height, viewBox: `0 0 ${width} ${height}` })
  timeline.canvas.replaceChildren(...parts)
}

/** The ancestors in the shown rows, with their vertical position. */
function placed(chain, timeline) {
  return chain.map((bead) => ({ ...bead, y: timeline.middleOf(bead.row) })).filter(({ y }) => y !== undefined)
}

function railParts(beads, x, name) {
  const edges = beads.slice(1).map((bead, at) => {
    return svg('path', {
      d: `M${x} ${beads[at].y}V${bead.y}`,
      class: `rail ${name} ${bead.isRecorded ? 'recorded' : 'inferred'}`,
    })
  })
  return [
    ...edges,
    ...beads.map(({ y }, at) =>
      svg('circle', { cx: x, cy: y, r: at === 0 ? 5 : 3.5, class: `bead ${name}${at === 0 ? ' tip' : ''}` }),
    ),
  ]
}
