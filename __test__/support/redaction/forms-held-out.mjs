// Forms that were written beside the list, and that whoever wrote the rules has not seen: how well the rules find what nobody thought of.
// No test asks for them; measure.mjs counts them.

import { chosen, plain } from './values.mjs'

const base64 = (text, encoding = 'utf8') => Buffer.from(text, encoding).toString('base64')

export const HELD_OUT = [
  ['systemd: Environment=', chosen, (s) => `[Service]\nEnvironment="MAIL_PASSWORD=${s}"\nExecStart=/usr/bin/app`],
  ['csh: setenv', plain, (s) => `setenv PLATFORM_API_TOKEN ${s}`],
  ['nix: a set', chosen, (s) => `services.app = { user = "app"; adminPassword = "${s}"; };`],
  ['Kotlin: val', plain, (s) => `val clientSecret = "${s}"`],
  ['Swift: let with a type', plain, (s) => `let apiToken: String = "${s}"`],
  ['Rust: const', plain, (s) => `const API_KEY: &str = "${s}";`],
  ['C: #define', plain, (s) => `#define WIFI_PASSWORD "${s}"`],
  ['CSV with a header', plain, (s) => `user,password,role\nann,${s},admin`],
  ['a browser: localStorage', plain, (s) => `localStorage.setItem('access_token', '${s}');`],
  ['a browser: document.cookie', plain, (s) => `document.cookie = "session_token=${s}; path=/";`],
  ['plist of macOS', chosen, (s) => `<key>APIToken</key>\n<string>${s}</string>`],
  ['strings.xml of Android', plain, (s) => `<string name="maps_api_key">${s}</string>`],
  ['Elixir: config', chosen, (s) => `config :app, App.Repo, username: "app", password: "${s}"`],
  ['Clojure: a map', chosen, (s) => `{:user "app" :password "${s}"}`],
  [
    'a query string in a JSON log',
    plain,
    (s) => ({ level: 'info', path: `/cb?state=1&refresh_token=${s}`, status: 302 }),
  ],
  ['a WebSocket address', plain, (s) => `wss://stream.example.com/socket?auth_token=${s}&v=1`],
  ['JDBC with parameters', plain, (s) => `jdbc:mysql://db:3306/app?user=app&password=${s}&useSSL=true`],
  ['ODBC: PWD', plain, (s) => `Driver={ODBC Driver 18};Server=db;UID=sa;PWD=${s};`],
  ['LDAP: ldapsearch -w', plain, (s) => `ldapsearch -x -D cn=admin,dc=example -w ${s} -b dc=example`],
  ['smbclient -U', plain, (s) => `smbclient //nas/share -U ann%${s}`],
  ['zip -P', plain, (s) => `zip -P ${s} backup.zip data.sql`],
  [
    'fetch with an object in code, key without quotes',
    plain,
    (s) => `axios.post(url, {}, { headers: { 'x-access-token': '${s}' } })`,
  ],
  ['gitlab-ci variables', chosen, (s) => `variables:\n  DEPLOY_USER: ci\n  DEPLOY_PASSWORD: "${s}"`],
  ['an address of Slack by itself: refresh', 'xoxe-1-[A-Za-z0-9]{147}', (s) => `refresh it with ${s} please`],
  ['Airtable', 'pat[A-Za-z0-9]{14}.[0-9a-f]{64}', (s) => `AIRTABLE_PAT is ${s}`],
  ['Postman', 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', (s) => `this one works: ${s}.`],
  ['Figma', 'figd_[A-Za-z0-9_-]{40}', (s) => `figma gave me ${s}`],
  ['Fly.io', 'fo1_[A-Za-z0-9_-]{43}', (s) => `flyctl auth token printed ${s}`],
  ['Mailgun', 'key-[0-9a-f]{32}', (s) => `curl --user 'api:${s}' https://api.mailgun.net/v3/x/messages`],
  [
    'password in a nested quote of YAML in shell',
    plain,
    (s) => `kubectl patch secret db -p '{"stringData":{"password":"${s}"}}'`,
  ],
  [
    'gzip-free: env file as UTF-16 base64 in JSON',
    plain,
    (s) => ({ content: base64(`DB_PASSWORD=${s}\r\n`, 'utf16le'), encoding: 'base64' }),
  ],
  ['base64 twice', 'ghp_[A-Za-z0-9]{36}', (s) => `x: ${base64(base64(`token ${s}`))}`],
  ['percent-encoded twice', plain, (s) => `next=https%253A%252F%252Fx%252Fcb%253Faccess_token%253D${s}%2526a%253D1`],
  ['a diff line', chosen, (s) => `-  password: "changeme"\n+  password: "${s}"`],
  ['grep -n with a path', plain, (s) => `config/prod.env:12:DB_PASSWORD=${s}\nconfig/prod.env:13:PORT=80`],
  ['cat -A', plain, (s) => `SECRET_KEY=${s}$\nDEBUG=false$`],
  ['line numbers of an editor', plain, (s) => `    11\tuser: app\n    12\tpassword: ${s}\n    13\tport: 1`],
  ['set -x of bash', plain, (s) => `+ export API_TOKEN=${s}\n+ API_TOKEN=${s}\n+ ./run.sh`],
  ['repr of a request', plain, (s) => `send: b'GET /v1 HTTP/1.1\\r\\nHost: x\\r\\nX-Auth-Token: ${s}\\r\\n\\r\\n'`],
  ['PHP: $config array assignment', chosen, (s) => `$config['db_password'] = '${s}';`],
]
