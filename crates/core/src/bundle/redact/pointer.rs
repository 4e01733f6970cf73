//! JSON pointers (RFC 6901) in which `*` matches any key or index.

use super::json::{MAX_STEPS, Step};
use crate::json::spells_any;

/// A parsed pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// `None` for `*`.
    tokens: Vec<Option<String>>,
}

/// Whether a pointer leads to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The pointer leads elsewhere.
    None,
    /// The pointer leads to a value around it, or to several values at once by a final `*`.
    Within,
    /// The pointer leads to the value.
    Exactly,
}

impl Pointer {
    /// Parses a pointer. The error is a message.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(rest) = text.strip_prefix('/') else {
            let whole = text.is_empty().then(|| Pointer { tokens: Vec::new() });
            return whole.ok_or("a pointer begins with '/', or is empty for the whole");
        };
        let tokens = rest.split('/').map(token).collect::<Result<Vec<_>, _>>()?;
        if tokens.len() > MAX_STEPS {
            return Err("a pointer has at most 64 steps");
        }
        Ok(Pointer { tokens })
    }

    /// Whether the pointer leads to the value at `path`.
    pub(crate) fn reach(&self, path: &[Step<'_>]) -> Reach {
        let leads = path.len() >= self.tokens.len()
            && self
                .tokens
                .iter()
                .zip(path)
                .all(|(token, step)| token.as_ref().is_none_or(|token| matches(step, token)));
        match leads {
            false => Reach::None,
            true if path.len() == self.tokens.len() && self.tokens.last().is_some_and(Option::is_some) => {
                Reach::Exactly
            }
            true => Reach::Within,
        }
    }

    /// The pointer relative to the payload, if it begins with `/payload`.
    pub(crate) fn within_payload(&self) -> Option<Pointer> {
        let (first, rest) = self.tokens.split_first()?;
        (first.as_deref() == Some("payload")).then(|| Pointer { tokens: rest.to_vec() })
    }
}

fn token(text: &str) -> Result<Option<String>, &'static str> {
    if text == "*" {
        return Ok(None);
    }
    let mut token = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        token.push(match (c, c == '~') {
            (c, false) => c,
            _ => match rest.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return Err("a '~' in a pointer is followed by 0 or 1"),
            },
        });
    }
    Ok(Some(token))
}

fn matches(step: &Step<'_>, token: &str) -> bool {
    match step {
        Step::Key(key) => spells_any(key, token),
        Step::Index(index) => token.parse() == Ok(*index) && !(token.len() > 1 && token.starts_with(['0', '+'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(pointer: &str, path: &[Step<'_>]) -> Reach {
        Pointer::parse(pointer).unwrap().reach(path)
    }

    #[test]
    fn pointer_matches_a_value_and_everything_inside() {
        let path = [Step::Key(b"a/b"), Step::Index(10), Step::Key(br"m~\u006e")];
        for (pointer, expected) in [
            ("/a~1b/10/m~0n", Reach::Exactly),
            ("/*/*/m~0n", Reach::Exactly),
            ("/*/10/*", Reach::Within),
            ("/a~1b", Reach::Within),
            ("", Reach::Within),
            ("/a~1b/010/m~0n", Reach::None),
            ("/a~1b/+10/m~0n", Reach::None),
            ("/a~1b/10/m~0n/x", Reach::None),
            ("/A~1b", Reach::None),
            ("/", Reach::None),
        ] {
            assert_eq!(reach(pointer, &path), expected, "{pointer}");
        }
        assert_eq!(reach("/", &[Step::Key(b"")]), Reach::Exactly);
        assert_eq!(reach("/é", &[Step::Key(br"\u00e9")]), Reach::Exactly);
    }

    #[test]
    fn an_invalid_pointer_is_refused() {
        for text in ["a", "a/b", "/~", "/~2", "/a~", &"/x".repeat(65)] {
            assert!(Pointer::parse(text).is_err(), "{text}");
        }
        let inner = Pointer::parse("/payload/a").unwrap().within_payload();
        assert_eq!(inner, Pointer::parse("/a").ok());
        assert_eq!(Pointer::parse("/a/payload").unwrap().within_payload(), None);
    }
}
