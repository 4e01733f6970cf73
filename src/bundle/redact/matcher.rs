//! Where in a text the rules hit, and the text without what they hit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::escapes::{unescaped, written};
use super::pointer::Reach;
use super::prefilter::Prefilter;
use super::rule::{Rule, RuleMatcher, RuleSet};
use super::secrets::{MIN_BYTES_ASKED_FOR, Secrets, is_plain};
use crate::bundle::error::{BundleCode, BundleError};

/// How many times the escapes of a text are taken off: JSON in JSON in JSON.
pub const MAX_LEVELS: usize = 4;

/// How often a text is looked at again after something was replaced in it.
const MAX_ROUNDS: usize = 64;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What stands between the quotes of a JSON string: it means what it says without its escapes.
    Inside,
    /// Bytes: they mean what they say, and perhaps what they say without escapes too.
    Bytes,
}

/// A part of a text that is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The number of the rule.
    pub rule: usize,
}

/// How a text is looked at.
#[derive(Clone, Copy)]
pub struct MatchContext<'l> {
    /// What it is.
    pub form: Form,
    /// Which rules apply, by number. None: those that apply to everything.
    pub allowed: Option<&'l [bool]>,
    /// The rules whose pointer leads to it, or to what it is in.
    pub pointed: &'l [(usize, Reach)],
    /// The key under which it stands, without escapes.
    pub key: Option<&'l [u8]>,
}

impl MatchContext<'_> {
    /// At a text by itself.
    pub fn at(form: Form) -> Self {
        MatchContext { form, allowed: None, pointed: &[], key: None }
    }
}

/// What finds secrets.
pub struct Matcher<'r> {
    rules: &'r [Rule],
    /// What was put in the place of something, now or when the source was exported.
    placeholders: Vec<Vec<u8>>,
    /// Finds what is in every match of a built-in rule.
    literals: Option<AhoCorasick>,
    /// The rule of each of them.
    literal_rules: Vec<usize>,
    /// Finds the same, and what could hide it, in lines as they stand.
    marks: Option<Arc<Prefilter>>,
    /// The rules of which nothing is known before they are tried.
    blind: Vec<usize>,
    /// Whether there are rules of which nothing is known before they are tried.
    is_blind: bool,
    /// What was found so far.
    pub secrets: Secrets,
}

impl<'r> Matcher<'r> {
    /// A matcher by `rules`. `earlier` are names of rules by which the source was redacted before.
    pub fn new(rules: &'r RuleSet, earlier: &BTreeSet<String>) -> Result<Self, BundleError> {
        let (marks, rules) = (rules.prefilter(), rules.all());
        let names = rules.iter().map(|rule| &rule.name).chain(earlier);
        let placeholders = names.map(|name| placeholder(name)).collect();
        let (mut literals, mut literal_rules, mut blind) = (Vec::new(), Vec::new(), Vec::new());
        for (number, rule) in rules.iter().enumerate() {
            match &rule.sought {
                RuleMatcher::Pattern { builtin: Some(builtin), .. } => {
                    literals.extend(builtin.literals.iter().map(|literal| literal.as_bytes().to_vec()));
                    literal_rules.resize(literals.len(), number);
                }
                _ => blind.push(number),
            }
        }
        let built = |error: aho_corasick::BuildError| BundleError::new(BundleCode::InvalidRule, error.to_string());
        let all = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .map_err(built)?;
        let some = !literals.is_empty();
        Ok(Matcher {
            rules,
            placeholders,
            literals: some.then_some(all),
            literal_rules,
            marks,
            is_blind: !blind.is_empty(),
            blind,
            secrets: Secrets::default(),
        })
    }

    /// The rules.
    pub fn rules(&self) -> &'r [Rule] {
        self.rules
    }

    /// Which rules apply to what is of a kind and of a tool. None: those that apply to everything, and no others.
    pub fn allowed(&self, kind: Option<&str>, tool: Option<&str>) -> Option<Vec<bool>> {
        let is_restricted = self.rules.iter().any(Rule::is_restricted);
        is_restricted.then(|| self.rules.iter().map(|rule| rule.applies(kind, tool)).collect())
    }

    /// Whether a rule applies.
    pub fn applies(&self, rule: usize, allowed: Option<&[bool]>) -> bool {
        match allowed {
            Some(allowed) => allowed.get(rule).copied().unwrap_or(false),
            None => self.rules.get(rule).is_some_and(|rule| !rule.is_restricted()),
        }
    }

    /// Whether nothing is hit where there is no mark. Not as soon as there are secrets that are looked for everywhere.
    pub fn goes_by_marks(&self) -> bool {
        !self.is_blind && self.secrets.is_empty()
    }

    /// Where from `from` on something may be that has to be looked at. Nothing before that hits, however it is written.
    pub fn suspect(&self, text: &[u8], from: usize) -> Option<usize> {
        if from >= text.len() {
            return None;
        }
        if !self.goes_by_marks() {
            return Some(from);
        }
        self.marks.as_ref()?.find(text, from)
    }

    /// Whether anything may hit a text, however it is written.
    pub fn suspects(&self, text: &[u8]) -> bool {
        let marked = || self.marks.as_ref().is_some_and(|marks| marks.find(text, 0).is_some());
        // A secret may hold what is written with an escape anyway.
        let known = || !self.secrets.is_empty() && (text.contains(&b'\\') || self.secrets.first(text).is_some());
        self.is_blind || marked() || known()
    }

    /// The parts of a text that are to be replaced, in order and apart. What they are is noted.
    pub fn hits(
        &mut self,
        text: &[u8],
        look: MatchContext<'_>,
        rules: &mut BTreeSet<usize>,
    ) -> Result<Vec<Hit>, BundleError> {
        let is_suspect = || self.suspects(text) || look.key.is_some_and(|key| self.suspects(key));
        if look.pointed.is_empty() && !is_suspect() {
            return Ok(Vec::new());
        }
        let mut levels: Vec<Cow<'_, [u8]>> = vec![Cow::Borrowed(text)];
        let first = usize::from(look.form == Form::Inside);
        let mut hits = Vec::new();
        for level in 0..=MAX_LEVELS {
            if level > 0 {
                let before = &levels[level - 1];
                let next = match before {
                    Cow::Borrowed(text) => unescaped(text),
                    // It lives here only.
                    Cow::Owned(text) => Cow::Owned(unescaped(text).into_owned()),
                };
                if level > first && (memchr::memchr(b'\\', before).is_none() || next == *before) {
                    break;
                }
                levels.push(next);
            }
            if level >= first {
                let mut found = self.hits_as_read(&levels[level], look, level == first)?;
                rules.extend(found.iter().map(|hit| hit.rule));
                self.back(&levels[..level], &mut found);
                hits.append(&mut found);
            }
        }
        Ok(apart(hits))
    }

    /// Ranges of the last of some levels' unescaped text, as ranges of the first of them.
    fn back(&self, levels: &[Cow<'_, [u8]>], hits: &mut [Hit]) {
        if hits.is_empty() {
            return;
        }
        let mut ranges: Vec<_> = hits.iter().map(|hit| (hit.start, hit.end)).collect();
        for level in levels.iter().rev() {
            written(level, &mut ranges);
        }
        for (hit, (start, end)) in hits.iter_mut().zip(ranges) {
            (hit.start, hit.end) = (start, end);
        }
    }

    /// Where a text that says what it means is hit.
    fn hits_as_read(&mut self, text: &[u8], look: MatchContext<'_>, is_first: bool) -> Result<Vec<Hit>, BundleError> {
        let kept = self.placeholders_in(text);
        let mut hits = Vec::new();
        let candidates = self.candidates(text);
        let by_literal = (0..128).filter(|number| candidates >> number & 1 == 1);
        for number in by_literal.chain(self.blind.iter().copied()) {
            let Some(rule) = self.rules.get(number).filter(|_| self.applies(number, look.allowed)) else { continue };
            let RuleMatcher::Pattern { regex, group, builtin } = &rule.sought else { continue };
            let accepts = |secret: &[u8]| builtin.is_none_or(|builtin| (builtin.accepts)(secret));
            match_all(regex, *group, text, |start, end| {
                if accepts(&text[start..end]) {
                    hits.push(Hit { start, end, rule: number });
                }
            });
        }
        if let Some(key) = look.key.filter(|_| is_first) {
            self.hits_under_key(key, text, look, &mut hits);
        }
        if is_first {
            let whole = |(rule, _): &(usize, Reach)| Hit { start: 0, end: text.len(), rule: *rule };
            hits.extend(look.pointed.iter().filter(|(rule, _)| self.applies(*rule, look.allowed)).map(whole));
        }
        let mut hits = without(hits, &kept);
        for hit in &hits {
            // What a pointer leads to among others may be any word.
            let is_among_others = look.pointed.contains(&(hit.rule, Reach::Within));
            let is_asked_for = !self.rules[hit.rule].is_builtin() && !is_among_others;
            self.secrets.note(&text[hit.start..hit.end], hit.rule, is_asked_for)?;
        }
        if look.form == Form::Inside || !looks_like_json(text) {
            hits.extend(without(self.repeated(text, &hits), &kept));
        }
        let known = self.secrets.find(text).map(|(start, end, rule)| Hit { start, end, rule });
        hits.extend(without(known.collect(), &kept));
        Ok(hits)
    }

    /// Where what a built-in rule hit stands in the same text again, as a word, if it is too plain to be looked for elsewhere.
    fn repeated(&self, text: &[u8], hits: &[Hit]) -> Vec<Hit> {
        let is_sought = |secret: &[u8]| secret.len() >= MIN_BYTES_ASKED_FOR && is_plain(secret);
        let plain = hits.iter().filter(|hit| self.rules[hit.rule].is_builtin() && is_sought(&text[hit.start..hit.end]));
        let words: BTreeMap<&[u8], usize> = plain.map(|hit| (&text[hit.start..hit.end], hit.rule)).collect();
        let mut found = Vec::new();
        for (word, rule) in words {
            found.extend(memchr::memmem::find_iter(text, word).filter_map(|start| {
                let end = start + word.len();
                let near = [text[..start].last(), text.get(end)];
                let is_word = !near.into_iter().flatten().any(u8::is_ascii_alphanumeric);
                // The scheme of a URL is none.
                (is_word && !text[end..].starts_with(b"://")).then_some(Hit { start, end, rule })
            }));
        }
        found
    }

    /// Where a value is hit because of the key before it.
    fn hits_under_key(&self, key: &[u8], text: &[u8], look: MatchContext<'_>, hits: &mut Vec<Hit>) {
        if key.len() > 100 || !key.is_ascii() {
            return;
        }
        let lower = key.to_ascii_lowercase();
        for (number, rule) in self.rules.iter().enumerate() {
            let RuleMatcher::Pattern { regex, group, builtin: Some(builtin) } = &rule.sought else { continue };
            let is_key = builtin.keys.iter().any(|key| memchr::memmem::find(&lower, key.as_bytes()).is_some());
            if !is_key || !self.applies(number, look.allowed) {
                continue;
            }
            let with_key = [key, b": ", text].concat();
            let before = key.len() + 2;
            match_all(regex, *group, &with_key, |start, end| {
                if start >= before && (builtin.accepts)(&with_key[start..end]) {
                    hits.push(Hit { start: start - before, end: end - before, rule: number });
                }
            });
        }
    }

    /// The built-in rules that may match a text, a bit each.
    fn candidates(&self, text: &[u8]) -> u128 {
        let found = self.literals.iter().flat_map(|literals| literals.find_overlapping_iter(text));
        found.fold(0, |mask, found| mask | 1 << (self.literal_rules[found.pattern().as_usize()] % 128))
    }

    /// Where something was replaced already.
    fn placeholders_in(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let starts = memchr::memmem::find_iter(text, b"[redacted:");
        let length = |start: usize| {
            let known = self.placeholders.iter().find(|placeholder| text[start..].starts_with(placeholder));
            known.map(|placeholder| (start, start + placeholder.len()))
        };
        starts.filter_map(length).collect()
    }

    /// A text with everything replaced that is hit, and what is hit after that, until nothing is. None if nothing was.
    pub fn redacted(
        &mut self,
        text: &[u8],
        look: MatchContext<'_>,
        rules: &mut BTreeSet<usize>,
    ) -> Result<Option<Vec<u8>>, BundleError> {
        let mut current = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            let hits = self.hits(&current, look, rules)?;
            if hits.is_empty() {
                return Ok(match current {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(redacted) => Some(redacted),
                });
            }
            current = Cow::Owned(self.replaced(&current, &hits));
        }
        Err(self.endless(rules.iter().next().copied().unwrap_or(0)))
    }

    /// A text with these parts replaced.
    pub fn replaced(&self, text: &[u8], hits: &[Hit]) -> Vec<u8> {
        let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
        for hit in hits {
            out.extend_from_slice(&text[at..hit.start]);
            out.extend_from_slice(&placeholder(self.name(hit.rule)));
            at = hit.end;
        }
        out.extend_from_slice(&text[at..]);
        out
    }

    /// The name of a rule.
    pub fn name(&self, rule: usize) -> &str {
        self.rules.get(rule).map_or("", |rule| &rule.name)
    }

    /// The names of rules, sorted.
    pub fn names(&self, rules: &BTreeSet<usize>) -> Vec<String> {
        let names: BTreeSet<_> = rules.iter().map(|rule| self.name(*rule).to_owned()).collect();
        names.into_iter().collect()
    }

    /// The error for rules that hit what they leave, again and again.
    pub fn endless(&self, rule: usize) -> BundleError {
        let message = format!("The redaction rule '{}' hits again and again what is left of a text", self.name(rule));
        BundleError::new(BundleCode::RedactionConflict, message)
    }
}

/// What stands in the place of what a rule hit. It needs no escapes.
pub fn placeholder(name: &str) -> Vec<u8> {
    format!("[redacted:{name}]").into_bytes()
}

/// Whether bytes have strings that are looked at one by one, and keys that stay.
fn looks_like_json(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn match_all(regex: &regex::bytes::Regex, group: Option<usize>, text: &[u8], mut found: impl FnMut(usize, usize)) {
    match group {
        Some(group) => {
            for captures in regex.captures_iter(text) {
                // A secret may be in one alternative only.
                let secret = captures.get(group).or_else(|| captures.get(0));
                secret.into_iter().for_each(|secret| found(secret.start(), secret.end()));
            }
        }
        None => regex.find_iter(text).for_each(|secret| found(secret.start(), secret.end())),
    }
}

/// Hits without what is kept, which is in order. Of a hit there may be several parts left, or none.
fn without(hits: Vec<Hit>, kept: &[(usize, usize)]) -> Vec<Hit> {
    let mut left = Vec::with_capacity(hits.len());
    for Hit { mut start, end, rule } in hits {
        let first = kept.partition_point(|(_, kept_end)| *kept_end <= start);
        for (kept_start, kept_end) in &kept[first..] {
            if *kept_start >= end {
                break;
            }
            if *kept_start > start {
                left.push(Hit { start, end: *kept_start, rule });
            }
            start = start.max(*kept_end);
        }
        if start < end {
            left.push(Hit { start, end, rule });
        }
    }
    left
}

/// Hits in order, those that overlap made one: of the rule that begins first, of several that of the longest.
pub fn apart(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_unstable_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end), hit.rule));
    let mut merged: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match merged.last_mut() {
            Some(last) if hit.start < last.end => last.end = last.end.max(hit.end),
            _ => merged.push(hit),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
