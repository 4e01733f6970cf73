//! What a secret's name is.

/// How sure it is that what is given to a name is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A password: any text that a person may have chosen.
    Password,
    /// A key, a secret, or a token of something.
    Key,
    /// `token` alone, which parsers and models have too.
    Token,
    /// `auth`, `cookie`, `credentials` and other names that often have other values.
    Weak,
    /// The id of a session.
    Session,
    /// `Authorization`.
    Authorization,
}

/// A secret's name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// What it is given.
    pub kind: Kind,
    /// Whether it is in capitals, as variables of the environment are.
    pub is_upper: bool,
    /// Whether it is in small letters.
    pub is_lower: bool,
    /// Its words, in lower case.
    pub words: Vec<String>,
}

impl Name {
    /// The name that an identifier is: in snake, kebab or camel case, with a prefix and a suffix.
    pub(crate) fn parse(identifier: &[u8]) -> Option<Name> {
        let text = std::str::from_utf8(identifier).ok()?;
        if text.len() > 140 {
            return None;
        }
        let words = words(text);
        let (kind, at, length) = (0..words.len()).rev().find_map(|at| stem(&words, at))?;
        let (before, after) = (&words[..at], &words[at + length..]);
        if before.iter().any(|word| is_denied_before(word)) || after.iter().any(|word| is_denied_after(word)) {
            return None;
        }
        let has_suffix = after.iter().any(|word| !is_neutral(word));
        let kind = match kind {
            // A token of a known thing; others are those of parsers.
            Kind::Token if before.iter().any(|word| is_token_of(word)) => Kind::Key,
            Kind::Token if !before.is_empty() && !text.bytes().any(|byte| byte.is_ascii_lowercase()) => Kind::Key,
            Kind::Token | Kind::Session if has_suffix => Kind::Weak,
            kind => kind,
        };
        let is_upper = text.bytes().any(|byte| byte.is_ascii_uppercase())
            && !text.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        Some(Name { kind, is_upper, is_lower, words })
    }
}

/// The words of an identifier, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let bytes = text.as_bytes();
    let mut is_new = true;
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            is_new = true;
            continue;
        }
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let is_hump = byte.is_ascii_uppercase()
            && (before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit())
                || before.is_some_and(|before| before.is_ascii_uppercase())
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase));
        match words.last_mut().filter(|_| !is_new && !is_hump) {
            Some(word) => word.push(byte.to_ascii_lowercase() as char),
            None => words.push((byte.to_ascii_lowercase() as char).to_string()),
        }
        is_new = false;
    }
    words
}

/// The kind of name that the words from `at` on make, where they begin, and how many they are.
fn stem(words: &[String], at: usize) -> Option<(Kind, usize, usize)> {
    let word = words[at].trim_end_matches(|c: char| c.is_ascii_digit());
    let before = at.checked_sub(1).map(|before| words[before].as_str());
    let next = words.get(at + 1).map(|next| next.trim_end_matches(|c: char| c.is_ascii_digit()));
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    if ends(&["password", "passwd", "passphrase", "passcode", "pwd", "passwort", "storepass", "keypass", "psk"]) {
        return Some((Kind::Password, at, 1));
    }
    match (before, word) {
        (Some("pass"), "phrase" | "word" | "wd" | "code") => return Some((Kind::Password, at - 1, 2)),
        (Some(of), "pass") => {
            let kind = if is_pass_of(of) { Kind::Password } else { Kind::Weak };
            return Some((kind, at, 1));
        }
        (Some("api" | "access" | "private" | "secret"), "key") => return Some((Kind::Key, at - 1, 2)),
        (Some(of), "key") if of.ends_with("api") => return Some((Kind::Key, at - 1, 2)),
        (Some("api" | "access" | "secret" | "private"), "keys") => return Some((Kind::Weak, at - 1, 2)),
        (Some(of), "key") if is_key_of(of) => return Some((Kind::Weak, at - 1, 2)),
        (_, "session") if next == Some("id") => return Some((Kind::Session, at, 2)),
        _ => {}
    }
    if ends(&["apikey", "accesskey", "privatekey", "secretkey", "secret"]) {
        return Some((Kind::Key, at, 1));
    }
    if word.ends_with("token") {
        let kind = if word.len() > 5 && !word.ends_with("detoken") { Kind::Key } else { Kind::Token };
        return Some((kind, at, 1));
    }
    if ends(&["sessionid", "sessid"]) {
        return Some((Kind::Session, at, 1));
    }
    match word {
        "authorization" => Some((Kind::Authorization, at, 1)),
        "auth" | "credential" | "credentials" | "creds" | "cookie" | "secrets" | "passwords" | "tokens" | "apikeys" => {
            Some((Kind::Weak, at, 1))
        }
        _ if ends(&["credential", "credentials"]) => Some((Kind::Weak, at, 1)),
        _ => None,
    }
}

/// Whether a token of such a thing is a secret rather than one of a parser.
fn is_token_of(word: &str) -> bool {
    matches!(
        word,
        "access"
            | "auth"
            | "api"
            | "refresh"
            | "bearer"
            | "id"
            | "oauth"
            | "oauth2"
            | "security"
            | "session"
            | "bot"
            | "app"
            | "personal"
            | "deploy"
            | "user"
            | "client"
            | "github"
            | "gh"
            | "gitlab"
            | "npm"
            | "slack"
            | "vault"
            | "private"
            | "secret"
            | "csrf"
            | "xsrf"
            | "jwt"
            | "registration"
            | "runner"
            | "job"
            | "service"
            | "admin"
            | "root"
            | "push"
            | "device"
            | "webhook"
            | "verification"
            | "reset"
            | "invite"
            | "magic"
            | "discord"
            | "telegram"
            | "hf"
            | "pat"
            | "twine"
            | "pypi"
            | "cargo"
            | "docker"
            | "registry"
            | "sentry"
            | "ci"
            | "aws"
            | "azure"
            | "gcp"
            | "google"
    )
}

/// Whether a key of such a thing is often a secret.
fn is_key_of(word: &str) -> bool {
    matches!(
        word,
        "encryption"
            | "encrypt"
            | "signing"
            | "master"
            | "storage"
            | "account"
            | "shared"
            | "auth"
            | "app"
            | "service"
            | "client"
            | "subscription"
            | "license"
            | "deploy"
            | "webhook"
            | "server"
            | "admin"
            | "azure"
            | "aws"
            | "openai"
            | "anthropic"
            | "stripe"
            | "rsa"
            | "ssh"
            | "hmac"
            | "jwt"
            | "cookie"
            | "session"
            | "application"
            | "integration"
            | "restricted"
            | "live"
            | "write"
            | "ingest"
            | "sendgrid"
            | "mailgun"
            | "datadog"
            | "twilio"
            | "security"
    )
}

/// Whether a `pass` of such a thing is a password.
fn is_pass_of(word: &str) -> bool {
    matches!(
        word,
        "db" | "database"
            | "user"
            | "smtp"
            | "mail"
            | "email"
            | "mysql"
            | "postgres"
            | "pg"
            | "redis"
            | "mongo"
            | "admin"
            | "root"
            | "ftp"
            | "sftp"
            | "ssh"
            | "ldap"
            | "http"
            | "proxy"
            | "auth"
            | "login"
            | "become"
            | "store"
            | "bind"
            | "api"
            | "rabbitmq"
            | "amqp"
            | "mqtt"
    )
}

fn is_denied_before(word: &str) -> bool {
    matches!(
        word,
        "max"
            | "min"
            | "num"
            | "n"
            | "total"
            | "count"
            | "is"
            | "has"
            | "no"
            | "use"
            | "uses"
            | "with"
            | "without"
            | "enable"
            | "disable"
            | "allow"
            | "require"
            | "requires"
            | "show"
            | "hide"
            | "toggle"
            | "forgot"
            | "public"
            | "bos"
            | "eos"
            | "pad"
            | "unk"
            | "mask"
            | "sep"
            | "cls"
            | "stop"
            | "end"
            | "start"
            | "special"
            | "next"
            | "prev"
            | "previous"
            | "page"
            | "pagination"
            | "continuation"
            | "cancellation"
            | "cancel"
            | "sync"
            | "abort"
            | "stopping"
            | "lookahead"
            | "foreign"
            | "primary"
            | "partition"
            | "sort"
            | "avg"
            | "average"
            | "per"
            | "set"
            | "get"
            | "on"
            | "can"
            | "should"
            | "verify"
            | "validate"
            | "check"
            | "parse"
            | "generate"
            | "create"
            | "delete"
            | "remove"
            | "update"
            | "handle"
            | "stealth"
            | "invalid"
            | "expected"
            | "unexpected"
    )
}

fn is_denied_after(word: &str) -> bool {
    matches!(
        word,
        "count"
            | "counts"
            | "type"
            | "types"
            | "url"
            | "uri"
            | "urls"
            | "endpoint"
            | "path"
            | "paths"
            | "file"
            | "files"
            | "filename"
            | "dir"
            | "name"
            | "names"
            | "length"
            | "len"
            | "limit"
            | "limits"
            | "expiry"
            | "expires"
            | "expiration"
            | "expired"
            | "ttl"
            | "lifetime"
            | "age"
            | "field"
            | "fields"
            | "label"
            | "header"
            | "headers"
            | "prefix"
            | "suffix"
            | "format"
            | "policy"
            | "min"
            | "max"
            | "size"
            | "required"
            | "enabled"
            | "disabled"
            | "provider"
            | "host"
            | "method"
            | "mode"
            | "scheme"
            | "class"
            | "error"
            | "errors"
            | "usage"
            | "budget"
            | "index"
            | "idx"
            | "position"
            | "offset"
            | "version"
            | "status"
            | "state"
            | "strategy"
            | "source"
            | "hint"
            | "help"
            | "text"
            | "title"
            | "message"
            | "placeholder"
            | "description"
            | "input"
            | "form"
            | "page"
            | "screen"
            | "view"
            | "manager"
            | "store"
            | "factory"
            | "builder"
            | "handler"
            | "helper"
            | "service"
            | "provided"
            | "validator"
            | "validation"
            | "strength"
            | "reset"
            | "id"
            | "ids"
            | "arn"
            | "ref"
            | "refs"
            | "env"
            | "var"
            | "domain"
            | "issuer"
            | "audience"
            | "algorithm"
            | "alg"
            | "hash"
            | "digest"
            | "hashes"
            | "salt"
            | "date"
            | "time"
            | "at"
            | "timestamp"
            | "timeout"
            | "regex"
            | "pattern"
            | "re"
            | "set"
            | "list"
            | "map"
            | "cache"
            | "stream"
            | "kind"
            | "rate"
            | "per"
            | "price"
            | "cost"
            | "budgets"
            | "manage"
            | "middleware"
            | "router"
            | "module"
            | "plugin"
            | "config"
            | "settings"
            | "options"
            | "column"
            | "jar"
            | "parser"
            | "flow"
            | "in"
            | "location"
            | "scope"
            | "scopes"
            | "permissions"
            | "role"
            | "user"
            | "username"
            | "email"
            | "socket"
            | "sock"
            | "port"
            | "api"
            | "app"
            | "command"
            | "cmd"
            | "helpers"
            | "spec"
            | "selector"
            | "prompt"
    )
}

/// Whether a suffix changes nothing about what is given.
fn is_neutral(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || matches!(
            word,
            "value"
                | "val"
                | "prod"
                | "production"
                | "dev"
                | "staging"
                | "live"
                | "new"
                | "old"
                | "current"
                | "b64"
                | "base64"
                | "raw"
                | "plain"
                | "str"
                | "string"
                | "confirm"
                | "confirmation"
                | "again"
                | "repeat"
                | "1"
                | "2"
                | "primary"
                | "secondary"
                | "rw"
                | "ro"
                | "default"
                | "pem"
        )
}
