// Innocent text that was written beside the list, as the forms of forms-held-out.mjs were.

export const INNOCENT_HELD_OUT = [
  'const [password, setPassword] = useState("");', 'setPassword(event.target.value);', 'password: Joi.string().min(8).required(),',
  'z.object({ token: z.string(), apiKey: z.string().optional() })', 'token: string;', 'apiKey?: string', 'secret: Buffer;', 'let password: &str = &args[1];',
  'password = input("Password: ")', 'password = request.form["password"]', 'token = request.headers.get("Authorization")', 'token = auth_header.split(" ")[1]',
  'const secret = await vault.read("secret/data/app");', 'TOKEN=$(cat /run/secrets/token)', 'TOKEN=`cat token`', 'password = config.get("db", "password")',
  'password = ENV.fetch("DB_PASSWORD")', 'api_key = Rails.application.credentials.api_key', 'password: process.env.DB_PASSWORD!,', 'Password = builder.Configuration["Db:Password"]',
  'private static final String TOKEN_HEADER = "X-Auth-Token";', 'const TOKEN_KEY = "access_token";', 'SESSION_COOKIE_NAME = "sessionid"', 'AUTH_USER_MODEL = "users.User"',
  'token_url: https://auth.example.com/oauth/token', 'tokenEndpoint: "https://auth.example.com/token"', 'auth: { type: "basic" }', 'authentication: required', 'auth_required=true',
  'credentials: file', 'credential.helper=osxkeychain', 'secrets: inherit', 'token-permissions: read-all', 'PASSWORD_MIN_LENGTH=12', 'PASSWORD_RESET_TIMEOUT=3600', 'API_KEY_HEADER=X-API-Key',
  'tokens: 4096 (limit 8192)', 'Token usage: total=1,532 input=1,200 output=332', 'secret sharing: see chapter 4', 'password hashing: argon2id', 'password policy: strong', 'Token type: JWT', 'token_type: bearer', 'grant_type=password',
  'id: "password", label: "Password", type: "password"', '"password": "The password must not be empty"', '"password": ["This field is required."]', '{"error":"invalid_token","error_description":"The access token expired"}',
  '-p 8080:80 --name auth', '-u root', 'ssh -i ~/.ssh/key user@host', 'git config user.password.helper none', 'passwd: password updated successfully', 'passwd ann', 'keytool -storepass:env STOREPASS', 'openssl enc -pass env:PASS',
  'cookie: {secure: true, httpOnly: true, maxAge: 60000}', 'app.use(session({ secret: process.env.SESSION_SECRET }))', 'Cookie: $COOKIE', 'session_id: 42', 'sessionId: session.id',
  'password == other.password && token != null', 'assertEquals("secret", cipher.decrypt(token));', 'expect(token).toBe(undefined)', 'mock_password.return_value = None', 'token[0] == "#"', "tokens['access'].set_exp()", 'lexer: token=IDENT value=foo',
  'The API key: where to find it', 'Auth: none', 'Secret Manager: enabled', 'key: value', 'primary_key: true', 'foreign_key=user_id', 'sort_key: created_at', 'keyboard: true', 'public_key: ./id.pub', 'api_key_id: 7', 'access_key_count: 2',
  'private: true', 'secretary: Ms Lee', 'tokenization: word-level', 'author: token ring fans', 'passport: required', 'pass: 12 fail: 0', 'tests pass=12, fail=0', 'bypass=true', 'compass: north', 'pwd: /home/ann/project', 'PWD=/home/ann/project', 'OLDPWD=/tmp', 'SSH_AUTH_SOCK=/tmp/ssh-x/agent.1', 'XAUTHORITY=/run/user/1000/.mutter-Xwaylandauth', 'DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus', 'XDG_SESSION_ID=3', 'XDG_SESSION_TYPE=wayland', 'GPG_AGENT_INFO=', 'HISTCONTROL=ignoreboth',
];
