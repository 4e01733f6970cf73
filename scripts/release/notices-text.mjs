// The text of THIRD-PARTY-NOTICES.

/**
 * A list of what is linked into a file, then each licence once, with the items that it covers.
 * @param {string} file the file or folder that contains the items
 * @param {{ title: string, text: string }[]} notices
 */
export function noticesText(file, notices) {
  const titles = [...new Set(notices.map(({ title }) => title))]
  const head = [`${file} contains, besides session-tape itself:`, '', ...titles.map((title) => `- ${title}`)]
  const users = new Map()
  for (const { title, text } of notices) {
    const normal = text.replace(/[^\S\n]+$/gm, '')
    users.set(normal, [...(users.get(normal) ?? []), title])
  }
  const licences = [...users].map(([text, covered]) =>
    ['-'.repeat(80), `The licence of ${covered.join(', ')}:`, '', text].join('\n'),
  )
  return `${[head.join('\n'), ...licences].join('\n\n')}\n`
}
