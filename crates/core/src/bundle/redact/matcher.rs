//! Applies all rules to one text: finds the matches ("hits") and replaces them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

mod edges;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use edges::{Edges, looks_like_json};

use super::builtin::{DISCORD, decoded_secrets};
use super::encoded::{end_of_discord_parts, end_of_discord_token, segments};
use super::escapes::{MAX_LEVELS, map_to_encoded, unescaped};
use super::pointer::Reach;
use super::prefilter::Prefilter;
use super::rule::{Rule, RuleMatcher, RuleSet};
use super::secrets::{MIN_USER_RULE_BYTES, Secrets, is_common};
use super::views::{may_differ, views};
use crate::bundle::format::{BundleCode, BundleError};
use crate::bundle::redact::named;
use crate::hash::{Hash, from_hex};
use crate::order;
use crate::task::{Cancellation, Cancelled};

/// The number of characters from which on a secret is taken to be too long to be guessed from a hash of the text around it.
const MIN_UNGUESSABLE: usize = 16;

/// The maximum number of times that a replaced text is matched again.
const MAX_ROUNDS: usize = 64;

/// How many words are searched for one by one. More are searched for together, so that the time does not grow with their number.
const MAX_SINGLE_SEARCHES: usize = 4;

/// How a text is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The content of a JSON string, without the quotes. It is matched decoded only.
    JsonString,
    /// Any bytes. They are matched undecoded, and decoded too.
    Bytes,
}

/// A match of a rule: a range of a text that will be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
    /// The index of the rule.
    pub rule: usize,
}

/// The context of a text that is matched.
#[derive(Clone, Copy)]
pub(crate) struct MatchContext<'l> {
    /// How it is encoded.
    pub form: Form,
    /// The rules that apply, a flag for each; `None` for the unrestricted rules.
    pub allowed: Option<&'l [bool]>,
    /// The rules whose pointer leads to the text, or to a value around it.
    pub pointed: &'l [(usize, Reach)],
    /// The decoded key of the text, if it is a member of an object.
    pub key: Option<&'l [u8]>,
}

impl MatchContext<'_> {
    /// The context of a text about which nothing else is known.
    pub(crate) fn at(form: Form) -> Self {
        MatchContext { form, allowed: None, pointed: &[], key: None }
    }
}

/// Applies rules to texts, and collects the secrets that they match.
pub(crate) struct Matcher<'r> {
    rules: &'r [Rule],
    /// The placeholders of these rules, and of rules by which the source was redacted before.
    placeholders: Vec<Vec<u8>>,
    /// Finds the literals of built-in rules in decoded texts.
    literals: Option<AhoCorasick>,
    /// The rule of each literal.
    literal_rules: Vec<usize>,
    /// Finds candidates for matches of built-in rules in undecoded texts.
    prefilter: Option<Arc<Prefilter>>,
    /// The rules without literals, which must be tried on every text.
    unfiltered: Vec<usize>,
    /// The secrets found so far.
    pub secrets: Secrets,
    /// Whether any hit since this was last set to false could be guessed: a short text, or a value that a pointer names.
    pub has_guessable: bool,
    /// The id of the run or session, which is no secret even if it is called so.
    pub own_id: Vec<u8>,
    /// The images of the session, whose ids stay.
    pub images: HashSet<Hash>,
    /// Of the export.
    pub cancellation: Cancellation,
}

impl<'r> Matcher<'r> {
    /// A matcher for `rules`. `earlier` has the names of rules by which the source was redacted before.
    pub(crate) fn new(rules: &'r RuleSet, earlier: &BTreeSet<String>) -> Result<Self, BundleError> {
        let (prefilter, rules) = (rules.prefilter(), rules.all());
        let names = rules.iter().map(|rule| &rule.name).chain(earlier);
        let placeholders = names.map(|name| placeholder(name)).collect();
        let (mut literals, mut literal_rules, mut unfiltered) = (Vec::new(), Vec::new(), Vec::new());
        for (number, rule) in rules.iter().enumerate() {
            match rule.literals() {
                Some(of_rule) => {
                    literals.extend(of_rule.iter().map(|literal| literal.as_bytes().to_vec()));
                    literal_rules.resize(literals.len(), number);
                }
                None => unfiltered.push(number),
            }
        }
        let invalid = |error: aho_corasick::BuildError| BundleError::new(BundleCode::InvalidRule, error.to_string());
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .map_err(invalid)?;
        Ok(Matcher {
            rules,
            placeholders,
            literals: (!literals.is_empty()).then_some(automaton),
            literal_rules,
            prefilter,
            unfiltered,
            secrets: Secrets::default(),
            has_guessable: false,
            own_id: Vec::new(),
            images: HashSet::new(),
            cancellation: Cancellation::default(),
        })
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &'r [Rule] {
        self.rules
    }

    /// The built-in rule for what a provider knows an image by, if it applies.
    pub(crate) fn provider_file(&self) -> Option<usize> {
        self.rules.iter().position(|rule| matches!(rule.matcher, RuleMatcher::ProviderFile))
    }

    /// The rules that apply to content of this kind and tool, a flag for each. `None` if no rule is restricted.
    pub(crate) fn allowed(&self, kind: Option<&str>, tool: Option<&str>) -> Option<Vec<bool>> {
        let is_restricted = self.rules.iter().any(Rule::is_restricted);
        is_restricted.then(|| self.rules.iter().map(|rule| rule.applies(kind, tool)).collect())
    }

    /// Whether a rule applies, given the flags of [`allowed`](Self::allowed).
    pub(crate) fn applies(&self, rule: usize, allowed: Option<&[bool]>) -> bool {
        match allowed {
            Some(allowed) => allowed.get(rule).copied().unwrap_or(false),
            None => self.rules.get(rule).is_some_and(|rule| !rule.is_restricted()),
        }
    }

    /// Whether every match has a candidate of the prefilter. False with rules of the user, and once there are secrets to search for.
    pub(crate) fn prefilter_suffices(&self) -> bool {
        self.unfiltered.is_empty() && self.secrets.is_empty()
    }

    /// The next offset from `from` on at which a match may begin, in an undecoded text. There are no matches before it.
    pub(crate) fn next_candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        if from >= text.len() {
            return None;
        }
        if !self.prefilter_suffices() {
            return Some(from);
        }
        // An encoded text may hide a match before the next candidate: whoever asks must look at each line.
        Some(from)
    }

    /// Whether any rule may match an undecoded text.
    pub(crate) fn may_match(&self, text: &[u8]) -> bool {
        let has_candidate = || self.prefilter.as_ref().is_some_and(|prefilter| prefilter.find(text, 0).is_some());
        // An occurrence of a secret may be encoded with escapes.
        let has_secret = || !self.secrets.is_empty() && (may_differ(text) || self.secrets.first(text).is_some());
        let has_encoded = || self.prefilter.as_ref().is_some_and(|prefilter| prefilter.has_encoded(text));
        !self.unfiltered.is_empty() || has_candidate() || has_secret() || has_encoded()
    }

    /// Finds the hits in a text, sorted and disjoint. Adds the secrets in them to `self.secrets`, and the rules to `rules`.
    pub(crate) fn hits(
        &mut self,
        text: &[u8],
        context: MatchContext<'_>,
        rules: &mut BTreeSet<usize>,
    ) -> Result<Vec<Hit>, BundleError> {
        let may_match = || self.may_match(text) || context.key.is_some_and(|key| self.may_match(key));
        if context.pointed.is_empty() && !may_match() {
            return Ok(Vec::new());
        }
        let mut levels: Vec<Cow<'_, [u8]>> = vec![Cow::Borrowed(text)];
        let first = usize::from(context.form == Form::JsonString);
        let mut hits = Vec::new();
        for level in 0..=MAX_LEVELS {
            if level > 0 {
                let before = &levels[level - 1];
                let next = match before {
                    Cow::Borrowed(text) => unescaped(text),
                    Cow::Owned(text) => Cow::Owned(unescaped(text).into_owned()),
                };
                if level > first && (memchr::memchr(b'\\', before).is_none() || next == *before) {
                    break;
                }
                levels.push(next);
            }
            if level >= first {
                let before = level.checked_sub(1).filter(|_| level > first).map(|before| &*levels[before]);
                let mut found = self.hits_at_level(&levels[level], before, context, level == first)?;
                map_hits(&levels[..level], &mut found);
                hits.append(&mut found);
            }
        }
        let hits = merged(hits);
        rules.extend(hits.iter().map(|hit| hit.rule));
        Ok(hits)
    }

    /// The hits in a text, which is `before` decoded: as it stands, in its views, and in the encoded texts in it.
    fn hits_at_level(
        &mut self,
        text: &[u8],
        before: Option<&[u8]>,
        context: MatchContext<'_>,
        is_first: bool,
    ) -> Result<Vec<Hit>, BundleError> {
        let edges = Edges::new(text, before);
        let mut hits = self.hits_decoded(text, &|start, end| edges.narrowed(start, end), context, is_first)?;
        let within = MatchContext { key: None, pointed: &[], ..context };
        for view in views(text) {
            let found = match view.has_rules {
                true => {
                    let narrowed = |start, end| edges.narrowed_in(&view, start, end);
                    self.hits_decoded(&view.text, &narrowed, MatchContext { pointed: &[], ..context }, is_first)?
                }
                false => self.known(&view.text),
            };
            hits.extend(found.into_iter().map(|hit| {
                let (start, end) = view.map(hit.start, hit.end);
                Hit { start, end, ..hit }
            }));
        }
        let discord = self.rules.iter().position(|rule| rule.name == DISCORD && rule.is_builtin());
        let discord = discord.filter(|rule| self.applies(*rule, context.allowed));
        let mut end_of_tokens = 0;
        for segment in segments(text, false) {
            if let Some((rule, first)) = discord.zip(end_of_discord_token(text, &segment)) {
                // A token within others is found with them.
                if segment.start >= end_of_tokens {
                    end_of_tokens = std::iter::successors(Some(first), |end| end_of_discord_parts(text, *end))
                        .last()
                        .unwrap_or(first);
                    self.secrets.add(&text[segment.start..end_of_tokens], rule, false)?;
                    hits.push(Hit { start: segment.start, end: end_of_tokens, rule });
                }
                continue;
            }
            let may_match = !self.unfiltered.is_empty()
                || self.prefilter.as_ref().is_some_and(|prefilter| prefilter.is_candidate(text, &segment));
            if may_match
                && let Some(hit) =
                    self.hits_decoded(&segment.decoded, &|start, end| (start, end), within, false)?.first()
            {
                hits.push(Hit { start: segment.start, end: segment.end, rule: hit.rule });
            }
        }
        Ok(without(hits, &self.placeholders_in(text)))
    }

    /// The occurrences of known secrets in a text.
    fn known(&self, text: &[u8]) -> Vec<Hit> {
        let known = self.secrets.find(text).map(|(start, end, rule)| Hit { start, end, rule });
        without(known.collect(), &self.placeholders_in(text))
    }

    /// The hits in a decoded text. `narrowed` gives the part of a hit of a built-in rule that may be replaced.
    fn hits_decoded(
        &mut self,
        text: &[u8],
        narrowed: &dyn Fn(usize, usize) -> (usize, usize),
        context: MatchContext<'_>,
        is_first: bool,
    ) -> Result<Vec<Hit>, BundleError> {
        let placeholders = self.placeholders_in(text);
        let mut hits = Vec::new();
        let candidates = self.candidate_rules(text);
        let by_literal = (0..128).filter(|number| candidates >> number & 1 == 1);
        for number in by_literal.chain(self.unfiltered.iter().copied()) {
            let Some(rule) = self.rules.get(number).filter(|_| self.applies(number, context.allowed)) else { continue };
            if let RuleMatcher::Named = rule.matcher {
                named::find(text, narrowed, &mut |start, end| {
                    hits.extend((!self.is_own_id(&text[start..end])).then_some(Hit { start, end, rule: number }));
                });
            }
            let Some((regex, group, builtin)) = rule.pattern() else { continue };
            let accepts = |secret: &[u8]| builtin.is_none_or(|builtin| (builtin.accepts)(secret));
            match_all(regex, group, text, |start, end| {
                let is_whole_block = text[..end].ends_with(b"-----");
                let (start, end) = match builtin.map(|_| narrowed(start, end)) {
                    // The lines of a block may be several strings.
                    Some((start, _)) if is_whole_block => (start, end),
                    Some(narrow) => narrow,
                    None => (start, end),
                };
                if start < end && accepts(&text[start..end]) {
                    hits.push(Hit { start, end, rule: number });
                }
            });
        }
        if let Some(key) = context.key.filter(|_| is_first) {
            self.hits_under_key(key, text, context, &mut hits);
        }
        if is_first {
            let whole = |(rule, _): &(usize, Reach)| Hit { start: 0, end: text.len(), rule: *rule };
            hits.extend(context.pointed.iter().filter(|(rule, _)| self.applies(*rule, context.allowed)).map(whole));
        }
        // A secret belongs to the rule of the user that finds it, whatever else does.
        let is_builtin = |hit: &Hit| self.rules[hit.rule].is_builtin();
        let (builtin, mut hits): (Vec<_>, Vec<_>) = without(hits, &placeholders).into_iter().partition(is_builtin);
        hits.extend(builtin);
        for hit in &hits {
            // A pointer to a whole object may also match common words in it.
            let is_within = context.pointed.contains(&(hit.rule, Reach::Within));
            let is_user_rule = !self.rules[hit.rule].is_builtin() && !is_within;
            let secret = &text[hit.start..hit.end];
            let may_be_elsewhere = match self.rules[hit.rule].matcher {
                RuleMatcher::Named => named::is_distinctive(secret),
                RuleMatcher::ProviderFile => {
                    !is_within && named::is_distinctive(secret) && !self.is_own_id(secret) && !self.is_image(secret)
                }
                _ => true,
            };
            if may_be_elsewhere {
                self.secrets.add(secret, hit.rule, is_user_rule)?;
                for decoded in decoded_secrets(secret) {
                    self.secrets.add(&decoded, hit.rule, false)?;
                }
            }
        }
        if context.form == Form::JsonString || !looks_like_json(text) {
            hits.extend(without(self.repetitions(text, &hits), &placeholders));
        }
        hits.extend(self.known(text));
        let is_pointed = |rule: usize| context.pointed.iter().any(|(pointed, _)| *pointed == rule);
        self.has_guessable |= hits.iter().any(|hit| is_pointed(hit.rule) || is_short(&text[hit.start..hit.end]));
        Ok(hits)
    }

    /// Further occurrences, as separate words of the same text, of secrets that are too common to be removed from other texts.
    fn repetitions(&self, text: &[u8], hits: &[Hit]) -> Vec<Hit> {
        let is_word = |hit: &&Hit| {
            let secret = &text[hit.start..hit.end];
            let is_named = matches!(self.rules[hit.rule].matcher, RuleMatcher::Named);
            secret.len() >= MIN_USER_RULE_BYTES && (is_common(secret) || is_named && !named::is_distinctive(secret))
        };
        let common = hits.iter().filter(|hit| self.rules[hit.rule].is_builtin() && is_word(hit));
        let words = order::map(common.map(|hit| (&text[hit.start..hit.end], hit.rule)));
        let occurrence = |start: usize, end: usize, rule: usize| {
            let near = [text[..start].last(), text.get(end)];
            let is_word = !near.into_iter().flatten().any(u8::is_ascii_alphanumeric);
            // The scheme of a URL may equal the user name and the password.
            (is_word && !text[end..].starts_with(b"://")).then_some(Hit { start, end, rule })
        };
        if words.len() > MAX_SINGLE_SEARCHES
            && let Ok(automaton) = AhoCorasick::builder().match_kind(MatchKind::Standard).build(words.keys())
        {
            let rules: Vec<_> = words.into_values().collect();
            let found = automaton.find_overlapping_iter(text);
            return found
                .filter_map(|found| occurrence(found.start(), found.end(), rules[found.pattern().as_usize()]))
                .collect();
        }
        let mut found = Vec::new();
        for (word, rule) in words {
            let starts = memchr::memmem::find_iter(text, word);
            found.extend(starts.filter_map(|start| occurrence(start, start + word.len(), rule)));
        }
        found
    }

    fn is_own_id(&self, text: &[u8]) -> bool {
        !self.own_id.is_empty() && text == self.own_id
    }

    /// Whether a text is the id of an image of the session, with or without what stands before its digits.
    fn is_image(&self, text: &[u8]) -> bool {
        let digits = text.strip_prefix(b"sha256:").unwrap_or(text);
        from_hex(digits).is_some_and(|hash| self.images.contains(&hash))
    }

    /// Fails if the export was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), BundleError> {
        if self.cancellation.is_cancelled() { Err(Cancelled.into()) } else { Ok(()) }
    }

    /// Adds the hits in a value that depend on its key.
    fn hits_under_key(&self, key: &[u8], text: &[u8], context: MatchContext<'_>, hits: &mut Vec<Hit>) {
        if key.len() > 100 || !key.is_ascii() {
            return;
        }
        let lower = key.to_ascii_lowercase();
        for (number, rule) in self.rules.iter().enumerate() {
            if matches!(rule.matcher, RuleMatcher::Named) && self.applies(number, context.allowed) {
                let is_secret = named::is_secret_of(key, text) && !self.is_own_id(text);
                hits.extend(is_secret.then_some(Hit { start: 0, end: text.len(), rule: number }));
            }
            let RuleMatcher::Builtin(builtin, _) = &rule.matcher else { continue };
            let is_key = builtin.keys.iter().any(|key| memchr::memmem::find(&lower, key.as_bytes()).is_some());
            if !is_key || !self.applies(number, context.allowed) {
                continue;
            }
            let Some((regex, group, _)) = rule.pattern() else { continue };
            let with_key = [key, b": ", text].concat();
            let before = key.len() + 2;
            match_all(regex, group, &with_key, |start, end| {
                if start >= before && (builtin.accepts)(&with_key[start..end]) {
                    hits.push(Hit { start: start - before, end: end - before, rule: number });
                }
            });
        }
    }

    /// The built-in rules that have a literal in a text, as a bit mask.
    fn candidate_rules(&self, text: &[u8]) -> u128 {
        let found = self.literals.iter().flat_map(|literals| literals.find_overlapping_iter(text));
        found.fold(0, |mask, found| mask | 1 << (self.literal_rules[found.pattern().as_usize()] % 128))
    }

    /// The ranges of placeholders in a text.
    fn placeholders_in(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let starts = memchr::memmem::find_iter(text, b"[redacted:");
        let length = |start: usize| {
            let known = self.placeholders.iter().find(|placeholder| text[start..].starts_with(placeholder));
            known.map(|placeholder| (start, start + placeholder.len()))
        };
        starts.filter_map(length).collect()
    }

    /// Replaces the hits in a text until there are no more; returns `None` if there are none.
    pub(crate) fn redacted(
        &mut self,
        text: &[u8],
        context: MatchContext<'_>,
        rules: &mut BTreeSet<usize>,
    ) -> Result<Option<Vec<u8>>, BundleError> {
        let mut current = Cow::Borrowed(text);
        for _ in 0..MAX_ROUNDS {
            let hits = self.hits(&current, context, rules)?;
            if hits.is_empty() {
                return Ok(match current {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(redacted) => Some(redacted),
                });
            }
            current = Cow::Owned(self.replaced(&current, &hits));
        }
        Err(self.does_not_converge(rules.iter().next().copied().unwrap_or(0)))
    }

    /// Replaces the given hits in a text.
    pub(crate) fn replaced(&self, text: &[u8], hits: &[Hit]) -> Vec<u8> {
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
    pub(crate) fn name(&self, rule: usize) -> &str {
        self.rules.get(rule).map_or("", |rule| &rule.name)
    }

    /// The names of rules, sorted.
    pub(crate) fn names(&self, rules: &BTreeSet<usize>) -> Vec<String> {
        let names = order::set(rules.iter().map(|rule| self.name(*rule).to_owned()));
        names.into_iter().collect()
    }

    /// The error for rules that keep matching in replaced text.
    pub(crate) fn does_not_converge(&self, rule: usize) -> BundleError {
        let message = format!("The redaction rule '{}' hits again and again what is left of a text", self.name(rule));
        BundleError::new(BundleCode::RedactionConflict, message)
    }
}

/// The replacement for hits of a rule. It needs no escapes in a JSON string.
pub(super) fn placeholder(name: &str) -> Vec<u8> {
    format!("[redacted:{name}]").into_bytes()
}

/// Whether a text has so few characters that it can be guessed.
fn is_short(text: &[u8]) -> bool {
    let begins_character = |byte: &&u8| **byte & 0xc0 != 0x80;
    text.iter().filter(begins_character).take(MIN_UNGUESSABLE).count() < MIN_UNGUESSABLE
}

fn match_all(regex: &regex::bytes::Regex, group: Option<usize>, text: &[u8], mut found: impl FnMut(usize, usize)) {
    match group {
        Some(group) => {
            for captures in regex.captures_iter(text) {
                // The group may be in another alternative of the pattern.
                let secret = captures.get(group).or_else(|| captures.get(0));
                secret.into_iter().for_each(|secret| found(secret.start(), secret.end()));
            }
        }
        None => regex.find_iter(text).for_each(|secret| found(secret.start(), secret.end())),
    }
}

/// Maps hits in the text that results from decoding the last of `levels` to ranges of the first level.
fn map_hits(levels: &[Cow<'_, [u8]>], hits: &mut [Hit]) {
    if hits.is_empty() {
        return;
    }
    let mut ranges: Vec<_> = hits.iter().map(|hit| (hit.start, hit.end)).collect();
    for level in levels.iter().rev() {
        map_to_encoded(level, &mut ranges);
    }
    for (hit, (start, end)) in hits.iter_mut().zip(ranges) {
        (hit.start, hit.end) = (start, end);
    }
}

/// Cuts the sorted ranges `excluded` out of hits. This may split a hit into several, or remove it.
fn without(hits: Vec<Hit>, excluded: &[(usize, usize)]) -> Vec<Hit> {
    let mut remaining = Vec::with_capacity(hits.len());
    for Hit { mut start, end, rule } in hits {
        let first = excluded.partition_point(|(_, excluded_end)| *excluded_end <= start);
        for (excluded_start, excluded_end) in &excluded[first..] {
            if *excluded_start >= end {
                break;
            }
            if *excluded_start > start {
                remaining.push(Hit { start, end: *excluded_start, rule });
            }
            start = start.max(*excluded_end);
        }
        if start < end {
            remaining.push(Hit { start, end, rule });
        }
    }
    remaining
}

/// Sorts hits and merges those that overlap. A merged hit has the rule of the hit that begins first, or of the longest of several that begin there.
pub(super) fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
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
