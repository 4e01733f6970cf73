use std::collections::BTreeSet;

use super::*;

/// The text with every secret between `«` and `»`.
fn marked(text: &str) -> String {
    let (mut out, mut at) = (Vec::new(), 0);
    find(text.as_bytes(), &|start, end| (start, end), &mut |start, end| {
        out.extend_from_slice(&text.as_bytes()[at..start]);
        out.extend_from_slice(format!("«{}»", &text[start..end]).as_bytes());
        at = end;
    });
    out.extend_from_slice(&text.as_bytes()[at..]);
    String::from_utf8(out).unwrap()
}

pub(crate) const SECRETS: &[&str] = &[
    // Environments and shells.
    "export DB_PASSWORD='«hunter2»'",
    "export DB_PASSWORD=\"«correct horse battery staple»\"",
    "PGPASSWORD=«swordfish» psql -h db",
    "MYSQL_PWD=«letmein9» mysqldump x",
    "docker run -e POSTGRES_PASSWORD=«mysecretpassword» -d postgres",
    "SECRET_KEY=«django-insecure-5#k@1&d!x»",
    "GITHUB_TOKEN=«abcdefgh» gh api user",
    "set API_KEY=«0a1b2c3d4e»",
    "$env:AZURE_CLIENT_SECRET = \"«Qm9-x.7zt»\"",
    "ENV SMTP_PASS=«Zx81qqq»",
    "AZURE_STORAGE_KEY=«kq3VZ0aB9cD8eF7gH6iJ5kL4mN3oP2qR1sT0uV9wX8yZ7aB6cD5eF4gH3iJ2kL1mN0oP9qR8sT7uV6wX5yZ4aB3cQ==»",
    "AWS_SESSION_TOKEN=«FwoGZXIvYXdzEBYaDK7example+/x»",
    "OPENAI_KEY2=«9f8e7d6c5b4a»",
    "password=«swordfish»",
    "spring.datasource.password=«swordfish»",
    "  db_password: «hunter2»",
    "- password: «Tr0ub4dor&3»",
    "root_password = «hunter2»",
    "kubectl create secret generic db --from-literal=password=«QVz4QCNc_mwauyw» -n app",
    "password    «wvt3MVWB_PQTOPC»",
    "password=«AAAA0AAAaa_0»",
    "sessionId2=«aaaa0bAB_c__1»",
    "--password «aaaa00000AA0» --verbose",
    "setenv PLATFORM_API_TOKEN «QVz4QCNc_mwauyw»",
    "#define WIFI_PASSWORD \"«swordfish»\"",
    "::set-output name=deploy_token::«swordfish»",
    "requests.get(url, auth=(\"ann\", \"«swordfish»\"))",
    "<key>APIToken</key>\n  <string>«swordfish»</string>",
    "<string name=\"maps_api_key\">«swordfish»</string>",
    "\"db_password\": {\n \"sensitive\": true,\n \"value\": \"«swordfish»\"\n}",
    "[\"--api-key\",\n \"«0651d023d85c»\"]",
    // JSON, YAML, programs.
    "{\"password\" : \"«hunter2»\", \"a\": 1}",
    "{\\\"password\\\": \\\"«hunter2»\\\"}",
    "apiKey: \"«swordfish»\",",
    "const apiKey = '«a1b2c3»';",
    "  \"client_secret\": \"«7f2c-shhh»\"",
    ":password => \"«hunter2»\",",
    "'passwd' => '«hunter2»',",
    "let password: &str = \"«opensesame»\";",
    "password: str = '«opensesame»'",
    "const token: string = \"«k3x9q2m7p1»\"",
    "String dbPassword = \"«opensesame»\";",
    "config['SECRET_KEY'] = '«opensesame»'",
    "os.environ[\"API_TOKEN\"] = \"«opensesame»\"",
    "password := \"«opensesame»\"",
    "user.password ||= \"«opensesame»\"",
    "define('DB_PASSWORD', '«h4nter2x»');",
    "connect(host='x', password='«opensesame»')",
    "auths: {\"auth\": \"«dXNlcjpwNHNzdzByZA==»\"}",
    "    token: «kubeconfig-u-9x8zt:7fk2mm4»",
    "refresh_token: «1bX9-q4ZK0p»",
    "PrivateKey = «yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=»",
    "{\"name\": \"DB_PASSWORD\", \"value\": \"«swordfish»\"}",
    "<add key=\"ApiKey\" value=\"«swordfish»\"/>",
    "<password>«opensesame»</password>",
    "<wsse:Password Type=\"#PasswordText\">«opensesame»</wsse:Password>",
    "pass: [\"x\"], userPassword: '«opensesame»'",
    // Flags.
    "mysql --user=root --password=«swordfish» db",
    "tool --password «hunter2» --verbose",
    "tool --api-key '«swordfish»'",
    "az login --client-secret=«Abc~def»",
    "Connect -Password \"«swordfish»\"",
    // Headers, queries.
    "X-API-Key: «swordfish»",
    "curl -H 'X-Api-Key: «swordfish»' https://x",
    "curl -H \"X-Auth-Token: «s3cr3t»\"",
    "PRIVATE-TOKEN: «abcdefgh»",
    "https://x.example/a?access_token=«abcdefgh»&b=c",
    "GET /cb?state=1&token=«abcdefgh» HTTP/1.1",
    "grant_type=password&username=x&password=«hunter2»&scope=y",
    "//registry.npmjs.org/:_authToken=«0c3f1b52-8d1e-4b5c-9f7a-2f6f0b1c9d11»",
    "_auth=«dXNlcjpwNHNzdzByZA==»",
    "| password | «hunter2!» |",
    "Set-Cookie: JSESSIONID=«0A1B2C3D4E5F60718293A4B5C6D7E8F9»; Path=/",
    "Server=x;User Id=sa;Password=«P@ssw0rd»;Encrypt=true",
    "passphrase: \"«correct horse battery staple»\"",
    "set -gx MAPBOX_ACCESS_TOKEN «36c67ab4-fbcf-4f10-bb3c-8e0d8ca31fba»",
    "ENV JWT_SECRET «c7271a69ab»",
    "env:\n  - name: STRIPE_WEBHOOK_SECRET\n    value: «d0dcc835x»\n",
    "\"apiKeys\": [\n  \"«e7e8b3c452033093bc85»\"\n]",
    "{\"ParameterKey\": \"DBPassword\", \"ParameterValue\": \"«2f50f15a7936»\"}",
    "dataSource.setPassword(\"«tpLfr01C7UqTzqk2»\");",
    "if (password === \"«fannx-qdcahez-koot9!»\") return;",
    "ok, the password is «f2fcc6371dc4dbf9» and",
    "- **Password:** `«f4ab31f8440bc14e»`",
    "helm registry login x --password «ptx0gJjg_VvJBfm» y",
    "    token: «hrApU38hkuWmyhwR»",
    "password    «dca67a81-5c08-4382-98cb-4180d59f36db»",
    "form-data; name=\"password\"\r\n\r\n«CRsot68Z»\r\n--boundary",
    "<meta name=\"csrf-token\" content=\"«ofq7xPpx_a1ztJr»\">",
    "API_TOKEN=\"«Sfnc7 wMJKU6&oMka»\"",
    "ansible_become_pass: \"«dbfeRzberj12»\"",
    "X_RAPIDAPI_KEY: '«6d2ac00f58db»'",
    "keytool -storepass «c353c5f7» -keyalg RSA",
    // What looks like an identifier, where there is no code.
    "session_id=«aAab0_c_1___d_»",
    "credential=«AAAA0acdeb__»",
    "token=«aaaa034AB__1»",
    "export token=«aaaa3_a_aa__»",
    "level=debug token=«abcd1_efgh» ok=true",
    "/a?b=1&credential2=«aaaa1ggcchja»&c=2",
    "a=b; token=«abcd1_efgh»; path=/",
    "auth=«abCd_eFgh»",
    "CREDENTIAL=\"«aaaa2____aa_b»\"",
    "api_key: «bgcd8__a_aa_____aaaa»",
    "password=«fZbo2.cPAoEG»",
    "passwd = «ePOV4.tUNvF7»",
    "passwd = «mGYc3.krPai9»",
    "passwd = «WJBa5.ceShld»",
    "password: \"«fvvzBaxxxx92»\"",
    "token = \"«cioIuivSiugRuiixhxvwxGHWnWXjEHzFWRa»\"",
    "\"SecretAccessKey\": \"«/Ib81AAnlgvifkLkct/bNZwvaYJgQUarunY8M40n»\"",
    "./migrate --password=«zSSt0.rlcyKI» --dry-run",
    "my-token: «abcd1_efgh»",
    "--session-id-2 «aaaa71a11aaa1111» --verbose",
    "--db_credential=«aada4__aaa___a»",
];

pub(crate) const INNOCENT: &[&str] = &[
    "export DB_PASSWORD=$PASSWORD",
    "export DB_PASSWORD=\"${PASSWORD}\"",
    "DB_PASSWORD=$(pass show db)",
    "DB_PASSWORD=`pass show db`",
    "password = process.env.PASSWORD",
    "password = os.environ['DB_PASSWORD']",
    "password = getpass.getpass('Password: ')",
    "password = getpass(\"Enter password\")",
    "const token = await getToken(user);",
    "token = tokenizer.next_token()",
    "self.token = token",
    "this.password = password;",
    "connect(host=host, password=password)",
    "connect(user=user, password=self.password, token=settings.token)",
    "password: <your password>",
    "API_KEY=YOUR_API_KEY",
    "API_KEY=<API_KEY>",
    "API_KEY=xxxxxxxx",
    "password=***",
    "password: changeme",
    "password=None",
    "\"password\": null,",
    "password: true",
    "max_tokens=4096",
    "\"max_tokens\": 4096, \"token_count\": 12",
    "\"input_tokens\":123,\"output_tokens\":45",
    "token: Token",
    "token: Token,",
    "fn login(user: &str, password: &str) -> Token {",
    "password: String,",
    "password: str = None",
    "password?: string;",
    "def f(token: Optional[str] = None, auth=None):",
    "the password is required",
    "Password: the user's password",
    "token: an opaque string returned by the server",
    "Error: password authentication failed for user \"x\"",
    "Access denied for user 'root'@'localhost' (using password: YES)",
    "SyntaxError: Unexpected token < in JSON at position 0",
    "Unexpected token: ','",
    "token=expired user=joe",
    "auth=success method=publickey",
    "\"password\": \"Password\"",
    "\"password\": \"Enter your password\"",
    "\"password\": {\"type\": \"string\"}",
    "password: { type: String, required: true }",
    "<input type=\"password\" name=\"password\" placeholder=\"Password\">",
    "  --password TEXT   The password to use",
    "  --token string    the token",
    "usage: login [--password PASSWORD] [--token TOKEN]",
    "if password == 'x': return",
    "if (token === 'end') {}",
    "(password) => hash(password)",
    "tokens = text.split(' ')",
    "keys = ['password', 'username', 'token']",
    "\"fields\": [\"password\", \"email\"]",
    "cookie: session",
    "credentials: 'same-origin',",
    "fetch(url, { credentials: \"include\" })",
    "auth: basic",
    "auth: 'oauth2'",
    "secrets: inherit",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: {{ .Values.password }}",
    "password: \"{{ db_password }}\"",
    "secretName: my-secret",
    "secretKeyRef: {name: x, key: y}",
    "passwordField: '#password'",
    "password_hash = bcrypt(password)",
    "PASSWORD_FILE=/run/secrets/db",
    "PWD=/home/joe",
    "OLDPWD=/home/joe/src",
    "pwd: /usr/src/app",
    "tokenizer = \"cl100k_base\"",
    "token_type=bearer",
    "session_id=42",
    "sessionId: 0c3f1b52-8d1e-4b5c-9f7a-2f6f0b1c9d11",
    "\"sessionId\":\"0c3f1b52-8d1e-4b5c-9f7a-2f6f0b1c9d11\"",
    "author: joe99x",
    "public_key = ssh-ed25519",
    "primary_key=True, foreign_key='users.id'",
    "key = \"a1b2c3d4\"",
    "keyboard: 'qwerty123'",
    "bypass: a1b2c3d4",
    "compass = 'n0rth'",
    "secretary: \"Joan4\"",
    "eos_token = '</s>'",
    "next_page_token: \"a1b2c3d4e5\"",
    "| Token | Purpose | Examples |",
    "| `--password` | the password |",
    "import { token } from './token';",
    "password.length < 8",
    "assert token.value == 'x'",
    "password: [redacted:named-secret]",
    "expect(screen.getByLabelText('password')).toBeInTheDocument()",
    "const [password, setPassword] = useState('')",
    "private static final String PASSWORD_KEY = \"password\";",
    "TOKEN_EXPIRED = 'token_expired'",
    "auth: AuthService,",
    "token := scanner.Token()",
    "let token = lexer.next()?;",
    "match token { Token::Ident => 1, _ => 2 }",
    "api_key=api_key, model=\"gpt-4\"",
    "apiKey: process.env.OPENAI_API_KEY,",
    "log.Printf(\"token: %s\", token)",
    "printf(\"password=%s\\n\", password);",
    "f\"token={token}\"",
    "password=secretstr",
    "Cookie: <cookie>",
    "access_token: string;",
    "private_key: ./keys/server.pem",
    "ssh_key: ~/.ssh/id_ed25519",
    "auth_method = sha256",
    "credential.helper=store",
    "git config credential.helper 'cache --timeout=3600'",
    "2024-01-01 INFO auth: login ok user=joe",
    "PASS: TestPassword (0.00s)",
    "first_pass: 12",
    "The API key: see the dashboard.",
    "Passwort: Bitte geben Sie Ihr Passwort ein",
    "\"password\": \"Kennwort\"",
    "\"token\": \"Zugangsschlüssel\"",
    "{\\\"stdout\\\":\\\"self.password = password\\\"}",
    "{\"stdout\":\"password = getpass(\\\"Password: \\\")\\nlines\"}",
    "password: false\\nshow_password: true\\ntoken: none",
    "the password is required and the token is invalid",
    "setToken(token); setPassword(event.target.value)",
    "token       the token to use",
    "password=$1, token text, password varchar(255)",
    "tokens: [\"the\", \"cat\"]",
    // Identifiers with digits.
    "token=token_2",
    "session_id=session_12",
    "auth=hmac_sha256",
    "--auth oauth2_client --verbose",
    "token=access_token_v2 ok=true",
    "login(token=tok_1_abc, credentials=creds_v2_abc)",
    "login(\n    user=user,\n    credentials=creds_v2_abc,\n)",
    "if (x) token=next_tok_2;",
    "token=lexer2.next_token",
    "password = oauth2.apiV2",
    "password: \"abc-xxxx\", secret: \"sk1xxxxxxabc\", api_key: \"abc1XXXX\"",
    "SECRET_KEY=/etc/Secrets1/App2/Keys3",
    "token = getAccessTokenOfTheCurrentUser",
    "password=config2.basePassword",
    "token=peek_2(input) ",
    "token=tokens_2[at_3] ",
    "token: Utf8String\n",
    "auth: Oauth2Session\n",
    "token: abcd1_efgh,",
    "<Box token=\"colorPrimary2\" size=\"2\">",
    "credentials=MyGoogleCredential",
    "token=nextTokenOf",
    "12:00 INFO session_id=run_2026_abc started",
];

#[test]
fn values_given_to_names_of_secrets_are_found_in_every_notation() {
    let missed: Vec<_> = SECRETS
        .iter()
        .map(|expected| (expected, marked(&expected.replace(['«', '»'], ""))))
        .filter(|(expected, found)| **expected != found)
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn variables_code_placeholders_states_and_prose_are_not_secrets() {
    let hit: Vec<_> = INNOCENT.iter().map(|text| marked(text)).filter(|text| text.contains('«')).collect();
    assert!(hit.is_empty(), "{hit:#?}");
}

#[test]
fn every_secret_with_a_name_is_a_candidate_of_the_prefilter() {
    for text in SECRETS.iter().map(|text| text.replace(['«', '»'], "")) {
        let encoded = serde_json::to_string(&text).unwrap();
        for text in [text, encoded] {
            let is_candidate = |literal: &str| {
                let mut places = memchr::memmem::find_iter(text.as_bytes(), literal);
                places.any(|at| {
                    is_plausible(literal.as_bytes(), &text.as_bytes()[..at], &text.as_bytes()[at + literal.len()..])
                })
            };
            assert!(LITERALS.iter().any(|literal| is_candidate(literal)), "{text}");
        }
    }
}

#[test]
fn names_are_found_in_every_case_with_prefix_and_suffix() {
    let parsed: BTreeSet<_> = ["DB_PASSWORD", "dbPassword", "db-password", "password_prod", "PGPASSWORD", "Password2"]
        .into_iter()
        .filter(|name| Name::parse(name.as_bytes()).is_some_and(|name| name.kind == Kind::Password))
        .collect();
    assert_eq!(parsed.len(), 6, "{parsed:?}");
    for name in
        ["password_hash", "tokenizer", "max_tokens", "author", "passwordless", "public_key", "token_url", "monkey"]
    {
        assert_eq!(Name::parse(name.as_bytes()), None, "{name}");
    }
}

#[test]
fn members_are_secret_or_not_by_their_key() {
    for (key, text) in [
        ("password", "swordfish"),
        ("db.password", "correct horse battery staple"),
        ("apiKey", "swordfish"),
        ("auth", "dXNlcjpwNHNzdzByZA=="),
        ("Authorization", "k3x9q2m7p1"),
        ("password", "123456"),
    ] {
        assert!(is_secret_of(key.as_bytes(), text.as_bytes()), "{key}: {text}");
    }
    for (key, text) in [
        ("password", "Enter your password"),
        ("password", "string"),
        ("token", "hello"),
        ("sessionId", "0c3f1b52-8d1e-4b5c-9f7a-2f6f0b1c9d11"),
        ("auth", "basic"),
        ("token_count", "a1b2c3d4"),
        ("password", "$PASSWORD"),
        ("text", "a1b2c3d4"),
    ] {
        assert!(!is_secret_of(key.as_bytes(), text.as_bytes()), "{key}: {text}");
    }
}
