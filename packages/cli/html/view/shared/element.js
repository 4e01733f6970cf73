// Creates elements. Strings always become text nodes: the page never parses markup from strings.

/** @param {string} name `tag` or `tag.class.class` */
function el(name, ...children) {
  const [tag, ...classes] = name.split('.')
  const element = document.createElement(tag)
  if (classes.length > 0) element.className = classes.join(' ')
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

function withAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, String(value))
  return element
}

function button(name, label, onClick, ...children) {
  const element = withAttributes(el(`button${name}`, ...children), { type: 'button', 'aria-label': label })
  element.addEventListener('click', onClick)
  return element
}

const SVG = 'http://www.w3.org/2000/svg'

function svg(tag, attributes = {}, ...children) {
  const element = withAttributes(document.createElementNS(SVG, tag), attributes)
  element.append(...children)
  return element
}

const NUMBERS = new Intl.NumberFormat('en-US')
const counted = (count, one, many = `${one}s`) => `${NUMBERS.format(count)} ${count === 1 ? one : many}`

function fileSize(bytes) {
  if (bytes < 1024) return counted(bytes, 'byte')
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4)
  return `${(bytes / 1024 ** power).toFixed(1)} ${['KiB', 'MiB', 'GiB', 'TiB'][power - 1]}`
}
