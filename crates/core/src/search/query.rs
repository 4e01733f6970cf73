//! Compiles queries.

use std::convert::Infallible;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{Ast, ClassSetItem, Span};

use super::matcher::Matcher;
use super::prefilter::{Prefilter, QueryChar};
use super::wtf8::Surrogates;

/// Whether case matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Only if the query has an uppercase letter. Those in the classes and escapes of a regular expression do not count.
    #[default]
    Smart,
    /// It does.
    Sensitive,
    /// It does not.
    Insensitive,
}

/// How a query is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// Whether it is a regular expression, rather than a literal.
    pub is_regex: bool,
    /// Whether case matters.
    pub case: Case,
}

/// Why a query can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It has no characters.
    #[error("it is empty")]
    Empty,
    /// It is not a regular expression.
    #[error("{message}, at {offset}")]
    Syntax {
        /// What is wrong.
        message: String,
        /// Where, in UTF-16 units.
        offset: usize,
    },
    /// Its compiled form would be too large.
    #[error("its compiled form is too large")]
    TooLarge,
}

/// A compiled query.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) matcher: Matcher,
    pub(super) prefilter: Prefilter,
}

impl Query {
    /// Compiles a query, given in UTF-16.
    pub fn new(units: &[u16], options: QueryOptions) -> Result<Self, QueryError> {
        if units.is_empty() {
            return Err(QueryError::Empty);
        }
        if options.is_regex { Self::regex(units, options.case) } else { Self::literal(units, options.case) }
    }

    /// The same query, for which every line is read: it finds the same, only later.
    #[must_use]
    pub fn without_prefilter(self) -> Self {
        Query { prefilter: Prefilter::all(), ..self }
    }

    fn literal(units: &[u16], case: Case) -> Result<Self, QueryError> {
        let is_insensitive = case.is_insensitive(|| String::from_utf16_lossy(units));
        let chars: Vec<QueryChar> =
            char::decode_utf16(units.iter().copied()).map(|c| c.map_err(|lone| lone.unpaired_surrogate())).collect();
        let has_lone = chars.iter().any(Result::is_err);
        let prefilter = Prefilter::of_literal(&chars, is_insensitive, !is_insensitive);
        let matcher = if is_insensitive {
            let compiled = regex::bytes::RegexBuilder::new(&folded_pattern(&chars)).case_insensitive(true).build();
            Matcher::Folded(Box::new(compiled.map_err(|_| QueryError::TooLarge)?))
        } else if has_lone {
            Matcher::Units(units.to_vec())
        } else {
            let mut bytes = Vec::new();
            Surrogates::Wtf8.append_units(&mut bytes, units.iter().copied());
            Matcher::Literal(Box::new(Finder::new(&bytes).into_owned()))
        };
        Ok(Query { matcher, prefilter })
    }

    fn regex(units: &[u16], case: Case) -> Result<Self, QueryError> {
        let mut pattern = Vec::new();
        Surrogates::Private.append_units(&mut pattern, units.iter().copied());
        let pattern = String::from_utf8_lossy(&pattern).into_owned();
        let is_insensitive = case.is_insensitive(|| literals_of(&pattern));
        let parsed = ParserBuilder::new().case_insensitive(is_insensitive).build().parse(&pattern);
        let parsed = parsed.map_err(|error| syntax_error(&error, units))?;
        let compiled = regex::RegexBuilder::new(&pattern).case_insensitive(is_insensitive).build();
        let compiled = compiled.map_err(|_| QueryError::TooLarge)?;
        let prefilter = Prefilter::of_expression(&parsed);
        Ok(Query { matcher: Matcher::Expression(Box::new(compiled)), prefilter })
    }
}

impl Case {
    /// Whether case does not matter for these letters.
    fn is_insensitive(self, letters: impl FnOnce() -> String) -> bool {
        static UPPERCASE: LazyLock<Option<regex::Regex>> = LazyLock::new(|| regex::Regex::new(r"\p{Lu}").ok());
        match self {
            Case::Smart => !UPPERCASE.as_ref().is_some_and(|uppercase| uppercase.is_match(&letters())),
            Case::Sensitive => false,
            Case::Insensitive => true,
        }
    }
}

/// The characters that a pattern names, without those of its syntax.
fn literals_of(pattern: &str) -> String {
    let parsed = regex_syntax::ast::parse::Parser::new().parse(pattern);
    parsed.ok().and_then(|ast| regex_syntax::ast::visit(&ast, Literals(String::new())).ok()).unwrap_or_default()
}

struct Literals(String);

impl regex_syntax::ast::Visitor for Literals {
    type Output = String;
    type Err = Infallible;

    fn finish(self) -> Result<String, Infallible> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        if let Ast::Literal(literal) = ast {
            self.0.push(literal.c);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        match item {
            ClassSetItem::Literal(literal) => self.0.push(literal.c),
            ClassSetItem::Range(range) => self.0.extend([range.start.c, range.end.c]),
            _ => {}
        }
        Ok(())
    }
}

/// A literal as a pattern over WTF-8.
fn folded_pattern(chars: &[QueryChar]) -> String {
    let mut pattern = String::new();
    for c in chars {
        match c {
            Ok(c) => pattern.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            Err(lone) => {
                let mut bytes = Vec::new();
                Surrogates::Wtf8.append_units(&mut bytes, [*lone]);
                pattern.push_str("(?-u:");
                bytes.iter().for_each(|byte| pattern.push_str(&format!("\\x{byte:02X}")));
                pattern.push(')');
            }
        }
    }
    pattern
}

fn syntax_error(error: &regex_syntax::Error, units: &[u16]) -> QueryError {
    let (message, span): (String, Option<&Span>) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), Some(error.span())),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), Some(error.span())),
        _ => (error.to_string(), None),
    };
    QueryError::Syntax { message, offset: span.map_or(0, |span| units_before(units, span.start.offset)) }
}

/// The number of units before a byte of their text, in which a lone surrogate has the size of a pair.
fn units_before(units: &[u16], offset: usize) -> usize {
    let (mut bytes, mut count) = (0, 0);
    for c in char::decode_utf16(units.iter().copied()) {
        if bytes >= offset {
            break;
        }
        let (length, width) = c.map_or((Surrogates::Private.length(), 1), |c| (c.len_utf8(), c.len_utf16()));
        (bytes, count) = (bytes + length, count + width);
    }
    count
}
