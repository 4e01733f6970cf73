'use strict'

// Serves a page to the browsers of this machine. Only who has the address with its token is answered, and there is nothing but the given
// routes: no path of the file system is ever made of a request.

const { createHash, randomBytes, timingSafeEqual } = require('node:crypto')
const { createServer } = require('node:http')

const LOOPBACK = '127.0.0.1'
const NAMES = [LOOPBACK, 'localhost']

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * @typedef {(query: URLSearchParams, reply: Reply) => unknown} Route may return a promise
 *
 * @param {Record<string, Route>} routes by their name behind the token; the page is ''
 * @param {{ port?: number }} [options] `port`: 0 or none for any free one
 * @returns {Promise<{ url: string, path: string, close: () => Promise<void> }>}
 */
async function serve(routes, { port = 0 } = {}) {
  const path = `/${randomBytes(24).toString('base64url')}/`
  const server = createServer((request, response) => answer(routes, path, request, new Reply(response)))
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  })
  const close = () => new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
  return { url: `http://${LOOPBACK}:${server.address().port}${path}`, path, close }
}

/** What a route answers with. */
class Reply {
  #response

  constructor(response) {
    this.#response = response
  }

  html(text) {
    this.#end(200, 'text/html; charset=utf-8', text)
  }

  json(value) {
    this.#end(200, 'application/json; charset=utf-8', typeof value === 'string' ? value : JSON.stringify(value))
  }

  refuse(status) {
    this.#end(status, 'text/plain; charset=utf-8', `${status}\n`)
  }

  /** Begins a stream of events. `send` sends one; `onClose` is called when the reader has gone. */
  events(onClose) {
    const response = this.#response
    response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream' })
    response.write(':\n\n')
    response.on('close', onClose)
    return (name, value) => response.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  }

  #end(status, type, text) {
    if (this.#response.headersSent) return void this.#response.destroy()
    this.#response.writeHead(status, { ...HEADERS, 'Content-Type': type }).end(text)
  }
}

async function answer(routes, path, { method, headers, url, socket }, reply) {
  // A page of another site can make a browser send requests here under a name of its own (DNS rebinding), and does not know the token.
  if (!NAMES.some((name) => headers.host === `${name}:${socket.localPort}`)) return reply.refuse(421)
  const { pathname, searchParams } = parsed(url)
  if (!isEqual(pathname.slice(0, path.length), path)) return reply.refuse(404)
  const name = pathname.slice(path.length)
  if (!Object.hasOwn(routes, name)) return reply.refuse(404)
  if (method !== 'GET') return reply.refuse(405)
  try {
    await routes[name](searchParams, reply)
  } catch (error) {
    reply.refuse(error instanceof BadRequest ? 400 : 500)
  }
}

function parsed(url) {
  try {
    return new URL(url, 'http://localhost')
  } catch {
    return { pathname: '', searchParams: new URLSearchParams() }
  }
}

/** Takes the same time wherever the two differ. */
function isEqual(a, b) {
  const digest = (text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

class BadRequest extends Error {}

/** A whole number of a query. */
function numberIn(query, name) {
  const text = query.get(name) ?? ''
  const value = Number(text)
  if (!/^\d{1,15}$/.test(text)) throw new BadRequest(`${name} must be a whole number`)
  return value
}

module.exports = { serve, BadRequest, numberIn }
