// Archives made by hand: the blocks of a tar, and a zstd frame that compresses nothing. They can contain what no library would write.

const BLOCK = 512

const octal = (value, digits) => `${value.toString(8).padStart(digits, '0')}\0`

/**
 * The header of an entry. `name` is a string or bytes; `type` is the character of its kind; `change` may spoil the block before its checksum
 * is made.
 */
export function tarHeader({ name, size = 0, type = '0', link = '', prefix = '', mode = 0o644, change = () => {} }) {
  const block = Buffer.alloc(BLOCK)
  Buffer.from(name).copy(block, 0, 0, 100)
  block.write(octal(mode, 7), 100, 'latin1')
  block.write(octal(0, 7), 108, 'latin1')
  block.write(octal(0, 7), 116, 'latin1')
  block.write(octal(size, 11), 124, 'latin1')
  block.write(octal(0, 11), 136, 'latin1')
  block.write('        ', 148, 'latin1')
  block.write(type, 156, 'latin1')
  block.write(link, 157, 'latin1')
  block.write('ustar\u000000', 257, 'latin1')
  block.write(prefix, 345, 'latin1')
  change(block)
  const sum = block.reduce((total, byte) => total + byte, 0)
  // A `change` may have written a checksum of its own.
  if (block.toString('latin1', 148, 156) === '        ') block.write(octal(sum, 7), 148, 'latin1')
  return block
}

/** A tar of entries: `[path, bytes]`, a whole header with its content, or bytes as they are. */
export function tarOf(entries, { end = Buffer.alloc(2 * BLOCK) } = {}) {
  const parts = entries.flatMap((entry) => {
    if (Buffer.isBuffer(entry)) return [entry]
    const [head, data = ''] = entry
    const content = Buffer.from(data)
    const header =
      typeof head === 'object' && !Buffer.isBuffer(head)
        ? { size: content.length, ...head }
        : { name: head, size: content.length }
    return [tarHeader(header), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  return Buffer.concat([...parts, end])
}

/** The files of a tar of plain entries. */
export function filesOfTar(tar) {
  const files = {}
  const text = (block, from, to) => block.toString('latin1', from, to).replace(/[\0 ].*$/s, '')
  for (let at = 0; tar[at] !== 0; ) {
    const block = tar.subarray(at, at + BLOCK)
    const [name, size, prefix] = [text(block, 0, 100), Number.parseInt(text(block, 124, 136), 8), text(block, 345, 500)]
    at += BLOCK
    files[prefix ? `${prefix}/${name}` : name] = Buffer.from(tar.subarray(at, at + size))
    at += Math.ceil(size / BLOCK) * BLOCK
  }
  return files
}

const MOST = 128 << 10

/** A zstd block: three bytes with its last-block flag, its type and its size, then its content. */
function block(isLast, type, size, content) {
  const head = Buffer.alloc(3)
  head.writeUIntLE((size << 3) | (type << 1) | (isLast ? 1 : 0), 0, 3)
  return Buffer.concat([head, content])
}

/** The header of a frame without checksum and size, its window a power of two. */
const frameHead = (windowLog) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3])

/**
 * A zstd frame of raw blocks. `zeros` blocks of 128 KiB of zeros, four bytes each, are inserted at the offset `at`.
 */
export function zstdOf(data, { windowLog = 20, zeros = 0, at = data.length } = {}) {
  const raw = (bytes) => {
    const blocks = []
    for (let from = 0; from < bytes.length; from += MOST) {
      const piece = bytes.subarray(from, from + MOST)
      blocks.push(block(false, 0, piece.length, piece))
    }
    return blocks
  }
  const filling = Array.from({ length: zeros }, () => block(false, 1, MOST, Buffer.from([0])))
  const body = [...raw(data.subarray(0, at)), ...filling, ...raw(data.subarray(at))]
  return Buffer.concat([frameHead(windowLog), ...body, block(true, 0, 0, Buffer.alloc(0))])
}
