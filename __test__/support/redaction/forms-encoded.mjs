// Secrets that do not stand as they are: inside colour codes, with invisible characters, in an encoding, or again in another spelling.

import { chosen, plain } from './values.mjs'

const TOKEN = 'ghp_[A-Za-z0-9]{36}'
const KEY = '[A-Za-z]{4}[0-9][A-Za-z0-9]{13}'
const SYMBOLS = "[A-Za-z]{4}[0-9]&[A-Za-z0-9]{4}<[A-Za-z0-9]{4}/[A-Za-z0-9]{2}'[a-z]{2}"
const ESC = '\u001b'

const base64 = (text, encoding = 'utf8') => Buffer.from(text, encoding).toString('base64')
const base64url = (text) => Buffer.from(text).toString('base64url')
const hex = (text, encoding = 'utf8') => Buffer.from(text, encoding).toString('hex')
const half = (text, between) => text.slice(0, text.length >> 1) + between + text.slice(text.length >> 1)
const every = (text, write) => [...text].map(write).join('')
const named = (s) => `API_TOKEN=${JSON.stringify(s)}\n`

/** Forms in which only the encoded or disguised secret stands. */
const ALONE = [
  ['colours around a token', TOKEN, (s) => `found ${ESC}[01;31m${ESC}[K${s}${ESC}[m${ESC}[K in .env`],
  ['a colour that begins inside a token', TOKEN, (s) => `token.txt:${ESC}[32mgh${ESC}[0mp_${s.slice(4)}`],
  [
    'colours around name, separator and value',
    plain,
    (s) => `${ESC}[34;1m"apiKey"${ESC}[0m${ESC}[1;39m:${ESC}[0m ${ESC}[0;32m"${s}"${ESC}[0m`,
  ],
  ['a colour within the value of a name', plain, (s) => `DB_PASSWORD=${half(s, `${ESC}[38;5;203m`)}${ESC}[0m`],
  ['a hyperlink of a terminal', TOKEN, (s) => `${ESC}]8;;https://x/?t=1${ESC}\\${half(s, `${ESC}]8;;${ESC}\\`)}`],
  ['a zero-width space in a token', TOKEN, (s) => `copied from the wiki: ${half(s, '\u200b')}`],
  ['a word joiner in a password', plain, (s) => `password: ${half(s, '\u2060')}`],
  ['a soft hyphen in a token', TOKEN, (s) => half(s, '\u00ad')],
  ['NUL between the characters of a token', TOKEN, (s) => every(s, (one) => `${one}\0`)],
  ['overstrikes of a manual page', TOKEN, (s) => every(s, (one) => `${one}\b${one}`)],
  ['a token in base64', TOKEN, (s) => `echo ${base64(`token=${s}\n`)} | base64 -d`],
  ['a token in base64url', TOKEN, (s) => `state=${base64url(`{"t":"${s}"}`)}`],
  [
    'a token in base64 of many lines',
    TOKEN,
    (s) => base64(`${'first line\n'.repeat(8)}${s}\n${'last line\n'.repeat(4)}`).replace(/.{76}/g, '$&\n'),
  ],
  ['an env file in base64', chosen, (s) => `ENV_FILE: ${base64(`PORT=80\nDB_PASSWORD="${s}"\n`)}`],
  ['JSON in base64', plain, (s) => ({ payload: base64(JSON.stringify({ user: 'ann', password: s })) })],
  ['a token in hex', TOKEN, (s) => `xxd -p: ${hex(s)}`],
  ['a token in upper-case hex', TOKEN, (s) => `0x${hex(s).toUpperCase()}`],
  [
    'a token in a percent-encoded address',
    TOKEN,
    (s) => `redirect=https%3A%2F%2Fapp.example.com%2Fcb%3Ftoken%3D${s}%26x%3D1`,
  ],
  [
    'a password in a percent-encoded form',
    '[A-Za-z]{4}[0-9][A-Za-z0-9]{6}',
    (s) => `state=user%3Dann%26password%3D${s}%26next%3D%2F`,
  ],
  ['a token with every character percent-encoded', TOKEN, (s) => `x=${every(s, (one) => `%${hex(one)}`)}`],
  [
    'JSON in a string in a string in a string',
    plain,
    (s) => ({ a: JSON.stringify({ b: JSON.stringify({ c: JSON.stringify({ password: s }) }) }) }),
  ],
  [
    'JSON in strings, five levels deep',
    plain,
    (s) => ({
      a: JSON.stringify({
        b: JSON.stringify({ c: JSON.stringify({ d: JSON.stringify({ e: JSON.stringify({ password: s }) }) }) }),
      }),
    }),
  ],
  ['HTML entities around the value', plain, (s) => `{&quot;password&quot;:&quot;${s}&quot;}`],
  ['a name in unicode escapes', plain, (s) => `{"\\u0070assword":"${s}"}`],
  ['quotes escaped for a shell in a shell', plain, (s) => `bash -c "curl -d '{\\"password\\":\\"${s}\\"}' https://x"`],
  ['a token as the name of a field', TOKEN, (s) => ({ [s]: { user: 'ann' } })],
  [
    'base64 of UTF-16, as PowerShell encodes commands',
    plain,
    (s) => `powershell -EncodedCommand ${base64(`$env:API_TOKEN="${s}"`, 'utf16le')}`,
  ],
]

/** Forms in which a secret stands with its name, and again in another spelling without one. */
const AGAIN = [
  ['percent-encoded', SYMBOLS, (s) => encodeURIComponent(s)],
  ['percent-encoded in lower case', SYMBOLS, (s) => encodeURIComponent(s).replace(/%../g, (one) => one.toLowerCase())],
  ['as a form encodes it', '[A-Za-z]{4}[0-9] [A-Za-z0-9]{6}&[A-Za-z]{4}', (s) => String(new URLSearchParams({ x: s }))],
  ['in base64', KEY, (s) => base64(s)],
  ['in base64 after one other byte', KEY, (s) => base64(`a${s}b`)],
  ['in base64 after two other bytes', KEY, (s) => base64(`ab${s}cd`)],
  ['in base64url', '[A-Za-z]{4}[0-9][A-Za-z0-9]{7}>>>>[A-Za-z0-9]{4}', (s) => base64url(`u:${s}`)],
  ['in base64 of UTF-16', KEY, (s) => base64(s, 'utf16le')],
  ['in hex', KEY, (s) => hex(s)],
  [
    'in upper-case hex with colons',
    KEY,
    (s) =>
      hex(s)
        .toUpperCase()
        .replace(/..(?=.)/g, '$&:'),
  ],
  ['in HTML entities', SYMBOLS, (s) => s.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;')],
  [
    'in numeric HTML entities',
    SYMBOLS,
    (s) => s.replaceAll('&', '&#38;').replaceAll('<', '&#x3C;').replaceAll("'", '&#039;'),
  ],
  ['quoted for a shell', "[A-Za-z]{4}[0-9][A-Za-z0-9]{5}'[A-Za-z0-9]{6}", (s) => `'${s.replaceAll("'", `'\\''`)}'`],
  ['in \\x escapes', KEY, (s) => every(s, (one) => `\\x${hex(one)}`)],
  ['in \\u escapes', KEY, (s) => every(s, (one) => `\\u00${hex(one)}`)],
  ['with colours inside', KEY, (s) => half(s, `${ESC}[1m`)],
  ['with a zero-width character inside', KEY, (s) => half(s, '\u200d')],
].map(([name, value, again]) => [
  `once more, ${name}`,
  value,
  (s) => `${named(s)}and later the program printed ${again(s)} here`,
])

/** The decoded password of what a rule removes in its encoded form. */
const DECODED = [
  [
    'the password of a Basic header, decoded elsewhere',
    KEY,
    (s) => `Authorization: Basic ${base64(`ann:${s}`)}\nlogged in with ${s} today`,
  ],
  [
    'the password of a percent-encoded URL, decoded elsewhere',
    '[A-Za-z]{4}[0-9]#[A-Za-z0-9]{7}',
    (s) => `postgres://ann:${encodeURIComponent(s)}@db/app\nlogged in with ${s} today`,
  ],
]

export const ENCODED = [...ALONE, ...AGAIN, ...DECODED]
