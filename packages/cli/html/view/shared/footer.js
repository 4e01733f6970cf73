// The footer of the page: the keys, and the libraries that the page contains.

/** @param {[key: string | string[], does: string][]} keys */
function footer(keys, libraries) {
  const legend = keys.map(([names, does]) =>
    el('span', ...[names].flat().flatMap((name) => [el('kbd', name), ' ']), does),
  )
  const made = libraries.map(({ name, version, licence }) => content('li', `${name} ${version}, ${licence}`))
  const list = el(
    'details.made',
    el('summary', 'Made with session-tape and these libraries'),
    el('ul', ...made),
    el('p.note', 'The texts of their licences are in the source of this page.'),
  )
  return el('footer', el('p.keys', ...legend), list)
}
