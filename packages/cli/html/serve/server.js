'use strict'

// Serves a page to the browsers of this machine. Answers only requests whose address contains the token, and only for the given routes: no path of
// the file system is ever derived from a request.

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
 * @param {Record<string, Route>} routes by the part of the path after the token; that of the page is ''
 * @param {{ port?: number }} [options] `port`: 0 or none for any free port
 * @returns {Promise<{ url: string, path: string, close: () => Promise<void> }>}
 */
async function serve(routes, { port = 0 } = {}) {
  const path = `/${randomBytes(24).toString('base64url')}/`
  const server = createServer((request, response) => answer(routes, path, request, new Reply(response)))
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, () => resolve(undefined))
  })
  const { port: own } = /** @type {import('node:net').AddressInfo} */ (server.address())
  /** @returns {Promise<void>} */
  const close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://${LOOPBACK}:${own}${path}`, path, close }
}

/** The reply to a request. */
class Reply {
  #response

  /** @param {import('node:http').ServerResponse} response */
  constructor(response) {
    this.#response = response
  }

  /** @param {string} text */
  html(text) {
    this.#end(200, 'text/html; charset=utf-8', text)
  }

  /** @param {unknown} value a text is JSON already */
  json(value) {
    this.#end(200, 'application/json; charset=utf-8', typeof value === 'string' ? value : JSON.stringify(value))
  }

  /** @param {number} status */
  refuse(status) {
    this.#end(status, 'text/plain; charset=utf-8', `${status}\n`)
  }

  /** @type {(status: number, type: string, text: string) => void} */
  #end(status, type, text) {
    if (this.#response.headersSent) return void this.#response.destroy()
    this.#response.writeHead(status, { ...HEADERS, 'Content-Type': type }).end(text)
  }
}

/**
 * @param {Record<string, Route>} routes
 * @param {string} path
 * @param {import('node:http').IncomingMessage} request
 * @param {Reply} reply
 */
async function answer(routes, path, { method, headers, url, socket }, reply) {
  // By DNS rebinding, a page of another site can make a browser send requests here under its own host name. It does not know the token, either.
  if (!NAMES.some((name) => headers.host === `${name}:${socket.localPort}`)) return reply.refuse(421)
  const { pathname, searchParams } = parsed(/** @type {string} */ (url))
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

/** @param {string} url */
function parsed(url) {
  try {
    return new URL(url, 'http://localhost')
  } catch {
    return { pathname: '', searchParams: new URLSearchParams() }
  }
}

/** Compares two texts in a time that does not depend on where they differ. @type {(a: string, b: string) => boolean} */
function isEqual(a, b) {
  /** @param {string} text */
  const digest = (text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

class BadRequest extends Error {}

/** Returns a parameter of a query that must be a whole number. @type {(query: URLSearchParams, name: string) => number} */
function numberIn(query, name) {
  const text = query.get(name) ?? ''
  const value = Number(text)
  if (!/^\d{1,15}$/.test(text)) throw new BadRequest(`${name} must be a whole number`)
  return value
}

module.exports = { serve, BadRequest, numberIn }
