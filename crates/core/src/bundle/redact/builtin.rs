//! The built-in redaction rules, for the formats of well-known secrets.
//!
//! A rule must match only what a person would call a secret. If the format of a secret is ambiguous, its rule also requires
//! certain text around it, which is not redacted. The names of the rules are documented for users.

mod definition;
mod services;

pub(crate) use definition::Builtin;
use definition::{has_digit, is_given, pattern};

use base64ct::{Base64, Base64Unpadded, Encoding};

use super::views::percent_decoded;
use crate::bundle::redact::named;

/// The rule for tokens of Discord, which are also found by what their first part decodes to.
pub(crate) const DISCORD: &str = "discord-token";

/// Every built-in rule with a pattern.
pub(crate) fn all() -> impl Iterator<Item = &'static Builtin> {
    COMMON.iter().chain(services::SERVICES)
}

/// A line of a key, with the end of the line before it, and with what a program put before each line.
macro_rules! key_line {
    ($line:literal) => {
        concat!(r"[ \t]*(?:\r|\\r)?(?:\n|\\n)[^\r\n]{0,60}?", $line)
    };
}

/// One of several credentials in a header, as `Digest` has them.
macro_rules! credential {
    () => {
        concat!(
            r"(?i:username\*?|realm|nonce|uri|response|opaque|qop|nc|cnonce|algorithm|userhash|domain|stale|charset|auth-param|token|credential",
            r#"|signature|keyid|headers)\s?=\s?(?:\\*"[^"\\\r\n]{0,2000}\\*"|[^\s,"'\\]{1,2000})"#
        )
    };
}

static COMMON: &[Builtin] = &[
    // PEM and PGP: the whole block, or the beginning of a truncated one.
    pattern(
        "private-key",
        &["-----BEGIN ", "-----END "],
        concat!(
            // Without its beginning.
            r"(?-u)(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr]){1,4})+-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|",
            // The same with something before each line, as an indent, a number, or what a log or a diff puts there; the last line may be short.
            r"[A-Za-z0-9+/]{16,}={0,2}(?:",
            key_line!(r"[A-Za-z0-9+/]{40,}={0,2}"),
            r")*(?:",
            key_line!(r"[A-Za-z0-9+/]{1,80}={0,2}"),
            r"){0,2}",
            key_line!(r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
            r"|-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[^-]|-{1,4}[^-])*?-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"|(?:\s|\\[nr]|[A-Za-z-]+: [^\r\n\\]*)*[A-Za-z0-9+/=]{40,}(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{16,})*",
            r"|(?:",
            key_line!(r"[A-Za-z-]+: [^\r\n\\]*"),
            r")*(?:",
            key_line!(r"[A-Za-z0-9+/]{60,}={0,2}"),
            r")+(?:",
            key_line!(r"[A-Za-z0-9+/]{16,}={0,2}"),
            r")?)",
        ),
    ),
    pattern("age-secret-key", &["AGE-SECRET-KEY-1"], r"(?-u)AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    // AWS access key ids, long-lived and temporary.
    pattern(
        "aws-access-key-id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"(?-u)(?:\b|_)(?P<secret>(?:(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}){1,4})(?:\b|_)",
    ),
    // An AWS secret key has no distinctive format: 40 characters after its name.
    Builtin {
        name: "aws-secret-access-key",
        pattern: concat!(
            r#"(?-u)(?:(?i:secret_?access_?key)["'\\\s|>:=,]{1,60}"#,
            r#"|\b(?:AKIA|ASIA)[0-9A-Z]{16}["'\\\s|:,;]{1,40})(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#
        ),
        literals: &["ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey", "AKIA", "ASIA"],
        keys: &["secret_access_key", "secretaccesskey"],
        accepts: |_| true,
    },
    pattern("google-api-key", &["AIza"], r"(?-u)(?:\b|_)(?P<secret>AIza[0-9A-Za-z_-]{35})(?:[^0-9A-Za-z_-]|$)"),
    pattern("google-oauth-token", &["ya29."], r"(?-u)(?:\b|_)(?P<secret>ya29\.[0-9A-Za-z_.-]{20,})"),
    pattern("google-oauth-secret", &["GOCSPX-"], r"(?-u)(?P<secret>GOCSPX-[0-9A-Za-z_-]{28})"),
    pattern("google-refresh-token", &["1//0"], r"(?-u)(?:\b|_)(?P<secret>1//0[0-9A-Za-z_-]{40,})"),
    // Azure: keys of storage accounts and service buses, shared access signatures, client secrets.
    pattern("azure-storage-key", &["AccountKey="], r"(?-u)AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    pattern("azure-shared-access-key", &["SharedAccessKey="], r"(?-u)SharedAccessKey=(?P<secret>[A-Za-z0-9+/]{43}=)"),
    pattern(
        "azure-sas-signature",
        &["sig="],
        r"(?-u)[?&;]sig=(?P<secret>(?:[A-Za-z0-9]|%2[bBfF]|[+/]){40,60}(?:%3[dD]|=))",
    ),
    pattern(
        "azure-client-secret",
        &["7Q~", "8Q~"],
        r"(?-u)(?:^|[^A-Za-z0-9_~.-])(?P<secret>[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)",
    ),
    // Forges and registries.
    pattern(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?-u)(?P<secret>(?:gh[pousr]_[A-Za-z0-9]{36}){2,4}|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})",
    ),
    pattern(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"],
        r"(?-u)(?P<secret>gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{20,})",
    ),
    pattern(
        "bitbucket-token",
        &["ATBB"],
        r"(?-u)(?:^|[^A-Za-z0-9+/])(?P<secret>ATBB[A-Za-z0-9]{24,60})(?:[^A-Za-z0-9+/]|$)",
    ),
    pattern("npm-token", &["npm_"], r"(?-u)(?P<secret>(?:npm_[A-Za-z0-9]{36}){1,4})"),
    pattern("npm-auth-token", &["_authToken"], r#"(?-u)_authToken\s?=\s?["']?(?P<secret>[A-Za-z0-9_=+/.-]{16,})"#),
    pattern("pypi-token", &["pypi-AgE"], r"(?-u)(?P<secret>pypi-AgE[A-Za-z0-9_-]{50,})"),
    // Services.
    pattern(
        "slack-token",
        &["xox", "xapp-"],
        r"(?-u)(?:\b|_)(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
    ),
    pattern(
        "slack-webhook",
        &["hooks.slack.com"],
        r"(?-u)hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{6,}/[A-Za-z0-9/]{12,})",
    ),
    pattern(
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
    pattern("anthropic-key", &["sk-"], r"(?-u)(?:\b|_)(?P<secret>sk-ant-[A-Za-z0-9_-]{20,})"),
    pattern("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(?-u)(?P<secret>do[opr]_v1_[0-9a-f]{64})"),
    pattern("databricks-token", &["dapi"], r"(?-u)(?:\b|_)(?P<secret>dapi[0-9a-f]{32}(?:-[0-9]{1,2})?)(?:\b|_)"),
    pattern("huggingface-token", &["hf_"], r"(?-u)(?:\b|_)(?P<secret>hf_[A-Za-z0-9]{34})(?:\b|_)"),
    pattern("sendgrid-key", &["SG."], r"(?-u)(?:\b|_)(?P<secret>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    // Hashes may look the same, so the name of Twilio must precede the key.
    Builtin {
        name: "twilio-key",
        pattern: r#"(?-u)(?:[tT]wilio|TWILIO)[A-Za-z0-9_ .-]{0,40}(?:\\*["'])?\s{0,4}(?::=|=>|=|:)\s{0,4}(?:\\*["'])?(?P<secret>SK[0-9a-f]{32})(?:\b|_)"#,
        literals: &["wilio", "WILIO"],
        keys: &["twilio"],
        accepts: |_| true,
    },
    // Tokens of any service.
    pattern(
        "jwt",
        &["eyJ"],
        concat!(
            r"(?-u)(?:\b|_)(?P<secret>eyJ[A-Za-z0-9_-]{10,}\.",
            r"(?:(?:eyJ|ey[A-Za-z0-9]|[A-Za-z0-9_-]{0,400}\.)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{10,})?",
            // Unsigned tokens, and those with a short signature, as in tests.
            r"|(?:eyJ[A-Za-z0-9_-]{2,}|e30)\.[A-Za-z0-9_-]*))",
        ),
    ),
    Builtin {
        name: "authorization-header",
        pattern: concat!(
            r#"(?-u)(?:[aA]uthorization|AUTHORIZATION)(?:\\*["'])?\s{0,4}(?:=>|=|:)\s{0,4}(?:\\*["'])?(?:[bB]earer|BEARER|[bB]asic|BASIC|[tT]oken|[dD]igest|DIGEST|[nN]egotiate|[aA]pi[kK]ey)\s{1,4}(?P<secret>"#,
            credential!(),
            r"(?:\s{0,4},\s{0,4}",
            credential!(),
            r")*",
            r"|[._~+/-]*[A-Za-z0-9][A-Za-z0-9._~+/-]*=*)",
        ),
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
        name: "cookie",
        pattern: r#"(?-u)(?i:\b(?:set-)?cookie)(?:\\*["'`])?\s{0,4}:\s{0,4}(?:\\*["'`])?[A-Za-z0-9_.-]{1,100}=(?P<secret>[^\r\n"'`\\;\s][^\r\n"'`\\]{2,})"#,
        literals: &["ookie", "OOKIE"],
        keys: &["cookie"],
        accepts: is_given,
    },
    Builtin {
        name: "curl-user",
        pattern: r#"(?-u)\bcurl\b[^\n|;]{0,400}?\s(?:-[sSfkLivX]{0,4}u\s{0,4}|--(?:proxy-)?user[ =]\s{0,4})(?:\\*["'])?[^\s:"'$\\]{1,100}:(?P<secret>[^\s"'\\]{1,200})"#,
        literals: &["curl"],
        keys: &[],
        accepts: is_given,
    },
    Builtin {
        name: "netrc-password",
        pattern: r#"(?-u)\b(?:machine\s{1,8}[^\s]{1,200}|default)\s{1,8}login\s{1,8}[^\s]{1,200}\s{1,8}(?:account\s{1,8}[^\s]{1,200}\s{1,8})?password\s{1,8}(?:\\*")?(?P<secret>(?:[^\s"\\]|\\[^nrt"\s\\]){1,200})"#,
        literals: &["login"],
        keys: &[],
        accepts: is_given,
    },
    Builtin {
        name: "url-password",
        pattern: concat!(
            r#"(?-u)\b[A-Za-z][A-Za-z0-9+.-]{0,30}:(?:\\?/){2}[^\s/:@"'<>\\{}|`\[\]]{0,200}:"#,
            r#"(?P<secret>(?:[^\s/?#"'<>\\|`]|\b'\b){1,400}|[^\s/?#"'<>\\|`0-9](?:[^\s/?#"'<>\\|`]|\b[<>]\b){1,400}|[^\s@"'<>\\|`]{1,400}|[^\s/@"'<>\\|`]{1,200} [^\s/@"'<>\\|`]{1,200})@[A-Za-z0-9.\[_%-]"#
        ),
        literals: &["://", ":\\/", ":/\\/"],
        keys: &[],
        accepts: is_password,
    },
];

/// Whether a needle of the prefilter, found between `before` and `after` in a text that may have escapes, may belong to a match.
pub(crate) fn is_plausible(needle: &[u8], before: &[u8], after: &[u8]) -> bool {
    match needle {
        // An escape of a printable ASCII character, which needs none.
        b"\\u00" => after.first().is_some_and(|digit| (b'2'..=b'7').contains(digit)),
        // Credentials are followed by `@`, before the host ends.
        b"://" => {
            let end = |byte: &&u8| {
                matches!(byte, b'@' | b'/' | b'"' | b'\\' | b'<' | b'>' | b'{' | b'|') || byte.is_ascii_whitespace()
            };
            let is_end = after.iter().take(700).find(end).is_none_or(|byte| matches!(byte, b'@' | b'\\'));
            is_end || has_credentials(after)
        }
        // Headers of cookies have a rule of their own.
        b"ookie" | b"OOKIE" => true,
        needle if is_named(needle) => named::is_plausible(needle, before, after),
        b"TRUE" | b"FALSE" => matches!(after.first(), Some(b'\t' | b'\\')),
        b"mysql" | b"mongo" | b"redis-cli" | b"mariadb" => {
            after.iter().take(200).take_while(|byte| **byte != b'\n').any(|byte| *byte == b'-')
        }
        // Only a command with credentials.
        b"curl" => after.iter().take(400).take_while(|byte| **byte != b'\n').any(|byte| *byte == b'u'),
        b"login" => after.first().is_some_and(|byte| *byte == b'\\' || byte.is_ascii_whitespace()),
        b"earer" | b"EARER" | b"asic" | b"ASIC" => {
            after.first().is_some_and(|byte| *byte == b'\\' || byte.is_ascii_whitespace())
        }
        // Only at the beginning of a word. A letter before may be the end of an escape.
        b"sk-" | b"eyJ" | b"xox" => !before.last().is_some_and(u8::is_ascii_alphanumeric) || ends_escape(before),
        _ => true,
    }
}

/// Whether the last byte of a text may be that of an escape.
fn ends_escape(text: &[u8]) -> bool {
    text[text.len().saturating_sub(6)..].contains(&b'\\')
}

/// Whether what follows `://` may be a user, and a password that has characters which end a host.
fn has_credentials(after: &[u8]) -> bool {
    let user = after
        .iter()
        .take(200)
        .take_while(|byte| !byte.is_ascii_whitespace() && !b":/@\"'<>\\{}|".contains(byte))
        .count();
    after.get(user) == Some(&b':') && {
        let rest = &after[user + 1..];
        let end = rest.iter().take(420).position(|byte| b"@\"'<>\\|\n".contains(byte));
        end.is_some_and(|end| rest[end] == b'@')
    }
}

/// Whether a needle is a part of a secret's name.
fn is_named(needle: &[u8]) -> bool {
    needle.len() <= 8 && named::LITERALS.iter().any(|literal| literal.as_bytes() == needle)
}

/// Whether the text after "bearer" is a token rather than a word of prose.
fn is_bearer(secret: &[u8]) -> bool {
    has_digit(secret) || secret.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| word.len() >= 20)
}

/// Whether a text is the base64 of `user:password`.
fn is_credentials(secret: &[u8]) -> bool {
    credentials(secret).is_some()
}

/// The `user:password` of which a text is the base64.
fn credentials(secret: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(secret).unwrap_or_default();
    let decoded = Base64::decode_vec(text).or_else(|_| Base64Unpadded::decode_vec(text)).ok()?;
    let is_plain = decoded.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte > 0x7f);
    (is_plain && decoded.contains(&b':')).then_some(decoded)
}

/// What a secret says decoded: the password of credentials in base64, and a text that is percent-encoded.
pub(crate) fn decoded_secrets(secret: &[u8]) -> Vec<Vec<u8>> {
    let credentials = if secret.len() <= 1 << 10 { credentials(secret) } else { None };
    let password = credentials.and_then(|text| text.splitn(2, |byte| *byte == b':').nth(1).map(<[u8]>::to_vec));
    let percent = secret.contains(&b'%').then(|| percent_decoded(secret)).flatten();
    password.into_iter().chain(percent).collect()
}

/// Whether the password of a URL is neither a variable nor masked.
fn is_password(secret: &[u8]) -> bool {
    let is_name = secret.contains(&b'_') && secret.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let is_masked = secret.iter().all(|byte| matches!(byte, b'*' | b'.' | b'x' | b'X'));
    let is_identifier = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte));
    let is_variable = match secret {
        [b'$', b'{', inner @ .., b'}'] => !inner.contains(&b'}'),
        [b'{', .., b'}'] | [b'$', b'(', ..] | [b'$', b'{', b'{', ..] => true,
        // Of a shell: in capitals, or a word without digits.
        [b'$', name @ ..] => {
            is_identifier(name) && (!name.iter().any(u8::is_ascii_lowercase) || !name.iter().any(u8::is_ascii_digit))
        }
        [b'%', name @ .., b'%'] => is_identifier(name) && !name.iter().any(u8::is_ascii_lowercase),
        [b'%', format] => format.is_ascii_alphabetic(),
        _ => false,
    };
    // A port before a path that has `@`, and a host before a sentence.
    let first = secret.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_port = (1..=5).contains(&first) && matches!(secret.get(first), Some(b'/' | b'?' | b'#' | b' '));
    let is_sentence = secret.first() == Some(&b' ') || secret.contains(&b'/') && secret.contains(&b' ');
    !(is_name || is_masked || is_variable || is_port || is_sentence)
}

#[cfg(test)]
mod tests;
