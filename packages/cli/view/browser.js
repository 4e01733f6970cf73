'use strict'

// Opens an address in the user's browser.

const { spawn } = require('node:child_process')

/**
 * The command that opens an address, or null if there is no desktop or `BROWSER` is `none`.
 *
 * @type {(platform: NodeJS.Platform, env: NodeJS.ProcessEnv) => string[] | null}
 */
function openerFor(platform, env) {
  if (env.BROWSER === 'none') return null
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  if (env.BROWSER) return [env.BROWSER]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : null
}

/**
 * @param {string} address
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>} whether a program that opens it was started
 */
function openInBrowser(address, env, platform = process.platform) {
  const opener = openerFor(platform, env)
  if (opener === null) return Promise.resolve(false)
  const [command, ...args] = opener
  return new Promise((resolve) => {
    const child = spawn(command, [...args, address], {
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, ...env },
    })
    child.on('error', () => resolve(false))
    child.on('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

module.exports = { openInBrowser, openerFor }
