//! The built-in rules: shapes by which well-known secrets are known.
//!
//! A rule hits only what is so shaped that a person would call it a secret. Where a shape alone says too little, the rule
//! asks for what stands around it, and leaves that alone. Names are part of the format's documentation.

use base64ct::{Base64, Base64Unpadded, Encoding};

/// A built-in rule.
#[derive(Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What it matches; the group `secret`, if it has one, is what is redacted.
    pub pattern: &'static str,
    /// What is in every match: one of these.
    pub literals: &'static [&'static str],
    /// What is in a key, in lower case, whose value is matched as `key: value` too.
    pub keys: &'static [&'static str],
    /// Whether what was matched is a secret.
    pub accepts: fn(&[u8]) -> bool,
}

const fn shape(name: &'static str, literals: &'static [&'static str], pattern: &'static str) -> Builtin {
    Builtin { name, pattern, literals, keys: &[], accepts: |_| true }
}

/// Every built-in rule.
pub static ALL: &[Builtin] = &[
    // PEM and PGP: the whole block, or what is there of one that was cut off.
    shape(
        "private-key",
        &["-----BEGIN "],
        concat!(
            r"(?-u)-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[^-]|-{1,4}[^-])*?-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"|(?:\s|\\[nr]|[A-Za-z-]+: [^\r\n\\]*)*[A-Za-z0-9+/=]{40}(?:[A-Za-z0-9+/=]|\s|\\[nr])*)",
        ),
    ),
    shape("age-secret-key", &["AGE-SECRET-KEY-1"], r"(?-u)AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    // AWS: access key ids, long-lived and temporary.
    shape(
        "aws-access-key-id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"(?-u)(?:\b|_)(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})(?:\b|_)",
    ),
    // The secret key has no shape of its own: 40 characters behind its name.
    Builtin {
        name: "aws-secret-access-key",
        pattern: r#"(?-u)(?:secret_access_key|SECRET_ACCESS_KEY|[sS]ecretAccessKey)(?:\\*["'])?\s{0,4}(?::=|=>|=|:)\s{0,4}(?:\\*["'])?(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        literals: &["ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"],
        keys: &["secret_access_key", "secretaccesskey"],
        accepts: |_| true,
    },
    shape("google-api-key", &["AIza"], r"(?-u)(?:\b|_)(?P<secret>AIza[0-9A-Za-z_-]{35})(?:[^0-9A-Za-z_-]|$)"),
    shape("google-oauth-token", &["ya29."], r"(?-u)(?:\b|_)(?P<secret>ya29\.[0-9A-Za-z_-]{20,})"),
    shape("google-oauth-secret", &["GOCSPX-"], r"(?-u)(?P<secret>GOCSPX-[0-9A-Za-z_-]{28})"),
    shape("google-refresh-token", &["1//0"], r"(?-u)(?:\b|_)(?P<secret>1//0[0-9A-Za-z_-]{40,})"),
    // Azure: keys of storage accounts and of buses, signatures of shared access, secrets of applications.
    shape("azure-storage-key", &["AccountKey="], r"(?-u)AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    shape("azure-shared-access-key", &["SharedAccessKey="], r"(?-u)SharedAccessKey=(?P<secret>[A-Za-z0-9+/]{43}=)"),
    shape(
        "azure-sas-signature",
        &["sig="],
        r"(?-u)[?&;]sig=(?P<secret>(?:[A-Za-z0-9]|%2[bBfF]|[+/]){40,60}(?:%3[dD]|=))",
    ),
    shape(
        "azure-client-secret",
        &["7Q~", "8Q~"],
        r"(?-u)(?:^|[^A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)",
    ),
    // Forges and registries.
    shape(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?-u)(?P<secret>gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})",
    ),
    shape(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"],
        r"(?-u)(?P<secret>gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{20,})",
    ),
    shape(
        "bitbucket-token",
        &["ATBB"],
        r"(?-u)(?:^|[^A-Za-z0-9+/])(?P<secret>ATBB[A-Za-z0-9]{24,60})(?:[^A-Za-z0-9+/]|$)",
    ),
    shape("npm-token", &["npm_"], r"(?-u)(?P<secret>npm_[A-Za-z0-9]{36})(?:\b|_)"),
    shape("npm-auth-token", &["authToken"], r#"(?-u)_authToken\s?=\s?["']?(?P<secret>[A-Za-z0-9_=+/.-]{16,})"#),
    shape("pypi-token", &["pypi-AgE"], r"(?-u)(?P<secret>pypi-AgE[A-Za-z0-9_-]{50,})"),
    // Services.
    shape(
        "slack-token",
        &["xox", "xapp-"],
        r"(?-u)(?:\b|_)(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
    ),
    shape(
        "slack-webhook",
        &["hooks.slack.com"],
        r"(?-u)hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{6,}/[A-Za-z0-9/]{12,})",
    ),
    shape(
        "stripe-key",
        &["k_live_", "k_test_", "whsec_"],
        r"(?-u)(?:\b|_)(?P<secret>[sr]k_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{24,})",
    ),
    Builtin {
        name: "openai-key",
        pattern: r"(?-u)(?:\b|_)(?P<secret>sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|or-v1-[0-9a-f]{32,}|[A-Za-z0-9]{32,}))",
        literals: &["sk-"],
        keys: &[],
        accepts: has_digit,
    },
    shape("anthropic-key", &["sk-"], r"(?-u)(?:\b|_)(?P<secret>sk-ant-[A-Za-z0-9_-]{20,})"),
    shape("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(?-u)(?P<secret>do[opr]_v1_[0-9a-f]{64})"),
    shape("databricks-token", &["dapi"], r"(?-u)(?:\b|_)(?P<secret>dapi[0-9a-f]{32}(?:-[0-9]{1,2})?)(?:\b|_)"),
    shape("huggingface-token", &["hf_"], r"(?-u)(?:\b|_)(?P<secret>hf_[A-Za-z0-9]{34})(?:\b|_)"),
    shape("sendgrid-key", &["SG."], r"(?-u)(?:\b|_)(?P<secret>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    // A hash could begin so: only what is called one of Twilio's.
    Builtin {
        name: "twilio-key",
        pattern: r#"(?-u)(?:[tT]wilio|TWILIO)[A-Za-z0-9_ .-]{0,40}(?:\\*["'])?\s{0,4}(?::=|=>|=|:)\s{0,4}(?:\\*["'])?(?P<secret>SK[0-9a-f]{32})(?:\b|_)"#,
        literals: &["wilio", "WILIO"],
        keys: &["twilio"],
        accepts: |_| true,
    },
    // Tokens of any service.
    shape(
        "jwt",
        &["eyJ"],
        concat!(
            r"(?-u)(?:\b|_)(?P<secret>eyJ[A-Za-z0-9_-]{10,}\.",
            r"(?:(?:eyJ|ey[A-Za-z0-9]|[A-Za-z0-9_-]{0,400}\.)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{10,})?",
            // What is unsigned, or signed by a test.
            r"|(?:eyJ[A-Za-z0-9_-]{2,}|e30)\.[A-Za-z0-9_-]*))",
        ),
    ),
    Builtin {
        name: "authorization-header",
        pattern: r#"(?-u)(?:[aA]uthorization|AUTHORIZATION)(?:\\*["'])?\s{0,4}(?:=>|=|:)\s{0,4}(?:\\*["'])?(?:[bB]earer|BEARER|[bB]asic|BASIC|[tT]oken|[dD]igest|[nN]egotiate|[aA]pi[kK]ey)\s{1,4}(?P<secret>[._~+/-]*[A-Za-z0-9][A-Za-z0-9._~+/-]*=*)"#,
        literals: &["uthorization", "UTHORIZATION"],
        keys: &["authorization"],
        accepts: |_| true,
    },
    Builtin {
        name: "bearer-token",
        pattern: r"(?-u)\b(?:Bearer|bearer|BEARER)\s{1,4}(?P<secret>[A-Za-z0-9._~+/-]{8,}=*)",
        literals: &["earer", "EARER"],
        keys: &[],
        accepts: is_bearer,
    },
    Builtin {
        name: "basic-credentials",
        pattern: r"(?-u)\b(?:Basic|basic|BASIC)\s{1,4}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})",
        literals: &["asic", "ASIC"],
        keys: &[],
        accepts: is_credentials,
    },
    Builtin {
        name: "url-password",
        pattern: r#"(?-u)\b[A-Za-z][A-Za-z0-9+.-]{0,30}:(?:\\?/){2}[^\s/:@"'<>\\{}|`\[\]]{0,200}:(?P<secret>[^\s/?#"'<>\\{}|`]{1,400}|[^\s/@"'<>\\{}|`]{1,400})@[A-Za-z0-9.\[_%-]"#,
        literals: &["://", ":\\/", ":/\\/"],
        keys: &[],
        accepts: is_password,
    },
];

/// Whether there may be a match where a literal of a rule stands in a text that may have escapes, or where an escape begins that could hide it.
pub fn is_likely(mark: &[u8], before: &[u8], after: &[u8]) -> bool {
    match mark {
        // An escape of what needs none.
        b"\\u00" => after.first().is_some_and(|digit| (b'2'..=b'7').contains(digit)),
        // Somebody's name and password, before the host ends.
        b"://" => {
            let end = |byte: &&u8| {
                matches!(byte, b'@' | b'/' | b'"' | b'\\' | b'<' | b'>' | b'{' | b'|') || byte.is_ascii_whitespace()
            };
            after.iter().take(700).find(end).is_none_or(|byte| matches!(byte, b'@' | b'\\'))
        }
        b"earer" | b"EARER" | b"asic" | b"ASIC" => {
            after.first().is_some_and(|byte| *byte == b'\\' || byte.is_ascii_whitespace())
        }
        // The beginning of a word, unless what is before is an escape.
        b"sk-" | b"eyJ" | b"xox" => {
            let near = &before[before.len().saturating_sub(6)..];
            !near.last().is_some_and(u8::is_ascii_alphanumeric) || near.contains(&b'\\')
        }
        _ => true,
    }
}

/// Whether it is none of the words that stand behind "bearer" in prose.
fn is_bearer(secret: &[u8]) -> bool {
    has_digit(secret) || secret.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| word.len() >= 20)
}

fn has_digit(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_digit)
}

/// Whether base64 decodes to `user:password`.
fn is_credentials(secret: &[u8]) -> bool {
    let text = std::str::from_utf8(secret).unwrap_or_default();
    let decoded = Base64::decode_vec(text).or_else(|_| Base64Unpadded::decode_vec(text));
    decoded.is_ok_and(|bytes| {
        bytes.contains(&b':') && bytes.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte > 0x7f)
    })
}

/// Whether it is not the name of a variable in the place of a password.
fn is_password(secret: &[u8]) -> bool {
    let is_name = secret.contains(&b'_') && secret.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let is_blackened = secret.iter().all(|byte| matches!(byte, b'*' | b'.' | b'x' | b'X'));
    let is_variable = match secret {
        [b'$' | b'%', first, ..] => first.is_ascii_alphabetic() || *first == b'(',
        _ => false,
    };
    !(is_name || is_blackened || is_variable)
}

#[cfg(test)]
mod tests;
