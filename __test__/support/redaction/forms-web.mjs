// Secrets in requests: headers, cookies, addresses, and the commands and records that contain them.

import { HEX32, UUID, chosen, generated, plain } from './values.mjs'

const base64 = (text) => Buffer.from(text).toString('base64')

export const WEB = [
  [
    'Authorization: Bearer',
    plain,
    (s) => `> GET /v1/me HTTP/1.1\n> Host: api.example.com\n> Authorization: Bearer ${s}\n> Accept: */*`,
  ],
  ['Authorization: Basic', plain, (s) => `Authorization: Basic ${base64(`ann:${s}`)}`],
  ['Authorization without a scheme', plain, (s) => `curl -H "Authorization: ${s}" https://api.example.com`],
  [
    'authorization in an object of headers',
    plain,
    (s) => ({ url: 'https://api.example.com', headers: { accept: '*/*', authorization: s } }),
  ],
  [
    'authorization in an array of pairs',
    plain,
    (s) => ({
      headers: [
        ['accept', '*/*'],
        ['authorization', `Bearer ${s}`],
      ],
    }),
  ],
  ['authorization in a flat array', plain, (s) => ({ rawHeaders: ['Host', 'example.com', 'Authorization', s] })],
  [
    'authorization as a name and a value of HAR',
    plain,
    (s) => ({ request: { headers: [{ name: 'Authorization', value: s }] } }),
  ],
  ['a cookie of HAR', plain, (s) => ({ cookies: [{ name: 'sessionid', value: s, httpOnly: true }] })],
  ['a parameter of HAR', plain, (s) => ({ queryString: [{ name: 'access_token', value: s }] })],
  ['X-API-Key', plain, (s) => `curl -s -H 'X-API-Key: ${s}' https://api.example.com/v1`],
  ['x-auth-token in lower case', plain, (s) => `x-auth-token: ${s}\ncontent-type: application/json`],
  [
    'PRIVATE-TOKEN of GitLab',
    plain,
    (s) => `curl --header "PRIVATE-TOKEN: ${s}" "https://gitlab.example.com/api/v4/projects"`,
  ],
  ['Proxy-Authorization', plain, (s) => `Proxy-Authorization: Basic ${base64(`proxy:${s}`)}`],
  ['Ocp-Apim-Subscription-Key', HEX32, (s) => `Ocp-Apim-Subscription-Key: ${s}`],
  [
    'Authorization of AWS, signature',
    '[0-9a-f]{64}',
    (s) =>
      `Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=${s}`,
  ],
  ['Cookie', plain, (s) => `Cookie: theme=dark; sessionid=${s}; lang=en`],
  ['Set-Cookie', plain, (s) => `Set-Cookie: connect.sid=s%3A${s}; Path=/; HttpOnly; Secure`],
  ['a cookie in an object of headers', plain, (s) => ({ headers: { cookie: `a=1; auth=${s}` } })],
  ['curl -b', plain, (s) => `curl -b "JSESSIONID=${s}" https://app.example.com/`],
  [
    'a cookie file of Netscape',
    plain,
    (s) => `# Netscape HTTP Cookie File\n.example.com\tTRUE\t/\tTRUE\t1893456000\tsessionid\t${s}`,
  ],
  ['curl -u', plain, (s) => `curl -u ann:${s} https://api.example.com/v1`],
  ['curl --user with quotes', chosen, (s) => `curl --user 'ann:${s}' -X POST https://api.example.com/v1`],
  ['curl -u without a blank', plain, (s) => `curl -sS -uann:${s} https://api.example.com/v1`],
  ['curl --data with JSON', chosen, (s) => `curl -d '{"user":"ann","password":"${s}"}' https://api.example.com/login`],
  [
    'curl --data with a form',
    plain,
    (s) => `curl -d "grant_type=password&username=ann&password=${s}" https://auth.example.com/token`,
  ],
  ['wget --password', plain, (s) => `wget --user=ann --password='${s}' https://files.example.com/a.tgz`],
  ['HTTPie: a header', plain, (s) => `http POST api.example.com/v1 X-Api-Token:${s} name=x`],
  ['HTTPie -a', plain, (s) => `http -a ann:${s} api.example.com/v1`],
  ['a query: access_token', plain, (s) => `GET https://api.example.com/v1/me?fields=id&access_token=${s}&v=2`],
  ['a query: key', plain, (s) => `https://maps.example.com/json?address=x&api_key=${s}`],
  ['a query: token at its beginning', plain, (s) => `open https://app.example.com/invite?token=${s}`],
  ['a fragment: id_token', plain, (s) => `https://app.example.com/cb#state=1&id_token=${s}`],
  ['a query: code of OAuth with its secret', plain, (s) => `POST /oauth/token client_id=web&client_secret=${s}&code=x`],
  [
    'a signed URL of S3',
    '[0-9a-f]{64}',
    (s) =>
      `https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z&X-Amz-Signature=${s}`,
  ],
  ['a URL: password of a database', plain, (s) => `DATABASE_URL=postgres://app:${s}@db.internal:5432/app`],
  ['a URL: password with a slash', '[A-Za-z]{4}[0-9]{2}/[A-Za-z0-9]{6}', (s) => `redis://:${s}@cache.internal:6379/0`],
  [
    'a URL: password with a dollar',
    '[A-Za-z]{4}[$][A-Za-z0-9]{6}[0-9]',
    (s) => `mongodb://app:${s}@m1.internal,m2.internal/app`,
  ],
  [
    'a URL: password that looks like a variable and goes on',
    '[$]{x}[A-Za-z0-9]{8}[0-9]',
    (s) => `amqp://app:${s}@mq.internal:5672`,
  ],
  ['a URL: password between per cent signs', '%[a-z]{3}[0-9]{3}[a-z]{4}%', (s) => `mysql://app:${s}@db.internal/app`],
  ['a URL: password with an @', '[A-Za-z]{5}@[A-Za-z0-9]{6}[0-9]', (s) => `ftp://ann:${s}@files.example.com/x`],
  ['a URL: token as the user', UUID, (s) => `git clone https://${s}:x-oauth-basic@git.example.com/a/b.git`],
  ['a remote of git', plain, (s) => `origin\thttps://ci-bot:${s}@git.example.com/team/app.git (fetch)`],
  ['a URL in a pip option', plain, (s) => `pip install --extra-index-url https://ci:${s}@pypi.example.com/simple pkg`],
  ['a DSN of Sentry', HEX32, (s) => `SENTRY_DSN=https://${s}@o123.ingest.sentry.io/456`],
  [
    'a body of a form',
    plain,
    (s) => `--boundary\r\nContent-Disposition: form-data; name="password"\r\n\r\n${s}\r\n--boundary--`,
  ],
  [
    'a body of multipart with a token',
    plain,
    (s) => `Content-Disposition: form-data; name="api_token"\r\n\r\n${s}\r\n`,
  ],
  [
    'SOAP: wsse:Password',
    generated,
    (s) => `<wsse:Username>ann</wsse:Username><wsse:Password Type="x#PasswordText">${s}</wsse:Password>`,
  ],
  [
    'GraphQL variables',
    chosen,
    (s) => ({
      query: 'mutation($p:String!){login(password:$p){id}}',
      variables: { input: { email: 'a@b.c', password: s } },
    }),
  ],
  ['a fetch call in code', plain, (s) => `await fetch(url, { headers: { 'Authorization': 'Bearer ${s}' } })`],
  ['requests in Python, auth pair', chosen, (s) => `requests.get(url, auth=("ann", "${s}"))`],
  ['a value of an HTML form', chosen, (s) => `<input type="password" name="pwd" value="${s}">`],
  ['a CSRF token of a page', plain, (s) => `<meta name="csrf-token" content="${s}">`],
]
