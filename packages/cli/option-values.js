'use strict'

// Values of options. They are parsed with the command line; files that they name are read when the command runs.

const { createPrivateKey, createPublicKey } = require('node:crypto')
const fs = require('node:fs/promises')
const { InvalidArgumentError } = require('commander')
const { Complaint, failureOf, usage } = require('./complaint.js')
const { shown } = require('./source.js')

/** @import { Duration, RedactionRule } from 'session-tape' */

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g

/** An integer, 0 or more. @param {string} text */
function wholeNumber(text) {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be an integer, 0 or more.')
  return value
}

/** A duration such as `36h`, `7d` or `2w`, or `never`. @type {(text: string) => Duration | 'never'} */
function age(text) {
  if (text !== 'never' && !/^\d+(?:\.\d+)?[hdw]$/.test(text))
    throw new InvalidArgumentError('It must be a number of hours, days or weeks: 36h, 7d, 2w.')
  return /** @type {Duration | 'never'} */ (text)
}

/** @type {Record<string, number>} */
const BYTES = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** A number of bytes, such as `500MB` or `4GiB`. @param {string} text */
function byteCount(text) {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(text) ?? []
  const factor = number === undefined ? undefined : BYTES[unit.toLowerCase()]
  if (factor === undefined) throw new InvalidArgumentError('It must be a number of bytes: 4GiB, 500MB, 1000000.')
  return Math.round(Number(number) * factor)
}

/**
 * Collects the values of an option that can be repeated, or have several values separated by commas.
 *
 * @type {(text: string, before?: string[]) => string[]}
 */
const collected = (text, before = []) => [...before, ...text.split(',').filter((part) => part !== '')]

/** Collects the values of an option that can be repeated, whose values may contain commas. @type {(text: string, before?: string[]) => string[]} */
const gathered = (text, before = []) => [...before, text]

/**
 * Throws if one of these options is given, which do not apply to this kind of recording.
 *
 * @template {string} Name
 * @param {Partial<Record<Name, unknown>>} options
 * @param {Name[]} names
 * @param {string} what
 */
function refuseOptions(options, names, what) {
  const given = names.filter((name) => options[name] !== undefined)
  if (given.length === 0) return
  const flags = given.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
  throw usage(`${flags.join(', ')}: not for ${what}`)
}

/** Reads the public keys in files: PEM, one or more per file. @param {string[]} [files] */
async function trustedKeys(files = []) {
  const keys = await Promise.all(files.map(publicKeysIn))
  return keys.flat()
}

/** @param {string} file */
async function publicKeysIn(file) {
  const blocks = [...(await textOf(file)).matchAll(PEM_BLOCK)]
  const keys = blocks.filter(([, type]) => type === 'PUBLIC KEY').map(([pem]) => pem)
  if (keys.length === 0 || !keys.every((pem) => isEd25519(createPublicKey, pem))) {
    throw new Complaint('InvalidKey', `${shown(file)} holds no Ed25519 public key in PEM form (BEGIN PUBLIC KEY)`, {
      path: file,
    })
  }
  return keys
}

/** Reads the private key in a file. It is never shown. @param {string | undefined} file */
async function signingKey(file) {
  if (file === undefined) return undefined
  const pem = await textOf(file)
  if (isEd25519(createPrivateKey, pem)) return pem
  throw new Complaint('InvalidKey', `${shown(file)} is not an Ed25519 private key in PEM form (BEGIN PRIVATE KEY)`, {
    path: file,
  })
}

/** @type {(create: typeof createPublicKey | typeof createPrivateKey, pem: string) => boolean} */
function isEd25519(create, pem) {
  try {
    return create(pem).asymmetricKeyType === 'ed25519'
  } catch {
    return false
  }
}

/**
 * The redaction rules of `--rule name=pattern` and `--rule-file`. The library validates them.
 *
 * @type {(options: { rule?: string[], ruleFile?: string[] }) => Promise<RedactionRule[]>}
 */
async function redactionRules({ rule = [], ruleFile = [] }) {
  const files = await Promise.all(ruleFile.map(rulesIn))
  return [...rule.map(ruleOf), ...files.flat()]
}

/** @param {string} text */
function ruleOf(text) {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`--rule ${text}: it must be NAME=PATTERN`)
  return { name: text.slice(0, at), pattern: text.slice(at + 1) }
}

/** @param {string} file */
async function rulesIn(file) {
  const text = await textOf(file)
  let rules
  try {
    rules = JSON.parse(text)
  } catch (error) {
    throw new Complaint('InvalidRule', `${shown(file)} is not JSON: ${failureOf(error).message}`, { path: file })
  }
  if (Array.isArray(rules)) return rules
  throw new Complaint(
    'InvalidRule',
    `${shown(file)} must hold an array of rules, {"name","pattern"} or {"name","path"}`,
    { path: file },
  )
}

/** @param {string} file */
async function textOf(file) {
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    const { code, message } = failureOf(error)
    throw new Complaint(code, `can't read ${shown(file)}: ${message}`, { path: file })
  }
}

module.exports = {
  wholeNumber,
  age,
  byteCount,
  collected,
  gathered,
  refuseOptions,
  trustedKeys,
  signingKey,
  redactionRules,
}
