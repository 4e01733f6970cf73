//! Redaction rules: validated and compiled before the export reads anything.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use regex::bytes::Regex;

use super::builtin::Builtin;
use super::pointer::Pointer;
use super::prefilter::Prefilter;
use crate::bundle::format::{BundleCode, BundleError};
use crate::bundle::redact::{builtin, named, references};
use crate::json::quoted;

/// The longest name of a rule, in bytes. The name is part of every placeholder.
const MAX_NAME_BYTES: usize = 100;

/// The name of the group that limits a match to the secret.
const SECRET: &str = "secret";

/// A rule of the user. Exactly one of `pattern` and `path` must be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRule {
    /// The name, which is part of the placeholder `[redacted:<name>]`: unique, 1 to 100 bytes, without control characters and the
    /// characters `"`, `\`, `[` and `]`.
    pub name: String,
    /// A regular expression in the syntax of RE2, without look-around and back-references. It is matched against each decoded
    /// string, and against the bytes of blobs. If it has a group named `secret`, only the group is redacted.
    pub pattern: Option<String>,
    /// A JSON pointer to string values in the payload of an event, in a blob that is JSON, or in `workflow.json`. `*` matches any
    /// key or index. A pointer to an object or an array selects all strings in it.
    pub path: Option<String>,
    /// The kinds of a run's events, or the types of a session's, to which the rule applies; `None` for all.
    pub kinds: Option<Vec<String>>,
    /// The tools to whose calls and outputs the rule applies; `None` for everything, with a tool or without.
    pub tools: Option<Vec<String>>,
}

/// The redaction rules of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactOptions {
    /// Whether to apply the built-in rules, as by default.
    pub builtin: bool,
    /// Additional rules.
    pub rules: Vec<RedactionRule>,
}

impl Default for RedactOptions {
    fn default() -> Self {
        RedactOptions { builtin: true, rules: Vec::new() }
    }
}

/// How a rule finds its matches.
#[derive(Debug)]
pub(crate) enum RuleMatcher {
    /// By a regular expression.
    Pattern {
        /// The regular expression.
        regex: Regex,
        /// The index of the group `secret`; `None` to redact the whole match.
        group: Option<usize>,
    },
    /// By the regular expression of a built-in rule, which is compiled when one of its literals is found for the first time.
    Builtin(&'static Builtin, OnceLock<Option<(Regex, Option<usize>)>>),
    /// By the names that secrets have: the built-in rule [`named`].
    Named,
    /// By its place in a reference to media: the built-in rule of [`references`].
    ProviderFile,
    /// By a JSON pointer.
    Path(Pointer),
}

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The unique name.
    pub name: String,
    /// How it finds its matches.
    pub matcher: RuleMatcher,
    kinds: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

impl Rule {
    fn builtin(builtin: &'static Builtin) -> Self {
        let matcher = RuleMatcher::Builtin(builtin, OnceLock::new());
        Rule { name: builtin.name.to_owned(), matcher, kinds: None, tools: None }
    }

    /// The regular expression of a rule, the index of its group `secret`, and the built-in rule, if it is one.
    pub(crate) fn pattern(&self) -> Option<(&Regex, Option<usize>, Option<&'static Builtin>)> {
        match &self.matcher {
            RuleMatcher::Pattern { regex, group } => Some((regex, *group, None)),
            RuleMatcher::Builtin(builtin, compiled) => {
                let compile = || Regex::new(builtin.pattern).ok().map(|regex| (regex.clone(), group(&regex)));
                let (regex, group) = compiled.get_or_init(compile).as_ref()?;
                Some((regex, *group, Some(builtin)))
            }
            RuleMatcher::Named | RuleMatcher::ProviderFile | RuleMatcher::Path(_) => None,
        }
    }

    fn named() -> Self {
        Rule { name: named::NAME.to_owned(), matcher: RuleMatcher::Named, kinds: None, tools: None }
    }

    fn provider_file() -> Self {
        Rule { name: references::NAME.to_owned(), matcher: RuleMatcher::ProviderFile, kinds: None, tools: None }
    }

    fn new(rule: &RedactionRule) -> Result<Self, BundleError> {
        let RedactionRule { name, pattern, path, kinds, tools } = rule;
        check_name(name)?;
        let matcher = match (pattern, path) {
            (Some(pattern), None) => {
                let wrong = |error: regex::Error| invalid(name, &error.to_string());
                // A pattern that can match invalid UTF-8 is refused: no match may begin or end in the middle of a character.
                regex::Regex::new(pattern).map_err(wrong)?;
                let regex = Regex::new(pattern).map_err(wrong)?;
                RuleMatcher::Pattern { group: group(&regex), regex }
            }
            (None, Some(path)) => RuleMatcher::Path(Pointer::parse(path).map_err(|why| invalid(name, why))?),
            (Some(_), Some(_)) => return Err(invalid(name, "it has both a pattern and a path, and one is meant")),
            (None, None) => return Err(invalid(name, "it has neither a pattern nor a path")),
        };
        if [kinds, tools].into_iter().flatten().any(Vec::is_empty) {
            return Err(invalid(name, "an empty list of kinds or tools would apply it to nothing; leave the list out"));
        }
        Ok(Rule { name: name.clone(), matcher, kinds: kinds.clone(), tools: tools.clone() })
    }

    /// Whether the rule is restricted to kinds or tools.
    pub(crate) fn is_restricted(&self) -> bool {
        self.kinds.is_some() || self.tools.is_some()
    }

    /// Whether the rule applies to content of this kind and tool.
    pub(crate) fn applies(&self, kind: Option<&str>, tool: Option<&str>) -> bool {
        let holds = |list: &Option<Vec<String>>, found: Option<&str>| {
            list.as_ref().is_none_or(|list| found.is_some_and(|found| list.iter().any(|one| one == found)))
        };
        holds(&self.kinds, kind) && holds(&self.tools, tool)
    }

    /// Whether the rule applies to graphs and snapshots, which consist of ids and states.
    pub(crate) fn applies_to_states(&self) -> bool {
        matches!(self.matcher, RuleMatcher::Pattern { .. } | RuleMatcher::Builtin(..))
    }

    /// Whether the rule is built in.
    pub(crate) fn is_builtin(&self) -> bool {
        self.literals().is_some()
    }

    /// Literals of which every match contains at least one; `None` for rules of the user.
    pub(crate) fn literals(&self) -> Option<&'static [&'static str]> {
        match &self.matcher {
            RuleMatcher::Builtin(builtin, _) => Some(builtin.literals),
            RuleMatcher::Named => Some(named::LITERALS),
            RuleMatcher::ProviderFile => Some(references::LITERALS),
            RuleMatcher::Pattern { .. } | RuleMatcher::Path(_) => None,
        }
    }

    /// Whether the rule is restricted to tools.
    pub(crate) fn names_tools(&self) -> bool {
        self.tools.is_some()
    }
}

/// The compiled rules of an export.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Vec<Rule>,
    prefilter: Option<Arc<Prefilter>>,
}

impl RuleSet {
    /// Validates and compiles rules. An error is [`BundleCode::InvalidRule`].
    pub(crate) fn new(options: &RedactOptions) -> Result<Self, BundleError> {
        let mut rules = Vec::new();
        if options.builtin {
            for builtin in builtin::all() {
                rules.push(Rule::builtin(builtin));
            }
            rules.push(Rule::named());
            rules.push(Rule::provider_file());
        }
        for rule in &options.rules {
            rules.push(Rule::new(rule)?);
        }
        let mut names = HashSet::new();
        match rules.iter().find(|rule| !names.insert(&rule.name)) {
            Some(rule) => Err(invalid(&rule.name, "another rule, perhaps a built-in one, has the same name")),
            None => Ok(RuleSet { prefilter: prefilter(&rules), rules }),
        }
    }

    /// The rules, in order.
    pub(crate) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// A prefilter with a candidate for every match. `None` without rules, or with a rule of the user, which has no literals.
    pub(crate) fn prefilter(&self) -> Option<Arc<Prefilter>> {
        self.prefilter.clone()
    }
}

fn prefilter(rules: &[Rule]) -> Option<Arc<Prefilter>> {
    let mut literals = Vec::new();
    for rule in rules {
        literals.extend(rule.literals()?.iter().map(|literal| literal.as_bytes().to_vec()));
    }
    Prefilter::new(&literals).map(Arc::new)
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
    fn valid_rules_are_accepted() {
        let path = |rule: &mut RedactionRule| (rule.pattern, rule.path) = (None, Some("/a/*/b".into()));
        let named = |rule: &mut RedactionRule| rule.name = "other é".into();
        assert!(!refused(vec![rule(path), rule(named)]));
        assert!(!refused(vec![rule(|rule| (rule.pattern, rule.path) = (None, Some(String::new())))]));
    }

    #[test]
    fn invalid_rules_are_refused() {
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
    fn a_rule_applies_to_its_kinds_and_tools() {
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
