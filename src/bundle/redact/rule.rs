//! What is redacted: rules as users write them, checked and made ready before anything is read.

use std::collections::HashSet;
use std::sync::Arc;

use regex::bytes::Regex;

use super::builtin::{self, Builtin};
use super::pointer::Pointer;
use super::prefilter::Prefilter;
use crate::bundle::error::{BundleCode, BundleError};
use crate::run::error::quoted;

/// The longest name of a rule, in bytes: it stands wherever the rule hits.
const MAX_NAME_BYTES: usize = 100;

/// The group of a pattern that is the secret, if the pattern has one of this name.
const SECRET: &str = "secret";

/// A rule as a user writes it. Exactly one of `pattern` and `path` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRule {
    /// What stands in the place of what it hits: `[redacted:<name>]`. Not empty, at most 100 bytes, another one than any other rule's
    /// name, without control characters and none of `"`, `\`, `[` and `]`.
    pub name: String,
    /// A regular expression as RE2 has them, without look-around and back-references. It is matched against each decoded string by
    /// itself, and against the bytes of blobs. Where it has a group named `secret`, only that is redacted.
    pub pattern: Option<String>,
    /// A JSON pointer to string values, in the payload of an event, in a blob that is JSON, in `workflow.json`. `*` stands for any
    /// key or index. A pointer to an object or an array means every string value in it.
    pub path: Option<String>,
    /// The kinds of a run's events, or the types of a session's, to which it applies. None: all.
    pub kinds: Option<Vec<String>>,
    /// The tools to whose calls and outputs it applies. None: whatever the tool, and what has none.
    pub tools: Option<Vec<String>>,
}

/// What is redacted when a bundle is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactOptions {
    /// Whether the built-in rules apply too. They do unless told otherwise.
    pub builtin: bool,
    /// Rules beside those.
    pub rules: Vec<RedactionRule>,
}

impl Default for RedactOptions {
    fn default() -> Self {
        RedactOptions { builtin: true, rules: Vec::new() }
    }
}

/// What a rule looks for.
#[derive(Debug)]
pub enum RuleMatcher {
    /// What a pattern matches, or its group `secret`.
    Pattern {
        /// The pattern.
        regex: Regex,
        /// The number of the group that is the secret; None: all that is matched.
        group: Option<usize>,
        /// The rule, if it is a built-in one.
        builtin: Option<&'static Builtin>,
    },
    /// What a pointer leads to.
    Path(Pointer),
}

/// A rule that can be used.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it looks for.
    pub sought: RuleMatcher,
    kinds: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

impl Rule {
    fn builtin(builtin: &'static Builtin) -> Result<Self, BundleError> {
        let regex = Regex::new(builtin.pattern).map_err(|error| invalid(builtin.name, &error.to_string()))?;
        let sought = RuleMatcher::Pattern { group: group(&regex), regex, builtin: Some(builtin) };
        Ok(Rule { name: builtin.name.to_owned(), sought, kinds: None, tools: None })
    }

    fn new(rule: &RedactionRule) -> Result<Self, BundleError> {
        let RedactionRule { name, pattern, path, kinds, tools } = rule;
        check_name(name)?;
        let sought = match (pattern, path) {
            (Some(pattern), None) => {
                let wrong = |error: regex::Error| invalid(name, &error.to_string());
                // As a pattern of text, not only of bytes: no match may begin or end in the middle of a character.
                regex::Regex::new(pattern).map_err(wrong)?;
                let regex = Regex::new(pattern).map_err(wrong)?;
                RuleMatcher::Pattern { group: group(&regex), regex, builtin: None }
            }
            (None, Some(path)) => RuleMatcher::Path(Pointer::parse(path).map_err(|why| invalid(name, why))?),
            (Some(_), Some(_)) => return Err(invalid(name, "it has both a pattern and a path, and one is meant")),
            (None, None) => return Err(invalid(name, "it has neither a pattern nor a path")),
        };
        if [kinds, tools].into_iter().flatten().any(Vec::is_empty) {
            return Err(invalid(name, "an empty list of kinds or tools would apply it to nothing; leave the list out"));
        }
        Ok(Rule { name: name.clone(), sought, kinds: kinds.clone(), tools: tools.clone() })
    }

    /// Whether it does not apply to everything.
    pub fn is_restricted(&self) -> bool {
        self.kinds.is_some() || self.tools.is_some()
    }

    /// Whether it applies to what is of a kind, and of one of these tools.
    pub fn applies(&self, kind: Option<&str>, tool: Option<&str>) -> bool {
        let holds = |list: &Option<Vec<String>>, found: Option<&str>| {
            list.as_ref().is_none_or(|list| found.is_some_and(|found| list.iter().any(|one| one == found)))
        };
        holds(&self.kinds, kind) && holds(&self.tools, tool)
    }

    /// Whether it is a pointer.
    pub fn is_pointer(&self) -> bool {
        matches!(self.sought, RuleMatcher::Path(_))
    }

    /// Whether it is one of those that come with us, and not somebody's own.
    pub fn is_builtin(&self) -> bool {
        matches!(self.sought, RuleMatcher::Pattern { builtin: Some(_), .. })
    }

    /// Whether it is about tools.
    pub fn names_tools(&self) -> bool {
        self.tools.is_some()
    }
}

/// The rules of an export.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
    prefilter: Option<Arc<Prefilter>>,
}

impl RuleSet {
    /// Makes rules ready; an error is [`BundleCode::InvalidRule`].
    pub fn new(options: &RedactOptions) -> Result<Self, BundleError> {
        let mut rules = Vec::new();
        if options.builtin {
            for builtin in builtin::ALL {
                rules.push(Rule::builtin(builtin)?);
            }
        }
        for rule in &options.rules {
            rules.push(Rule::new(rule)?);
        }
        let mut names = HashSet::new();
        match rules.iter().find(|rule| !names.insert(&rule.name)) {
            Some(rule) => Err(invalid(&rule.name, "another rule, perhaps a built-in one, has the same name")),
            None => Ok(RuleSet { prefilter: prefilter(&rules)?, rules }),
        }
    }

    /// The rules, in order.
    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// What is where any of them hits. None if that can't be told: a rule is somebody's own; or if there is no rule.
    pub fn prefilter(&self) -> Option<Arc<Prefilter>> {
        self.prefilter.clone()
    }
}

fn prefilter(rules: &[Rule]) -> Result<Option<Arc<Prefilter>>, BundleError> {
    let mut literals = Vec::new();
    for rule in rules {
        let RuleMatcher::Pattern { builtin: Some(builtin), .. } = rule.sought else { return Ok(None) };
        literals.extend(builtin.literals.iter().map(|literal| literal.as_bytes().to_vec()));
    }
    let prefilter = Prefilter::new(&literals);
    let prefilter = prefilter.map_err(|error| BundleError::new(BundleCode::InvalidRule, error.to_string()))?;
    Ok(prefilter.map(Arc::new))
}

fn group(regex: &Regex) -> Option<usize> {
    regex.capture_names().position(|name| name == Some(SECRET))
}

fn check_name(name: &str) -> Result<(), BundleError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(invalid(name, "a name has from 1 to 100 bytes"));
    }
    if name.chars().any(|c| c.is_control() || "\"\\[]".contains(c)) {
        return Err(invalid(name, "a name has no control characters and none of \" \\ [ ]"));
    }
    Ok(())
}

fn invalid(name: &str, why: &str) -> BundleError {
    let message = format!("The redaction rule '{}' can't be used: {why}", quoted(name));
    BundleError::new(BundleCode::InvalidRule, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(change: impl FnOnce(&mut RedactionRule)) -> RedactionRule {
        let mut rule = RedactionRule { name: "mine".into(), pattern: Some("x+".into()), ..RedactionRule::default() };
        change(&mut rule);
        rule
    }

    fn refused(rules: Vec<RedactionRule>) -> bool {
        let result = RuleSet::new(&RedactOptions { builtin: true, rules });
        result.is_err_and(|error| error.code == BundleCode::InvalidRule)
    }

    #[test]
    fn what_can_be_used_is_used() {
        let path = |rule: &mut RedactionRule| (rule.pattern, rule.path) = (None, Some("/a/*/b".into()));
        let named = |rule: &mut RedactionRule| rule.name = "other é".into();
        assert!(!refused(vec![rule(path), rule(named)]));
        assert!(!refused(vec![rule(|rule| (rule.pattern, rule.path) = (None, Some(String::new())))]));
    }

    #[test]
    fn each_rule_that_means_nothing_is_refused() {
        type Change = Box<dyn FnOnce(&mut RedactionRule)>;
        let changes: Vec<Change> = vec![
            Box::new(|rule| rule.name.clear()),
            Box::new(|rule| rule.name = "a]".into()),
            Box::new(|rule| rule.name = "a\n".into()),
            Box::new(|rule| rule.name = "n".repeat(101)),
            Box::new(|rule| rule.name = "jwt".into()),
            Box::new(|rule| rule.pattern = None),
            Box::new(|rule| rule.path = Some("/a".into())),
            Box::new(|rule| rule.pattern = Some("(".into())),
            Box::new(|rule| rule.pattern = Some("(?=look)".into())),
            Box::new(|rule| rule.pattern = Some(r"(a)\1".into())),
            Box::new(|rule| rule.pattern = Some(r"(?-u:\xff)".into())),
            Box::new(|rule| rule.pattern = Some(r"\w{1000}{1000}".into())),
            Box::new(|rule| rule.kinds = Some(vec![])),
            Box::new(|rule| rule.tools = Some(vec![])),
            Box::new(|rule| (rule.pattern, rule.path) = (None, Some("a/b".into()))),
            Box::new(|rule| (rule.pattern, rule.path) = (None, Some("/a~2".into()))),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert!(refused(vec![rule(change)]), "change {number}");
        }
        assert!(refused(vec![rule(|_| {}), rule(|_| {})]));
    }

    #[test]
    fn a_rule_applies_to_what_it_names() {
        let of = |kinds: Option<&str>, tools: Option<&str>| {
            let list = |name: Option<&str>| name.map(|name| vec![name.to_owned()]);
            Rule::new(&rule(|rule| (rule.kinds, rule.tools) = (list(kinds), list(tools)))).unwrap()
        };
        assert!(of(None, None).applies(None, None) && !of(None, None).is_restricted());
        assert!(of(Some("k"), None).applies(Some("k"), None) && !of(Some("k"), None).applies(Some("l"), None));
        assert!(of(None, Some("t")).applies(Some("k"), Some("t")) && !of(None, Some("t")).applies(Some("k"), None));
        assert!(!of(Some("k"), Some("t")).applies(Some("k"), Some("u")));
    }
}
