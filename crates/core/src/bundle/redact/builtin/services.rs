//! Built-in rules for tokens of single services, which begin with a prefix of their own, and for passwords on command lines.

use super::definition::{Builtin, has_digit, has_mixed_part, is_given, is_made, pattern};

const fn token(name: &'static str, literals: &'static [&'static str], pattern: &'static str) -> Builtin {
    Builtin { name, pattern, literals, keys: &[], accepts: is_made }
}

/// What tokens begin with.
macro_rules! prefixes {
    () => {
        concat!(
            r"(?:hv[sbr]\.|xai-|gsk_|pplx-|r8_|lsv2_(?:pt|sk)_|ntn_|lin_api_|dckr_pat_|sbp_|dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{2,35}\.)?",
            r"|ATATT3|shp(?:at|ca|pa|ss)_|NRAK-|glsa_|glc_|pul-|rubygems_|HRKU-|tskey-|vercel_|PMAK-|figd_|fo1_|fm2_|:AA",
            r"|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-|npm_|pypi-AgE|xox[abeoprs]-|xapp-[0-9]-",
            r"|[sr]k_(?:live|test)_|sk-(?:ant|proj|svcacct|admin|None|or-v1|lf)-|do[opr]_v1_|dapi|hf_|SG\.|AKIA|ASIA|AIza|ya29\.|GOCSPX-)"
        )
    };
}

/// The rules.
pub(super) static SERVICES: &[Builtin] = &[
    token("telegram-token", &[":AA"], r"(?-u)(?:\b|bot)(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,36})"),
    // The first part is the base64 of a number: only in a text that mentions Discord, or as a value of such a key.
    Builtin {
        name: super::DISCORD,
        pattern: r"(?-u)(?:\b|_)(?P<secret>(?:mfa\.[A-Za-z0-9_-]{60,}|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?:[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})*))",
        literals: &["iscord", "ISCORD"],
        keys: &["discord"],
        accepts: has_digit,
    },
    token(
        "discord-webhook",
        &["/webhooks/"],
        r"(?-u)discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,22}/(?P<secret>[A-Za-z0-9_-]{40,})",
    ),
    token("vault-token", &["hvs.", "hvb.", "hvr."], r"(?-u)(?:\b|_)(?P<secret>hv[sbr]\.[A-Za-z0-9_-]{20,})"),
    token("xai-key", &["xai-"], r"(?-u)(?:\b|_)(?P<secret>xai-[A-Za-z0-9]{30,})"),
    token("groq-key", &["gsk_"], r"(?-u)(?:\b|_)(?P<secret>gsk_[A-Za-z0-9]{30,})"),
    token("perplexity-key", &["pplx-"], r"(?-u)(?:\b|_)(?P<secret>pplx-[A-Za-z0-9]{30,})"),
    token("replicate-token", &["r8_"], r"(?-u)(?:\b|_)(?P<secret>r8_[A-Za-z0-9]{30,45})"),
    token("langfuse-key", &["sk-"], r"(?-u)(?:\b|_)(?P<secret>sk-lf-[0-9a-f-]{30,40})"),
    token("langsmith-key", &["lsv2_"], r"(?-u)(?P<secret>lsv2_(?:pt|sk)_[0-9A-Za-z]{20,}(?:_[0-9A-Za-z]{6,})?)"),
    token("notion-token", &["ntn_"], r"(?-u)(?:\b|_)(?P<secret>ntn_[A-Za-z0-9]{30,})"),
    token("linear-key", &["lin_api_"], r"(?-u)(?P<secret>lin_api_[A-Za-z0-9]{30,})"),
    token("docker-token", &["dckr_pat_"], r"(?-u)(?P<secret>dckr_pat_[A-Za-z0-9_-]{20,})"),
    token("supabase-token", &["sbp_"], r"(?-u)(?:\b|_)(?P<secret>sbp_[0-9a-f]{30,})"),
    token(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."],
        r"(?-u)\b(?P<secret>dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{30,})",
    ),
    token("atlassian-token", &["ATATT3"], r"(?-u)(?P<secret>ATATT3[A-Za-z0-9_=-]{40,})"),
    token(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"(?-u)(?P<secret>shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,})",
    ),
    token("new-relic-key", &["NRAK-"], r"(?-u)(?P<secret>NRAK-[A-Z0-9]{20,})"),
    token(
        "grafana-token",
        &["glsa_", "glc_"],
        r"(?-u)(?:\b|_)(?P<secret>glsa_[A-Za-z0-9]{20,}(?:_[0-9a-fA-F]{8})?|glc_[A-Za-z0-9+/=]{32,})",
    ),
    token("pulumi-token", &["pul-"], r"(?-u)(?:\b|_)(?P<secret>pul-[0-9a-f]{30,})"),
    token("rubygems-key", &["rubygems_"], r"(?-u)(?P<secret>rubygems_[0-9a-f]{30,})"),
    token("heroku-key", &["HRKU-"], r"(?-u)(?P<secret>HRKU-[A-Za-z0-9_-]{30,})"),
    token("tailscale-key", &["tskey-"], r"(?-u)(?P<secret>tskey-[a-z]{2,10}-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?)"),
    token(
        "vercel-token",
        &["vercel_"],
        r"(?-u)(?P<secret>vercel_(?:[a-z]{2,6}_){0,2}[A-Za-z0-9]{16,}(?:_[A-Za-z0-9]{16,})?)",
    ),
    // A token in place of a user's name, as Git and Sentry have it.
    token(
        "url-token",
        &["://"],
        r#"(?-u)\bhttps?://(?P<secret>[A-Za-z0-9_-]{24,100})(?::[^\s/@"'<>\\]{0,200})?@[A-Za-z0-9.\[-]"#,
    ),
    token("aws-signature", &["Signature="], r"(?-u)Signature=(?P<secret>[0-9a-f]{64})\b"),
    token(
        "aws-session-token",
        &["SESSION_TOKEN", "session_token", "SessionToken", "sessionToken", "ecurity-Token", "ecurity-token"],
        r#"(?-u)(?i:aws_session_token|SessionToken|x-amz-security-token)["'\\\s|>:=,]{1,60}(?P<secret>[A-Za-z0-9/+=%_-]{60,})"#,
    ),
    // In the output of `az storage account keys list` and the like.
    token(
        "azure-account-key",
        &["ermissions"],
        r#"(?-u)\\*"permissions\\*"[^{}]{0,80}\\*"value\\*"\s*:\s*\\*"(?P<secret>[A-Za-z0-9+/]{86}==)"#,
    ),
    token(
        "cookie-file",
        &["TRUE", "FALSE"],
        r#"(?-u)\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,200}\t"?(?P<secret>(?:[^\s"\\]|\\[^nrt"\s\\]){3,})"#,
    ),
    // Hashes of passwords, from which short ones are read back.
    pattern(
        "password-hash",
        &["$6$", "$5$", "$y$", "$2a$", "$2b$", "$2y$", "$argon2"],
        r"(?-u)(?P<secret>\$(?:[56y]|2[aby]|argon2(?:id|i|d))\$[./A-Za-z0-9,=+-]{1,60}\$?[./A-Za-z0-9$+=,-]{20,140})",
    ),
    // The beginning of a token at the end of an output that was cut.
    token(
        "torn-token",
        &["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox", "sk-", "AKIA", "AIza", "npm_", "pypi-AgE", "hf_"],
        r#"(?-u)(?:\b|_)(?P<secret>(?:gh[pos]_|github_pat_|glpat-|xox[bp]-|sk-ant-|sk-proj-|AIza|pypi-AgE)[A-Za-z0-9_-]{8,}|(?:npm|hf)_[A-Za-z0-9]{12,}|AKIA[0-9A-Z]{8,15})(?:\.{3}|…|\s*(?:\[|\(|<)?(?:\.{3} ?)?(?i:truncated|cut|snip)|[\s"'}\])\\]{0,8}\z)"#,
    ),
    // A line by itself has the length of a torn token only if it was torn.
    token("torn-github-token", &["ghp_", "gho_", "ghs_"], r"(?-u)(?:\b|_)(?P<secret>gh[pos]_[A-Za-z0-9]{16,35})\b"),
    Builtin {
        name: "command-password",
        pattern: concat!(
            r#"(?-u)(?:\bsshpass\s{1,4}-p\s{0,4}|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,200}?\s-p"#,
            r#"|\bredis-cli\b[^\n|;]{0,200}?\s-a\s{1,4}"#,
            r#"|\b(?:mongosh?|mongodump|mongorestore|docker login|podman login|registry login)\b[^\n|;]{0,200}?\s-p\s{1,4}"#,
            r#"|-pass(?:in|out|wd)?\s{1,4}pass:|\bhttps?\s{1,4}(?:-a|--auth)\s{1,4}[^\s:]{1,100}:|(?:(?i:identified by)|PASSWORD)\s{1,4}'"#,
            r#"|\bldap(?:search|add|modify|whoami)\b[^\n|;]{0,200}?\s-w\s{1,4}|\b(?:un)?zip\s{1,4}-P\s{1,4}|\bsmbclient\b[^\n|;]{0,200}?\s-U\s{1,4}[^\s%]{1,60}%"#,
            r#"|\b(?:requirepass|masterauth)\s{1,4})(?:\\*["'])?(?P<secret>[^\s"'\\|;<>]{3,200})"#
        ),
        literals: &[
            "sshpass",
            "mysql",
            "mariadb",
            "redis-cli",
            "mongo",
            "login",
            "pass:",
            "http -a",
            "https -a",
            "--auth",
            "dentified",
            "DENTIFIED",
            "PASSWORD '",
            "requirepass",
            "masterauth",
            "ldapsearch",
            "ldapadd",
            "ldapmodify",
            "ldapwhoami",
            "zip -P",
            "smbclient",
        ],
        keys: &[],
        accepts: is_given,
    },
    // What is given to a program that reads a password, and not what it is: without a name.
    Builtin {
        name: "piped-password",
        pattern: concat!(
            r#"(?-u)\b(?:echo|printf)\s{1,4}(?:-[neE]{1,3}\s{1,4})?(?:\\*["'])?(?:[^\s"'\\:|;<>]{1,64}:)?"#,
            r#"(?P<secret>[^\s"'\\|;<>:]{3,200})(?:\\{1,4}n)?(?:\\*["'])?\s{0,4}\|\s{0,4}"#,
            r#"(?:sudo\s{1,4}-[A-Za-z]{0,3}S\b|(?:sudo\s{1,4})?chpasswd\b|[^\n|;]{0,200}?--pass(?:word|phrase)-stdin\b)"#
        ),
        literals: &["sudo -S", "sudo -kS", "chpasswd", "word-stdin", "phrase-stdin"],
        keys: &[],
        accepts: is_given,
    },
    Builtin {
        name: "pgpass-password",
        pattern: r#"(?-u)(?:^|[\s"'])[A-Za-z0-9_.*-]{1,253}:5432:[^:\s"]{1,64}:[^:\s"]{1,64}:(?P<secret>[^\s"'\\]{3,200})"#,
        literals: &[":5432:"],
        keys: &[],
        accepts: is_given,
    },
    // As rclone has it. In code `pass` is something else, and given names and calls.
    Builtin {
        name: "settings-password",
        pattern: r#"(?mR-u)^[ \t]*pass ?= ?(?P<secret>[A-Za-z0-9_+/=-]{6,400})(?:[ \t\r]*$|\\*")"#,
        literals: &["pass = ", "pass="],
        keys: &[],
        accepts: |secret| has_digit(secret) && secret.iter().any(u8::is_ascii_alphabetic),
    },
    Builtin {
        name: "aws-secure-string",
        pattern: r#"(?-u)SecureString\\*["'],?\s{0,40}\\*["']Value\\*["']\s{0,4}:\s{0,4}\\*["'](?P<secret>[^"'\\]{3,4000})"#,
        literals: &["SecureString"],
        keys: &[],
        accepts: is_given,
    },
    // The base64 of `{"payload":"…`.
    token("aws-registry-token", &["eyJ"], r"(?-u)\b(?P<secret>eyJwYXlsb2FkIjoi[A-Za-z0-9+/]{100,}={0,2})"),
    token("postman-key", &["PMAK-"], r"(?-u)(?P<secret>PMAK-[0-9a-f]{24}-[0-9a-f]{34})"),
    token("figma-token", &["figd_"], r"(?-u)(?P<secret>figd_[A-Za-z0-9_-]{38,60})"),
    token("fly-token", &["fo1_", "fm2_"], r"(?-u)(?:\b|_)(?P<secret>fo1_[A-Za-z0-9_-]{40,}|fm2_[A-Za-z0-9+/=_-]{60,})"),
    // Tokens that nothing separates: the first takes the prefix of the second for its own end, and the second is not at the beginning
    // of a word. Every prefix of a token is here.
    Builtin {
        name: "glued-tokens",
        pattern: concat!(
            // Not within base64, which has every prefix somewhere. The number of a bot stands before its token.
            r"(?-u)(?:^|[^A-Za-z0-9+/])(?:[0-9]{6,12})?(?P<secret>",
            prefixes!(),
            r"(?:[A-Za-z0-9_=-]{12,}?(?:\.[A-Za-z0-9_=-]{6,}?)?",
            prefixes!(),
            r")+[A-Za-z0-9_=-]{12,}(?:\.[A-Za-z0-9_=-]{6,})*)"
        ),
        literals: &[
            "hvs.",
            "hvb.",
            "hvr.",
            "xai-",
            "gsk_",
            "pplx-",
            "r8_",
            "lsv2_",
            "ntn_",
            "lin_api_",
            "dckr_pat_",
            "sbp_",
            "dp.pt.",
            "dp.st.",
            "dp.ct.",
            "dp.sa.",
            "ATATT3",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "NRAK-",
            "glsa_",
            "glc_",
            "pul-",
            "rubygems_",
            "HRKU-",
            "tskey-",
            "vercel_",
            "PMAK-",
            "figd_",
            "fo1_",
            "fm2_",
            ":AA",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "npm_",
            "pypi-AgE",
            "xox",
            "xapp-",
            "k_live_",
            "k_test_",
            "sk-",
            "dop_v1_",
            "doo_v1_",
            "dor_v1_",
            "dapi",
            "hf_",
            "SG.",
            "AKIA",
            "ASIA",
            "AIza",
            "ya29.",
            "GOCSPX-",
        ],
        keys: &[],
        accepts: has_mixed_part,
    },
];
