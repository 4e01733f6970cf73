// Circles in a graph of imports.

/**
 * The strongly connected components of more than one file (Tarjan's algorithm).
 *
 * @param {Map<string, Iterable<string>>} edges the imported files of each file
 * @returns {string[][]}
 */
export function circlesOf(edges) {
  const [numbers, lowest, stack, found] = [new Map(), new Map(), [], []]
  const visit = (file) => {
    numbers.set(file, numbers.size)
    lowest.set(file, numbers.get(file))
    stack.push(file)
    for (const next of edges.get(file)) {
      if (!numbers.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)))
    }
    if (lowest.get(file) !== numbers.get(file)) return
    const component = stack.splice(stack.indexOf(file))
    if (component.length > 1) found.push(component.sort())
  }
  for (const file of edges.keys()) if (!numbers.has(file)) visit(file)
  return found
}
