use std::collections::BTreeSet;

use super::*;
use crate::bundle::redact::matcher::{Form, MatchContext, Matcher};
use crate::bundle::redact::rule::{RedactOptions, RuleSet};

/// Redacts a text as a JSON string, the value of `key`.
fn redacted_text(key: Option<&str>, text: &str) -> String {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let inside = serde_json::to_string(text).unwrap();
    let inside = &inside[1..inside.len() - 1];
    let context = MatchContext { key: key.map(str::as_bytes), ..MatchContext::at(Form::JsonString) };
    let redacted = matcher.redacted(inside.as_bytes(), context, &mut BTreeSet::new()).unwrap();
    let line = format!("{{\"{}\":\"{inside}\"}}", key.unwrap_or("text"));
    assert!(redacted.is_none() || matcher.may_match(line.as_bytes()), "{text} is hit and would be passed over");
    redacted.map_or(text.to_owned(), |redacted| {
        serde_json::from_str(&format!("\"{}\"", String::from_utf8(redacted).unwrap())).unwrap()
    })
}

/// A pseudo-random text, always the same.
fn random(length: usize, alphabet: &str) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = 88_172_645_463_325_252u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[(state % alphabet.len() as u64) as usize]
    };
    std::iter::repeat_with(next).take(length).collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn alnum(length: usize) -> String {
    random(length, ALNUM)
}

fn pem(label: &str) -> String {
    let lines = (0..5).map(|_| random(64, ALNUM)).collect::<Vec<_>>().join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}

/// Texts for each rule, with the secret between `«` and `»`.
fn true_positives() -> Vec<(&'static str, Vec<String>)> {
    let marked = |before: &str, secret: &str| format!("{before}«{secret}»");
    let pem_of = |label: &str| format!("«{}»\n", pem(label).trim_end());
    vec![
        (
            "private-key",
            vec![
                pem_of("PRIVATE KEY"),
                "«-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----»".to_owned(),
                "k: «-----BEGIN EC PRIVATE KEY-----\\nfake\\n-----END EC PRIVATE KEY-----»".to_owned(),
                "«-----BEGIN RSA PRIVATE KEY-----fake-----END RSA PRIVATE KEY-----» x".to_owned(),
                pem_of("RSA PRIVATE KEY"),
                pem_of("ENCRYPTED PRIVATE KEY"),
                pem_of("OPENSSH PRIVATE KEY"),
                pem_of("PGP PRIVATE KEY BLOCK"),
                format!("const key = \"{}\";", pem_of("EC PRIVATE KEY").trim_end().replace('\n', "\\n")),
                format!(
                    "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,{}\n\n{}\n-----END RSA PRIVATE KEY-----»",
                    random(32, "0123456789ABCDEF"),
                    alnum(64)
                ),
                // Without its beginning.
                format!("...\n«{}\n{}\n-----END PRIVATE KEY-----»\n", alnum(64), alnum(40)),
                // Truncated.
                format!("«-----BEGIN PRIVATE KEY-----\n{}\n{}»", alnum(64), random(64, ALNUM)),
            ],
        ),
        (
            "age-secret-key",
            vec![marked("", &format!("AGE-SECRET-KEY-1{}", random(58, "ACDEFGHJKLMNPQRSTUVWXYZ0234567")))],
        ),
        (
            "aws-access-key-id",
            vec![
                marked("id ", "AKIAIOSFODNN7EXAMPLE"),
                marked("token_", "AKIAIOSFODNN7EXAMPLE") + "_b",
                marked("aws_access_key_id=", &format!("ASIA{}", random(16, UPPER))),
                marked("export A=1\\nexport B=", &format!("AKIA{}", random(16, UPPER))),
            ],
        ),
        (
            "aws-secret-access-key",
            vec![
                marked("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
                marked("AWS_SECRET_ACCESS_KEY=", &alnum(40)),
                marked("aws configure set aws_secret_access_key ", &alnum(40)),
                format!("<SecretAccessKey>«{}»</SecretAccessKey>", alnum(40)),
                format!("| SecretAccessKey | «{}» |", alnum(40)),
                format!("{{\"SecretAccessKey\": \"«{}»\", \"x\": 1}}", alnum(40)),
                format!("{{\\\"secretAccessKey\\\":\\\"«{}»\\\"}}", alnum(40)),
            ],
        ),
        (
            "google-api-key",
            vec![marked("?key=", &format!("AIza{}", alnum(35))), marked("", &format!("AIzaSy{}", alnum(33)))],
        ),
        ("google-oauth-token", vec![marked("", &format!("ya29.{}", alnum(60)))]),
        ("google-oauth-secret", vec![marked("", &format!("GOCSPX-{}", alnum(28)))]),
        ("google-refresh-token", vec![marked("refresh_token=", &format!("1//0{}", alnum(60)))]),
        (
            "azure-storage-key",
            vec![format!("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{}==»;EndpointSuffix=y", alnum(86))],
        ),
        (
            "azure-shared-access-key",
            vec![format!("Endpoint=sb://x/;SharedAccessKeyName=a;SharedAccessKey=«{}=»", alnum(43))],
        ),
        (
            "azure-sas-signature",
            vec![format!(
                "https://x.blob.core.windows.net/c/b?sv=2022-11-02&se=x&sig=«{}%2B{}%3D»",
                alnum(20),
                alnum(22)
            )],
        ),
        ("azure-client-secret", vec![format!("secret: «{}8Q~{}»", alnum(3), alnum(34))]),
        (
            "github-token",
            vec![
                marked("", &format!("ghp_{}", alnum(36))),
                marked("token_", &format!("ghp_{}", alnum(36))),
                marked("x", &format!("ghp_{}", alnum(36))),
                marked("", &format!("ghp_{}gho_{}", alnum(36), alnum(36))),
                marked("token ", &format!("ghs_{}", alnum(36))),
                marked("", &format!("github_pat_{}_{}", alnum(22), alnum(59))),
            ],
        ),
        ("gitlab-token", vec![marked("", &format!("glpat-{}", alnum(20))), marked("", &format!("glrt-{}", alnum(20)))]),
        ("bitbucket-token", vec![marked("BITBUCKET=", &format!("ATBB{}", alnum(32)))]),
        ("npm-token", vec![marked("NPM=", &format!("npm_{}", alnum(36)))]),
        ("npm-auth-token", vec![marked("//registry.example.com/:_authToken=", &random(36, "0123456789abcdef-"))]),
        ("pypi-token", vec![marked("", &format!("pypi-AgEIcHlwaS5vcmc{}", alnum(120)))]),
        (
            "slack-token",
            vec![
                marked("", &format!("xoxb-{}-{}-{}", random(12, "0123456789"), random(12, "0123456789"), alnum(24))),
                marked("", &format!("xapp-1-A{}", alnum(30))),
            ],
        ),
        (
            "slack-webhook",
            vec![format!("https://hooks.slack.com/services/«T{}/B{}/{}»", alnum(8), alnum(8), alnum(24))],
        ),
        (
            "stripe-key",
            vec![
                marked("", &format!("sk_live_{}", alnum(24))),
                marked("", &format!("rk_test_{}", alnum(24))),
                marked("", &format!("whsec_{}", alnum(32))),
            ],
        ),
        (
            "openai-key",
            vec![
                marked("", &format!("sk-{}", alnum(48))),
                marked("OPENAI_API_KEY=", &format!("sk-proj-{}", alnum(74))),
                marked("", &format!("sk-or-v1-{}", random(64, "0123456789abcdef"))),
            ],
        ),
        ("anthropic-key", vec![marked("x-api-key: ", &format!("sk-ant-api03-{}AA", alnum(93)))]),
        ("digitalocean-token", vec![marked("", &format!("dop_v1_{}", random(64, "0123456789abcdef")))]),
        ("databricks-token", vec![marked("t=", &format!("dapi{}", random(32, "0123456789abcdef")))]),
        ("huggingface-token", vec![marked("", &format!("hf_{}", alnum(34)))]),
        ("sendgrid-key", vec![marked("", &format!("SG.{}.{}", alnum(22), alnum(43)))]),
        ("twilio-key", vec![marked("TWILIO_API_KEY=", &format!("SK{}", random(32, "0123456789abcdef")))]),
        (
            "jwt",
            vec![
                marked("", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc"),
                marked("x ", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."),
                marked(
                    "token=",
                    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
                ),
            ],
        ),
        (
            "authorization-header",
            vec![
                marked("Authorization: Bearer ", "abcdefgh"),
                marked("Authorization: Bearer ", "mytoken"),
                marked("Authorization: Bearer ", "abc"),
                marked("curl -H 'authorization: token ", "0a1b2c3d4e5f") + "' x",
                marked("{\"Authorization\": \"Bearer ", "my-secret-token") + "\"}",
            ],
        ),
        (
            "bearer-token",
            vec![
                marked("with Bearer ", &format!("{}7", alnum(30))),
                marked("Bearer ", "abcdefgh1234"),
                marked("Bearer ", "abcdefghijklmnopqrstuvwxyz"),
            ],
        ),
        (
            "basic-credentials",
            vec![marked("sends Basic ", "dXNlcjpwYXNz"), marked("basic ", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==")],
        ),
        (
            "cookie",
            vec![
                marked("Cookie: a=", "b4c; sid=zzz"),
                marked("curl -H 'cookie: theme=", "dark; sid=0a1b2c") + "' https://x",
                marked("Set-Cookie: sid=", "0a1b2c3d; Path=/; HttpOnly") + "\nx",
            ],
        ),
        (
            "curl-user",
            vec![
                "curl -u joe:«hunter2» https://x".to_owned(),
                "curl -su 'joe:«pass#1»' https://x".to_owned(),
                "curl https://x --user \"joe:«swordfish»\"".to_owned(),
            ],
        ),
        (
            "netrc-password",
            vec![
                "machine x.org login joe password «swordfish»\n".to_owned(),
                "default\n  login joe\n  password «swordfish»".to_owned(),
            ],
        ),
        (
            "telegram-token",
            vec![format!("https://api.telegram.org/bot«{}:AA{}»/getMe", random(10, "123456789"), alnum(33))],
        ),
        ("discord-token", vec![format!("Discord says «MT{}.{}.{}»", alnum(22), alnum(6), alnum(38))]),
        (
            "discord-webhook",
            vec![format!("https://discord.com/api/webhooks/{}/«{}»", random(18, "123456789"), alnum(68))],
        ),
        ("vault-token", vec![marked("", &format!("hvs.CAES{}", alnum(90)))]),
        ("xai-key", vec![marked("", &format!("xai-{}", alnum(80)))]),
        ("groq-key", vec![marked("", &format!("gsk_{}", alnum(52)))]),
        ("perplexity-key", vec![marked("", &format!("pplx-{}", alnum(48)))]),
        ("replicate-token", vec![marked("", &format!("r8_{}", alnum(37)))]),
        ("langfuse-key", vec![marked("", "sk-lf-7317fc9c-ed0c-4c7d-8aa0-d1f6d357d653")]),
        ("langsmith-key", vec![marked("", &format!("lsv2_pt_{}_{}", random(32, HEX), random(10, HEX)))]),
        ("notion-token", vec![marked("", &format!("ntn_{}", alnum(46)))]),
        ("linear-key", vec![marked("", &format!("lin_api_{}", alnum(40)))]),
        (
            "docker-token",
            vec![
                marked("", &format!("dckr_pat_{}", alnum(27))),
                marked("", &format!("dckr_pat_{}", "sDKOxjHVQnTG-MPqlDrcRNErOKl")),
            ],
        ),
        ("supabase-token", vec![marked("", &format!("sbp_{}", random(40, HEX)))]),
        ("doppler-token", vec![marked("", &format!("dp.pt.{}", alnum(43)))]),
        ("atlassian-token", vec![marked("", &format!("ATATT3xFfGF0{}", alnum(180)))]),
        ("shopify-token", vec![marked("", &format!("shpat_{}", random(32, HEX)))]),
        ("new-relic-key", vec![marked("", &format!("NRAK-{}", random(27, UPPER)))]),
        ("grafana-token", vec![marked("", &format!("glsa_{}_{}", alnum(32), random(8, HEX)))]),
        ("pulumi-token", vec![marked("", &format!("pul-{}", random(40, HEX)))]),
        ("rubygems-key", vec![marked("", &format!("rubygems_{}", random(48, HEX)))]),
        ("heroku-key", vec![marked("", &format!("HRKU-{}", alnum(60)))]),
        ("tailscale-key", vec![marked("", &format!("tskey-auth-{}-{}", alnum(12), alnum(32)))]),
        ("vercel-token", vec![marked("", &format!("vercel_{}", alnum(24)))]),
        ("url-token", vec![format!("https://«{}»@o1.ingest.sentry.io/4", random(32, HEX))]),
        ("aws-signature", vec![marked("?X-Amz-Date=1&X-Amz-Signature=", &random(64, HEX))]),
        ("aws-session-token", vec![marked("aws configure set aws_session_token ", &alnum(200))]),
        ("azure-account-key", vec![format!("{{\"permissions\": \"FULL\", \"value\": \"«{}==»\"}}", alnum(86))]),
        ("cookie-file", vec!["x.org\tTRUE\t/\tFALSE\t1893456000\tsid\t«0a1b2c3d»\n".to_owned()]),
        ("password-hash", vec![format!("root:«$6$abcdefgh${}»:19000:0", alnum(86))]),
        (
            "torn-token",
            vec![marked("", &format!("sk-ant-api03-{}", alnum(10))), format!("«glpat-{}»… [truncated]", alnum(10))],
        ),
        (
            "piped-password",
            vec![
                "echo '«hunter2x»' | sudo -S systemctl restart app".to_owned(),
                "echo \"ann:«hunter2x»\" | chpasswd".to_owned(),
                "echo «6ebfa61f» | docker login ghcr.io -u ann --password-stdin".to_owned(),
            ],
        ),
        ("settings-password", vec!["[remote]\ntype = sftp\npass = «k3x9q2m7p1»\n".to_owned()]),
        ("pgpass-password", vec!["db.internal:5432:app:ann:«0e7e7c19»\n".to_owned()]),
        ("aws-secure-string", vec!["{\"Type\": \"SecureString\",\n \"Value\": \"«tdfmzcwoztn»\"}".to_owned()]),
        ("aws-registry-token", vec![marked("", &format!("eyJwYXlsb2FkIjoi{}==", alnum(200)))]),
        ("glued-tokens", vec![marked("", &format!("hvs.{}hvs.{}", alnum(24), alnum(24)))]),
        ("postman-key", vec![marked("", &format!("PMAK-{}-{}", random(24, HEX), random(34, HEX)))]),
        ("figma-token", vec![marked("", &format!("figd_{}", alnum(40)))]),
        ("fly-token", vec![marked("", &format!("fo1_{}", alnum(43)))]),
        ("torn-github-token", vec![format!("«ghp_{}» and on", alnum(24))]),
        (
            "command-password",
            vec![
                "sshpass -p '«fljvG26V»' ssh root@x".to_owned(),
                "mysql -h db -u root -p«f754f359» shop".to_owned(),
                "redis-cli -h x -a «DgwEU466» ping".to_owned(),
                "docker login -u ann -p «c0c5728b» x".to_owned(),
                "openssl rsa -passin pass:«ebee92a4» -out x".to_owned(),
                "http -a ann:«Dbl4k0ZZ» x.org".to_owned(),
                "CREATE USER a IDENTIFIED BY '«fqaud-x5»';".to_owned(),
                "ALTER ROLE app LOGIN PASSWORD '«Kwsj0839!»';".to_owned(),
                "requirepass «AQM5VsoO»".to_owned(),
                "ldapsearch -x -D cn=admin -w «AQM5VsoO» -b dc=x".to_owned(),
                "zip -P «AQM5VsoO» x.zip y".to_owned(),
                "smbclient //nas/x -U ann%«AQM5VsoO»".to_owned(),
            ],
        ),
        (
            "url-password",
            vec![
                "redis://:«BbhO36/G7S9XN»@cache.internal:6379/0".to_owned(),
                "postgres://app:«two words»@db:5432/x".to_owned(),
                "amqp://app:«$ecr3t»@mq".to_owned(),
                "amqp://app:«${x}3bTP4AgY9»@mq.internal:5672".to_owned(),
                "mysql://app:«%kdr473xrhh%»@db.internal/app".to_owned(),
                "https://alice:«hunter2»@example.com/x".to_owned(),
                "https://user:«p@ssw0rd»@host/x".to_owned(),
                "https://user:«p4ss»@host?mail=a@b".to_owned(),
                "postgres://app:«s3cr3t!»@db.internal:5432/app".to_owned(),
                "redis://:«p4ssw0rd»@localhost:6379".to_owned(),
                "git clone https://x-access-token:«abc.def»@git.example.com/a/b.git".to_owned(),
                "mongodb+srv://u:«p%40ss»@cluster0.x.mongodb.net".to_owned(),
            ],
        ),
    ]
}

#[test]
fn each_rule_redacts_its_secret_and_nothing_around_it() {
    for (rule, texts) in true_positives() {
        for text in texts {
            let (before, rest) = text.split_once('«').unwrap();
            let (secret, after) = rest.split_once('»').unwrap();
            let found = redacted_text(None, &format!("{before}{secret}{after}"));
            assert_eq!(found, format!("{before}[redacted:{rule}]{after}"), "{text}");
            let inner = format!("say: {before}{secret}{after}");
            assert!(
                !redacted_text(None, &serde_json::to_string(&inner).unwrap()).contains(secret),
                "in JSON in JSON: {text}"
            );
        }
    }
    let tested: BTreeSet<_> = true_positives().into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(tested, all().map(|builtin| builtin.name).collect());
}

#[test]
fn every_pattern_can_be_compiled() {
    for builtin in all() {
        assert!(regex::bytes::Regex::new(builtin.pattern).is_ok(), "{}", builtin.name);
    }
}

#[test]
fn a_value_is_matched_together_with_its_key() {
    let secret = alnum(40);
    assert_eq!(redacted_text(Some("SecretAccessKey"), &secret), "[redacted:aws-secret-access-key]");
    assert_eq!(redacted_text(Some("aws_secret_access_key"), &secret), "[redacted:aws-secret-access-key]");
    assert_eq!(redacted_text(Some("Authorization"), "Bearer abcdefgh"), "Bearer [redacted:authorization-header]");
    assert_eq!(redacted_text(Some("Authorization"), "Basic abcdefgh"), "Basic [redacted:authorization-header]");
    assert_eq!(redacted_text(Some("id"), &secret), secret);
    assert_eq!(redacted_text(Some("SecretAccessKey"), &secret[1..]), "[redacted:named-secret]");
}

#[test]
fn a_common_password_is_removed_from_all_of_its_text() {
    let text = "https://bob:secret@host/ and secret again, secretly";
    let hidden = "[redacted:url-password]";
    assert_eq!(redacted_text(None, text), format!("https://bob:{hidden}@host/ and {hidden} again, secretly"));
    let text = "postgres://postgres:postgres@host/postgres";
    assert_eq!(redacted_text(None, text), format!("postgres://{hidden}:{hidden}@host/{hidden}"));
}

#[test]
fn texts_without_secrets_are_not_redacted() {
    let sha = random(40, "0123456789abcdef");
    let image = format!("data:image/png;base64,iVBORw0KGgo{}==", random(2000, &format!("{ALNUM}+/")));
    let certificate = pem("CERTIFICATE");
    let public = pem("PUBLIC KEY");
    for text in [
        "",
        &sha,
        &random(64, "0123456789abcdef"),
        "123e4567-e89b-12d3-a456-426614174000",
        &image,
        &certificate,
        &public,
        "the file begins with -----BEGIN PRIVATE KEY----- as PEM does",
        "if text.startswith(\"-----BEGIN RSA PRIVATE KEY-----\"): return parse(text)",
        "AKIA",
        "AKIAIOSFODNN7EXAMPLES1",
        "xAKIAIOSFODNN7EXAMPLE",
        "secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "AWS_SECRET_ACCESS_KEY is not set",
        "AIza is how Google's keys begin",
        "ghp_ and github_pat_ are prefixes",
        "git log --format=%H ghp_short",
        "glpat-short",
        "npm_config_registry=https://registry.npmjs.org npm_package_name npm_lifecycle_event",
        "_authToken=${NPM_TOKEN}",
        "pypi-AgE",
        "xoxo, love",
        "https://hooks.slack.com/services/",
        "sk-learn and task-force and disk-usage-of-the-whole-machine-in-bytes",
        "class=\"sk-toggleable__content fitted sk-estimator-doc-link\"",
        "sk_test_ is for tests",
        "dckr_pat_PutTheTokenOfTheRegistryHere",
        "eyJ is how {\" begins in base64",
        "eyJhbGciOiJIUzI1NiJ9",
        "a.b.c and eyJ.eyJ.x",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${TOKEN}",
        "Authorization: Bearer ...",
        "Bearer authentication tokens",
        "SK0123456789abcdef0123456789abcdef is a hash",
        "Bearer authentication-is-described-below",
        "bearer responsibilities and Basic authentication and basic understanding",
        "Basic AAAAAAAA",
        "https://example.com:8080/a@b",
        "https://example.com/?q=a:b@c",
        "https://user@example.com and user:pass without a host",
        "https://${USER}:${PASSWORD}@example.com",
        "https://user:$PASSWORD@example.com",
        "https://user:***@example.com https://u:xxx@h",
        "http://[::1]:80/x@y",
        "see http://a.b/ c: d@e.f",
        "https://user:PASSWORD_HERE@example.com",
        "?design=abc&sig=short",
        "aQ~b",
        "[redacted:jwt]",
        "https://user:$PASSWORD@example.com https://u:${DB_PASSWORD}@h https://u:%PASSWORD%@h",
        "see http://a.b:80/c and mail d@e.f, or http://a:80 by d@e.f",
        "git clone https://github.com/a/b and ssh git@github.com",
        "lin_api_key_of_the_project xai-models gsk_ pul-request vercel_project_settings_of_the_team",
        "npm_package_dependencies_hf_transfer npm_config_vercel_project_of_the_team_hf_hub_enable_hf_transfer_1_2_3",
        "see ghp_/gho_/github_pat_, hvs./hvb. and glpat-/gldt- for prefixes 1 2 3",
        "https://cdn.example.com/npm_modules_hf_models_and_weights_2024_01_02_v3/pul-requests-of-the-team",
        "head\n  abcdefghijklmnopqrstuvwxyz\nand more\n  -----END CERTIFICATE-----",
        "Authorization: Digest, as RFC 7616 has it",
        "mysql -p shop; redis-cli ping; docker login registry.example.com; password 'x'",
    ] {
        assert_eq!(redacted_text(None, text), text);
    }
}

/// One token of each issuer whose tokens begin with a prefix of their own.
fn prefixed_tokens() -> Vec<String> {
    let fixed = [
        format!("hvs.{}", alnum(24)),
        format!("xai-{}", alnum(80)),
        format!("gsk_{}", alnum(52)),
        format!("pplx-{}", alnum(48)),
        format!("r8_{}", alnum(37)),
        format!("lsv2_pt_{}_{}", random(32, HEX), random(10, HEX)),
        format!("ntn_{}", alnum(46)),
        format!("lin_api_{}", alnum(40)),
        format!("dckr_pat_{}", alnum(27)),
        format!("sbp_{}", random(40, HEX)),
        format!("dp.pt.{}", alnum(43)),
        format!("dp.st.prd.{}", alnum(43)),
        format!("ATATT3xFfGF0{}={}", alnum(170), random(8, "0123456789ABCDEF")),
        format!("shpat_{}", random(32, HEX)),
        format!("NRAK-{}", random(27, UPPER)),
        format!("glsa_{}_{}", alnum(32), random(8, HEX)),
        format!("glc_eyJ{}=", alnum(60)),
        format!("pul-{}", random(40, HEX)),
        format!("rubygems_{}", random(48, HEX)),
        format!("HRKU-{}", alnum(60)),
        format!("tskey-auth-k{}CNTRL-{}", alnum(10), alnum(32)),
        format!("vercel_{}", alnum(24)),
        format!("PMAK-{}-{}", random(24, HEX), random(34, HEX)),
        format!("figd_{}", alnum(40)),
        format!("fo1_{}", alnum(43)),
        format!("7{}:AA{}", random(9, "123456789"), alnum(33)),
        format!("ghp_{}", alnum(36)),
        format!("github_pat_{}_{}", alnum(22), alnum(59)),
        format!("glpat-{}", alnum(20)),
        format!("npm_{}", alnum(36)),
        format!("pypi-AgEIcHlwaS5vcmc{}", alnum(60)),
        format!("xoxb-{}-{}-{}", random(12, "123456789"), random(13, "123456789"), alnum(24)),
        format!("sk_live_{}", alnum(24)),
        format!("sk-ant-api03-{}AA", alnum(93)),
        format!("sk-proj-{}", alnum(74)),
        format!("AKIA{}", random(16, UPPER)),
        format!("AIza{}", alnum(35)),
        format!("ya29.{}", alnum(60)),
        format!("GOCSPX-{}", alnum(28)),
        format!("dop_v1_{}", random(64, HEX)),
        format!("dapi{}", random(32, HEX)),
        format!("hf_{}", alnum(34)),
        format!("SG.{}.{}", alnum(22), alnum(43)),
    ];
    fixed.to_vec()
}

#[test]
fn of_two_tokens_that_nothing_separates_nothing_is_left() {
    let tokens = prefixed_tokens();
    let mut left = Vec::new();
    for first in &tokens {
        for second in &tokens {
            let text = format!("of {first}{second} end");
            let redacted = redacted_text(None, &text);
            let rest = redacted.split("[redacted:").map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
            if rest.flat_map(str::split_whitespace).any(|word| word.len() > 6) {
                left.push(format!("{text} => {redacted}"));
            }
        }
    }
    assert!(left.is_empty(), "{} of {}:\n{}", left.len(), tokens.len() * tokens.len(), left.join("\n"));
}

#[test]
fn the_rule_for_glued_tokens_searches_for_nothing_more() {
    let literals = |is_glued: bool| {
        let rules = all().filter(move |rule| (rule.name == "glued-tokens") == is_glued);
        rules.flat_map(|rule| rule.literals).copied().collect::<BTreeSet<_>>()
    };
    assert!(literals(true).is_subset(&literals(false)));
}

#[test]
fn prefixes_of_tokens_within_base64_are_no_tokens() {
    let text =
        format!("data:application/wasm;base64,{}AKIA{}+ASIA{}/dapi{}", alnum(90), alnum(40), alnum(60), alnum(90));
    assert_eq!(redacted_text(None, &format!("hvs. {text}")), format!("hvs. {text}"));
}

#[test]
fn three_tokens_that_nothing_separates_are_redacted() {
    let [vault, github] = ["hvs.a1B2c3D4e5F6g7H8i9J0k1L2", "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"];
    for text in
        [format!("{vault}{vault}{vault}"), format!("{github}{vault}{github}"), format!("{vault}{github}{vault}")]
    {
        let redacted = redacted_text(None, &text);
        assert!(!redacted.contains("a1B2") && !redacted.contains("i9J0"), "{text} => {redacted}");
    }
}

#[test]
fn a_private_key_without_its_beginning_is_redacted_whatever_stands_before_its_lines() {
    let lines: Vec<String> = (0..9).map(|_| random(64, ALNUM)).chain(["aQ==".to_owned()]).collect();
    let end = "-----END RSA PRIVATE KEY-----";
    for line_break in ["\n", "\r\n"] {
        let numbered = |format: &dyn Fn(usize, &str) -> String| {
            let all = lines.iter().map(String::as_str).chain([end]).enumerate();
            all.map(|(number, line)| format(number + 7, line)).collect::<Vec<_>>().join(line_break)
        };
        for text in [
            numbered(&|_, line| format!("      {line}")),
            numbered(&|_, line| format!("\t{line}")),
            numbered(&|number, line| format!("{number:>6}\t{line}")),
            numbered(&|number, line| format!("{number}→{line}")),
            numbered(&|number, line| format!("key.pem:{number}:{line}")),
            numbered(&|_, line| format!("+{line}")),
            numbered(&|_, line| format!("app-1  | {line}")),
            numbered(&|_, line| format!("# {line}")),
            numbered(&|_, line| format!("> {line}")),
            numbered(&|_, line| format!("2026-01-01T00:00:00.123456789Z stdout F {line}")),
            numbered(&|_, line| format!("{line}  ")),
        ] {
            let redacted = redacted_text(None, &format!("...\n{text}\nnext line"));
            assert!(lines.iter().all(|line| !redacted.contains(line)), "{text} => {redacted}");
            assert!(redacted.starts_with("...\n") && redacted.ends_with("\nnext line"), "{redacted}");
        }
    }
}

#[test]
fn a_private_key_without_its_end_is_redacted_whatever_stands_before_its_lines() {
    let lines: Vec<String> = (0..5).map(|_| random(64, ALNUM)).collect();
    let begin = ["-----BEGIN RSA PRIVATE KEY-----".to_owned()];
    for before in ["      ", "\t", "7→", "    12\t", "key.pem:7:", "+", "app-1  | ", "# ", "> "] {
        let text: Vec<_> = begin.iter().chain(&lines).map(|line| format!("{before}{line}")).collect();
        let redacted = redacted_text(None, &format!("{}\n... truncated", text.join("\n")));
        assert!(lines.iter().all(|line| !redacted.contains(line)), "{before:?}: {redacted}");
        assert!(redacted.ends_with("\n... truncated"), "{redacted}");
    }
}

#[test]
fn all_of_a_header_with_digest_credentials_is_redacted() {
    let digest = r#"username="u", realm="r", nonce="n0nc3x", uri="/x", qop=auth, nc=00000001, response="6629fae49393a05397450978507c4ef1""#;
    let hidden = "Digest [redacted:authorization-header]";
    for (before, after) in
        [("Authorization: ", ""), ("Proxy-Authorization: ", "\r\nHost: x"), ("curl -H 'Authorization: ", "' x")]
    {
        let found = redacted_text(None, &format!("{before}Digest {digest}{after}"));
        assert_eq!(found, format!("{before}{hidden}{after}"));
    }
    assert_eq!(redacted_text(Some("Authorization"), &format!("Digest {digest}")), hidden);
    let escaped = digest.replace('"', "\\\"");
    let found = redacted_text(None, &format!("curl -H \"Authorization: Digest {escaped}\" x"));
    assert_eq!(found, format!("curl -H \"Authorization: {hidden}\" x"));
    // Other headers follow in the same object.
    let object = r#"{"Authorization": "Bearer abcdefgh=", "x": "y"}"#;
    assert_eq!(redacted_text(None, object), r#"{"Authorization": "[redacted:named-secret]", "x": "y"}"#);
}

#[test]
fn a_password_of_a_url_may_have_an_apostrophe_or_angle_brackets_within_words() {
    let hidden = "[redacted:url-password]";
    assert_eq!(redacted_text(None, "postgres://bob:it's9x@db/x"), format!("postgres://bob:{hidden}@db/x"));
    let text = "api_key: none; postgres://bob:a<b9>c@db/x";
    assert_eq!(redacted_text(None, text), format!("api_key: none; postgres://bob:{hidden}@db/x"));
    for text in [
        "['http://a:80','b@c.d']",
        "<td>http://host:8080</td><td>me@x.org</td>",
        "http://host:8080<br>me@x.org",
        "it's http://host:80 and bob's mail is bob@x.org",
    ] {
        assert_eq!(redacted_text(None, text), text);
    }
}
