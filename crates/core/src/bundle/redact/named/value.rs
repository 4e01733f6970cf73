//! Tells a secret from what else a secret's name is given: variables and code, placeholders, states, numbers and prose.

use super::name::{Kind, Name, words};
use super::place::{Given, MAX_BARE_BYTES, Notation};
use super::words::{is_algorithm, is_common_word, is_prose_word};

/// The minimum length of a secret.
const MIN_BYTES: usize = 3;

/// Whether the value that a name is given is a secret.
pub(super) fn is_secret(name: &Name, given: &Given, value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return value.len() >= MIN_BYTES && given.is_quoted };
    let text = text.trim();
    if text.len() < MIN_BYTES
        || (!given.is_quoted && text.len() > MAX_BARE_BYTES)
        || text.contains("[redacted:")
        || !text.chars().any(char::is_alphanumeric)
    {
        return false;
    }
    if is_variable(text, given) || is_placeholder(text) || is_constant(text) || is_reference(text) {
        return false;
    }
    if is_number(text) {
        let is_sure = given.is_quoted || given.notation == Notation::Strong || given.notation == Notation::Line;
        return name.kind == Kind::Password
            && is_sure
            && text.len() >= 4
            && text.bytes().all(|byte| byte.is_ascii_digit());
    }
    if text.contains(char::is_whitespace) {
        return is_phrase(name, given, text);
    }
    if is_label(text) {
        return false;
    }
    if is_said_of_name(name, text) {
        return false;
    }
    if is_made_identifier(name, given, text) {
        return true;
    }
    if !given.is_quoted && is_code(name, text, given) {
        return false;
    }
    let is_sure = match given.notation {
        Notation::Strong | Notation::Element | Notation::Pair => true,
        Notation::Header => given.ends_line || given.is_quoted || is_strange(text),
        Notation::Flag => given.is_quoted || !is_word(text),
        Notation::Member | Notation::Line | Notation::Code => given.is_quoted,
        Notation::Adjacent => false,
    };
    match name.kind {
        Kind::Password if is_sure => true,
        Kind::Password if given.notation == Notation::Line && given.ends_line => {
            !is_word(text) || is_config_word(name, text)
        }
        Kind::Password if given.notation == Notation::Line => is_random(text),
        Kind::Password if given.notation == Notation::Code => is_random(text),
        Kind::Password if given.notation == Notation::Flag => is_strange(text),
        Kind::Password => is_random(text) || (name.is_upper && is_strange(text)),
        Kind::Key if is_sure => true,
        Kind::Key if given.notation == Notation::Code => is_random(text),
        Kind::Key if given.notation == Notation::Adjacent => is_random(text),
        Kind::Key => is_strange(text) && text.len() >= 6,
        Kind::Token if given.notation == Notation::Strong => text.len() >= 6,
        Kind::Token => is_random(text) && text.len() >= 8,
        // Headers of cookies have a rule of their own.
        Kind::Weak if given.notation == Notation::Header && name.words.iter().any(|word| word == "cookie") => false,
        Kind::Weak if given.notation == Notation::Pair => true,
        Kind::Weak => is_random(text) && text.len() >= 8,
        Kind::Session => is_session_id(name, given, text),
        Kind::Authorization => is_random(text) && text.len() >= 6,
    }
}

/// Whether a secret does not occur by coincidence: it is more than words and short numbers.
pub(super) fn is_distinctive(text: &str) -> bool {
    let words = text.split_whitespace().count();
    (words == 1 && (is_strange(text) && text.len() >= 8 || is_random(text))) || words >= 3
}

/// Ids of sessions are everywhere in the recordings of agents; only those of the web are secrets.
fn is_session_id(name: &Name, given: &Given, text: &str) -> bool {
    match given.notation {
        Notation::Strong => is_random(text) && text.len() >= 8,
        Notation::Header => is_random(text) && text.len() >= 8 && !is_uuid(text),
        _ if name.is_cookie() => is_random(text) && text.len() >= 8,
        _ => {
            is_random(text) && text.len() >= 12 && !is_uuid(text) && text.bytes().any(|byte| byte.is_ascii_uppercase())
        }
    }
}

/// Whether a text of several words is a passphrase, or has a secret as its first word, and is not prose.
fn is_phrase(name: &Name, given: &Given, text: &str) -> bool {
    let parts = text.split_whitespace();
    match name.kind {
        Kind::Key | Kind::Password if given.is_quoted => {
            let words: Vec<_> = parts.collect();
            let is_sentence = text.starts_with(|c: char| c.is_uppercase() || !c.is_alphanumeric())
                && !text.chars().any(|c| c.is_ascii_digit());
            let is_plain = text.chars().all(|c| c.is_alphanumeric() || c == ' ' || "!?#$%^&*@-_+.".contains(c));
            let is_state = words.iter().filter(|word| is_common_word(word)).count() * 2 >= words.len();
            let is_prose = is_sentence || is_state || words.iter().any(|word| is_prose_word(word));
            let is_made = words.len() <= 3 && is_strange(text) && text.bytes().any(|byte| byte.is_ascii_digit());
            !is_prose && (is_made || is_plain && name.kind == Kind::Password)
        }
        Kind::Authorization => {
            let rest: Vec<_> = parts.collect();
            matches!(rest[..], [scheme, credentials] if is_scheme(scheme) && is_strange(credentials))
        }
        _ => false,
    }
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256", "bot", "key", "hmac", "ntlm"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// A variable, or a template that is filled in later.
fn is_variable(text: &str, given: &Given) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-".contains(c))
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    if let Some(rest) = text.strip_prefix('$') {
        let inner = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let is_literal = given.quote == b'\'' && rest.bytes().any(|byte| byte.is_ascii_digit());
        return rest.starts_with('(')
            || rest.starts_with("{{")
            || inner.is_some()
            || (rest.starts_with('{') && !rest.contains('}'))
            || (is_name(rest) && !is_literal)
            || rest.starts_with('@');
    }
    let is_between = |open: &str, close: &str| {
        text.starts_with(open) && text.ends_with(close) && text.len() > open.len() + close.len()
    };
    is_between("{", "}")
        || is_between("<", ">")
        || is_between("[", "]")
        || is_between("%(", ")s")
        || (is_between("%", "%") && is_name(&text[1..text.len() - 1]))
        || is_between("#{", "}")
        || is_between("__", "__")
        || is_between("@", "@")
        || text.contains("${")
        || text.contains("{{")
        || text.contains("$(")
        || text.contains("#{")
        || (given.quote == b'"' && text.starts_with('{'))
        || (text.len() <= 3 && text.starts_with('%'))
        || (!given.is_quoted
            && text.starts_with(['$', '<', '{', '[', '(', '|', '&'])
            && given.notation != Notation::Strong)
        || (given.quote == b'`' && given.notation == Notation::Strong)
}

/// Whether a text stands for a secret without being one: masked, an example, or to be replaced.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let first = lower.chars().next();
    let is_same = lower.chars().all(|c| Some(c) == first)
        || lower.chars().all(|c| matches!(c, 'x' | '*' | '.' | '-' | '_' | '#' | '•' | '?'));
    let parts = [
        "changeme",
        "change-me",
        "change_me",
        "changeit",
        "placeholder",
        "your-",
        "your_",
        "yourpassword",
        "yourtoken",
        "yourapikey",
        "_here",
        "-here",
        "***",
        "...",
        "…",
        "•••",
        "<your",
        "redacted",
        "replace_",
        "replace-",
        "replaceme",
        "insert_",
        "insert-",
        "fill_in",
        "-example-",
        "_example_",
    ];
    is_same
        || (lower.starts_with('<') && lower.contains('>'))
        || is_crossed_out(&lower)
        || parts.iter().any(|part| lower.contains(part))
}

/// Whether a text has a row of `x` that is a word or ends one. In the middle of a word a few may be there by chance.
fn is_crossed_out(lower: &str) -> bool {
    let ends_word = |byte: Option<&u8>| !byte.is_some_and(u8::is_ascii_alphanumeric);
    memchr::memmem::find_iter(lower.as_bytes(), "xxxx").any(|at| {
        let length = lower[at..].bytes().take_while(|byte| *byte == b'x').count();
        let before = at.checked_sub(1).and_then(|before| lower.as_bytes().get(before));
        length >= 6 || ends_word(before) || ends_word(lower.as_bytes().get(at + length))
    })
}

/// `MY_API_KEY`: the name of a constant or a variable.
fn is_constant(text: &str) -> bool {
    text.contains('_') && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// A path, a URL, or where else a secret is to be had from.
fn is_reference(text: &str) -> bool {
    let is_path = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./~\\:@ ".contains(&byte))
            && text.matches(['/', '\\']).count() >= 1
            && !text.split('/').any(|part| part.len() >= 16 && is_mixed(part))
    };
    let begins = ["/", "./", "../", "~/", "C:\\"];
    let schemes = [
        "arn:",
        "vault:",
        "op:",
        "env:",
        "env.",
        "file:",
        "ssm:",
        "secretsmanager:",
        "ref:",
        "ref+",
        "process.env",
        "os.environ",
        "keychain:",
        "!vault",
        "!secret",
        "!Ref",
        "!Sub",
        "!GetAtt",
        "secrets.",
    ];
    (begins.iter().any(|begin| text.starts_with(begin))
        && is_path(text)
        && (text.matches('/').count() > 1
            || text.starts_with(['.', '~', 'C'])
            || !text.bytes().any(|byte| byte.is_ascii_digit())))
        || text.contains("://")
        || schemes.iter().any(|scheme| text.starts_with(scheme))
        || [
            "pem", "key", "txt", "json", "yml", "yaml", "env", "py", "js", "ts", "rs", "go", "html", "md", "crt",
            "cfg", "toml",
        ]
        .iter()
        .any(|extension| {
            text.rsplit_once('.').is_some_and(|(stem, end)| {
                end == *extension
                    && !stem.contains(char::is_whitespace)
                    && stem.bytes().any(|byte| byte.is_ascii_lowercase())
                    && stem.len() < 60
            })
        })
}

/// A number with a unit, a date, a time or a version.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+', '~', '<', '>', '=', '^']);
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit() || ".,_:-/".contains(c));
    digits.starts_with(|c: char| c.is_ascii_digit())
        && (matches!(
            unit,
            "" | "s"
                | "ms"
                | "m"
                | "h"
                | "d"
                | "k"
                | "K"
                | "M"
                | "G"
                | "B"
                | "kB"
                | "KB"
                | "MB"
                | "KiB"
                | "MiB"
                | "%"
                | "e"
                | "x"
                | "px"
                | "min"
                | "n"
                | "i32"
                | "i64"
                | "u8"
                | "u32"
                | "u64"
                | "usize"
                | "L"
        ) || (digits.get(4..5) == Some("-") && unit.starts_with('T')))
        || digits.strip_prefix("0x").is_some_and(|hex| {
            hex.len() <= 16
                && hex.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_' || byte == b'u' || byte == b'i')
        })
}

/// A word for a password in another language, as the labels of a form have it.
fn is_label(text: &str) -> bool {
    let labels = [
        "kennwort",
        "passwort",
        "contrasena",
        "senha",
        "wachtwoord",
        "parola",
        "haslo",
        "heslo",
        "motdepasse",
        "losenord",
    ];
    (!text.is_ascii() && text.chars().all(char::is_alphabetic))
        || labels.contains(&text.to_ascii_lowercase().trim_end_matches([':', '?']))
}

/// Whether a text says only what its name says: `"password": "Password"`, `token: my-token`, `status: expired`.
fn is_said_of_name(name: &Name, text: &str) -> bool {
    if text.bytes().any(|byte| byte.is_ascii_digit() || !(byte.is_ascii_alphanumeric() || b"_-.:/?!".contains(&byte))) {
        return false;
    }
    let said = words(text);
    let joined = said.concat();
    // The name of another secret, as a constant has it.
    let is_name =
        || said.len() > 1 && Name::parse(text.as_bytes()).is_some() || text.ends_with("_id") || text.ends_with("KeyId");
    is_common_word(&joined)
        || is_name()
        || joined == name.words.concat()
        || said.iter().all(|word| is_common_word(word) || name.words.contains(word))
}

/// Whether an identifier, given where no code is, is a secret rather than a word: it has a digit, or small letters and capitals around `_`.
fn is_made_identifier(name: &Name, given: &Given, text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    let is_identifier =
        has(u8::is_ascii_alphabetic) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_cased = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_unlike_words =
        has(u8::is_ascii_digit) || is_cased && text.contains('_') && !text.split('_').all(is_capitalised);
    let is_in_place = match name.kind {
        // In the middle of a line there are the ids of all programs.
        Kind::Session => given.notation != Notation::Code,
        // Headers of cookies have a rule of their own.
        Kind::Weak => !(given.is_after_colon && name.words.iter().any(|word| word == "cookie")),
        Kind::Authorization => false,
        Kind::Password | Kind::Key | Kind::Token => true,
    };
    given.is_setting
        && text.len() >= 8
        && is_identifier
        && is_unlike_words
        && is_in_place
        && !(given.is_after_colon && is_type(text))
        && !is_numbered(name, text)
}

/// Whether an identifier is one of a type, with numbers at the end of words: `Utf8String`.
fn is_type(text: &str) -> bool {
    let ends_word = |pair: &[u8]| !pair[0].is_ascii_digit() || !pair[1].is_ascii_lowercase();
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && !text.contains('_')
        && text.as_bytes().windows(2).all(ends_word)
}

fn is_capitalised(word: &str) -> bool {
    word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
}

/// Whether a text is what its name says, the name of another secret, or that of an algorithm, with numbers: `token_2`, `hmac_sha256`.
fn is_numbered(name: &Name, text: &str) -> bool {
    words(text).iter().all(|word| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.is_empty()
            || word == "v"
            || is_algorithm(word)
            || is_common_word(word)
            || name.words.iter().any(|of| of == word)
    })
}

/// Whether a value without quotes is an expression: a call, a member, a type, an element.
fn is_code(name: &Name, text: &str, given: &Given) -> bool {
    let operand = text.trim_start_matches(['&', '*', '!', '-', '@']);
    let length = operand.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (first, rest) = operand.split_at(length);
    if first.is_empty() || first.starts_with(|c: char| c.is_ascii_digit()) {
        return text.starts_with(['(', '[', '{']);
    }
    let is_member = |rest: &str| {
        rest.strip_prefix('.').is_some_and(|rest| {
            let member = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            let has_digit = first.bytes().any(|byte| byte.is_ascii_digit());
            let is_unlike_words = || has_broken_words(member) || has_broken_words(first) || given.is_setting;
            let is_broken = || has_digit && is_unlike_words() && !ends_in_word(name, member);
            !member.is_empty()
                && !is_random(member)
                && !member.starts_with(|c: char| c.is_ascii_digit())
                && !is_broken()
        })
    };
    let is_strong = matches!(given.notation, Notation::Strong | Notation::Flag | Notation::Element);
    let is_identifier = rest.is_empty() && (first.contains('_') || is_camel(first)) && !is_random(first);
    let is_type = rest.starts_with(['<', '[', '?']) || (rest == "!" && given.notation == Notation::Code);
    rest.starts_with(['(', '[']) && !is_strong
        || (!is_strong && rest.starts_with('.') && rest.contains('('))
        || (rest.starts_with('(')
            && is_strong
            && text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_(.,".contains(&byte)))
        || rest.starts_with("::")
        || rest.starts_with("->")
        || (is_member(rest) && !is_random(first))
        || (!is_strong && (is_identifier || is_type))
        || (is_strong && text.contains("=>"))
        || (!is_strong
            && (rest.starts_with("!(")
                || rest.starts_with("![")
                || (rest.is_empty() && text.starts_with(['&', '*', '!']))))
}

/// Whether the last word of an identifier is one of the name that it is given to, or of another secret: `next_token`.
fn ends_in_word(name: &Name, identifier: &str) -> bool {
    words(identifier).last().is_some_and(|word| name.words.contains(word) || is_common_word(word))
}

/// Whether capitals and digits are closer together than in the words of an identifier: `cPAoEG`.
fn has_broken_words(identifier: &str) -> bool {
    let is_version = |word: &String| word.starts_with('v') && word[1..].bytes().all(|byte| byte.is_ascii_digit());
    let count = words(identifier).iter().filter(|word| !is_version(word)).count();
    identifier.len() >= 5 && count * 5 >= identifier.len() * 2
}

fn is_camel(text: &str) -> bool {
    text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && !text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-.:?!".contains(&byte))
}

/// Whether a word after a password's name, alone in its line, is the password rather than a type or a state.
fn is_config_word(name: &Name, text: &str) -> bool {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    name.is_lower && is_plain(text) && text.len() >= 7 && !is_prose_word(text)
}

/// Whether a text looks chosen or made: it has digits or symbols between its letters.
fn is_strange(text: &str) -> bool {
    let trimmed = text.trim_end_matches(['.', ',', '!', '?', ':', ';']);
    let has = |test: fn(&u8) -> bool| trimmed.as_bytes().iter().any(test);
    has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has(|byte| b"!@#$%^&*+~=".contains(byte)))
        || is_random(text)
}

/// Whether a text is not made of words and numbers.
fn is_random(text: &str) -> bool {
    if text.len() < 6 {
        return false;
    }
    if is_uuid(text) {
        return true;
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let has_symbol = text.trim_end_matches(['!', '?', '.', ':']).bytes().any(|byte| b"!@#$%^&*+~=".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let parts = || text.split(['-', '_', '.', '/', ':', '@', '+', ',']).filter(|part| !part.is_empty());
    // Words with a number at their end, and short numbers: `sha256`, `gpt-4-turbo`, `us-east-1`.
    let is_wordlike = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = part.len() - word.len();
        let prefix = word.trim_start_matches(|c: char| c.is_ascii_digit());
        number <= 4
            && word.bytes().all(|byte| byte.is_ascii_alphabetic())
            && prefix.len() == word.len()
            && !is_jumbled(word)
            || (has_one_number(part) && !is_mixed(text))
            || (number == part.len() && number <= 10)
            || (part.len() <= 3)
    };
    if is_mixed(text) || is_made(text) {
        return true;
    }
    if parts().all(is_wordlike) && !has_symbol {
        return false;
    }
    has_digit && text.bytes().any(|byte| byte.is_ascii_alphabetic()) || has_symbol || parts().any(is_jumbled)
}

/// Whether a text of letters and digits is not made of words, where capitals are followed by small letters or other capitals only.
fn is_made(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    let is_word = |word: &str| {
        let bytes = word.as_bytes();
        let is_hump = |at: usize| {
            !bytes[at].is_ascii_uppercase()
                || bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_lowercase))
        };
        bytes.iter().all(u8::is_ascii_uppercase) || (0..bytes.len()).all(is_hump)
    };
    // Small letters, a number, and capitals only: `wvt3MVWB`.
    let is_odd = |part: &str| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let last = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < part.len()
            && last.len() < rest.len()
            && last.len() > 2
            && last.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    text.len() >= 10
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && (text.split('_').any(is_odd) || !text.split(|c: char| !c.is_ascii_alphabetic()).all(is_word))
}

/// Whether letters of both cases and digits alternate more often than words and numbers do.
fn is_mixed(text: &str) -> bool {
    let class = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_lowercase(), byte.is_ascii_digit());
    let is_change = |pair: &[u8]| {
        let is_plain = pair.iter().all(u8::is_ascii_alphanumeric);
        is_plain && class(pair[0]) != class(pair[1]) && !(pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase())
    };
    let changes = text.as_bytes().windows(2).filter(|pair| is_change(pair)).count();
    text.len() >= 10 && text.bytes().any(|byte| byte.is_ascii_digit()) && changes >= 3.max(text.len() / 5)
}

/// Whether a part is letters with one short number among them: `Pbkdf2Params`.
fn has_one_number(part: &str) -> bool {
    let mut letters = part.split(|c: char| c.is_ascii_digit()).filter(|letters| !letters.is_empty());
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let [Some(first), Some(second), None] = [letters.next(), letters.next(), letters.next()] else { return false };
    digits <= 3
        && first.len() + second.len() >= 6
        && [first, second]
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()) && word.len() > 1 && !is_jumbled(word))
}

/// Whether capital and small letters alternate as they do not in words, where small letters come in twos and more.
fn is_jumbled(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_single =
        |three: &[u8]| three[0].is_ascii_uppercase() && three[1].is_ascii_lowercase() && !three[2].is_ascii_lowercase();
    let has_short_words = || bytes.len() >= 24 && words(word).len() * 10 >= bytes.len() * 3;
    bytes.len() >= 12 && bytes.windows(3).filter(|three| is_single(three)).count() * 9 >= bytes.len()
        || has_short_words()
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if [8, 13, 18, 23].contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}
