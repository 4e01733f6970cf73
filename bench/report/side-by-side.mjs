/** Tables with a row for each figure and a column for each runtime. */
import { table } from './format.mjs'

/**
 * @typedef {{ title: string, figures: any }} OnRuntime the figures of a runtime
 * @param {OnRuntime[]} runtimes
 * @param {{ head: string, title: string, target?: string, of: (figures: any) => any, isMet?: (one: any) => boolean, show: (one: any) => string }[]} rows
 *   `of` returns the row's figure out of those of a runtime, or undefined if the runtime did not measure it, which leaves the cell empty
 */
export function sideBySide(head, runtimes, rows) {
  const hasTargets = rows.some(({ target }) => target !== undefined)
  const line = ({ title, target, of, show, isMet }) => {
    const found = runtimes.map(({ figures }) => of(figures))
    const cells = found.map((one) => (one === undefined ? '' : show(one)))
    if (!hasTargets) return [title, ...cells]
    const missed = runtimes.filter((_, index) => found[index] !== undefined && !isMet?.(found[index]))
    return [title, ...cells, target ?? '—', target === undefined ? '—' : verdict(missed, found)]
  }
  const columns = [head, ...runtimes.map(({ title }) => title), ...(hasTargets ? ['target', 'met'] : [])]
  return table(columns, rows.map(line))
}

/** Whether the target was met, and on which runtimes it was missed. */
function verdict(missed, found) {
  if (missed.length === 0) return 'yes'
  if (missed.length === found.length) return '**no**'
  return `**no**: ${missed.map(({ title }) => title).join(', ')}`
}
