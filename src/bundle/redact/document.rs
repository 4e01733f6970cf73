//! The strings of a JSON document, redacted one by one: keys, numbers and what must stay are never touched.

use std::collections::BTreeSet;

use super::escapes::unescaped;
use super::json::{JsonPart, Place, Step, parts};
use super::matcher::{Form, Hit, MatchContext, Matcher};
use super::pointer::{Pointer, Reach};
use super::rule::RuleMatcher;
use crate::bundle::error::{BundleCode, BundleError};

/// What is known of a document.
pub struct Document<'d> {
    /// Which rules apply to what stands at a path. None: those that apply to everything.
    pub allowed: &'d dyn Fn(&[Step<'_>]) -> Option<&'d [bool]>,
    /// Where pointers begin: `None` if they lead to nothing in it, else how many steps are before their first.
    pub root: Root,
    /// The name of the field that a string at a path is, if it must stay what it is.
    pub fixed: &'d dyn Fn(&[Step<'_>]) -> Option<&'static str>,
}

/// Where pointers begin in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// They lead to nothing in it.
    Nowhere,
    /// With the document.
    Here,
    /// With the payload of an event or of a line: the document itself.
    Payload,
    /// With the value of the member `payload`.
    Member,
}

/// What stands where nothing can be redacted, and the rule that hits it.
fn conflict(matcher: &Matcher<'_>, rule: usize, what: &str) -> BundleError {
    let message = format!(
        "The redaction rule '{}' hits {what}, which can't be redacted; leave it out of what is recorded, or export with a narrower rule",
        matcher.name(rule)
    );
    BundleError::new(BundleCode::RedactionConflict, message)
}

/// An error if anything hits a text that must stay what it is.
pub fn check_fixed(
    matcher: &mut Matcher<'_>,
    text: &[u8],
    look: MatchContext<'_>,
    what: &str,
) -> Result<(), BundleError> {
    let hits = matcher.hits(text, look, &mut BTreeSet::new())?;
    match hits.first() {
        Some(hit) => Err(conflict(matcher, hit.rule, what)),
        None => Ok(()),
    }
}

/// A document with everything in it redacted that the rules hit; None if they hit nothing. An error if they hit what must stay.
pub fn redacted(
    matcher: &mut Matcher<'_>,
    json: &[u8],
    document: &Document<'_>,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let (mut out, mut at) = (Vec::new(), 0);
    let pointers = pointers(matcher, document.root);
    parts(json, |part, place, range| {
        let text = &json[range.clone()];
        match redacted_part(matcher, &pointers, document, part, place, text, rules)? {
            Some(redacted) => {
                out.extend_from_slice(&json[at..range.start]);
                out.extend_from_slice(&redacted);
                at = range.end;
                Ok(())
            }
            None => Ok::<_, BundleError>(()),
        }
    })?;
    if at == 0 {
        return Ok(None);
    }
    out.extend_from_slice(&json[at..]);
    Ok(Some(out))
}

fn redacted_part(
    matcher: &mut Matcher<'_>,
    pointers: &[(usize, Pointer)],
    document: &Document<'_>,
    part: JsonPart,
    place: Place<'_, '_>,
    text: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let allowed = (document.allowed)(place.path);
    if part == JsonPart::Number {
        return match pointed(matcher, pointers, document.root, place.path, allowed)
            .find(|(_, reach)| *reach == Reach::Exactly)
        {
            Some((rule, _)) => Err(conflict(matcher, rule, "a number")),
            None => Ok(None),
        };
    }
    if part == JsonPart::Key {
        let look = MatchContext { allowed, ..MatchContext::at(Form::Inside) };
        return check_fixed(matcher, text, look, "a key of an object").map(|()| None);
    }
    let fixed = (document.fixed)(place.path);
    let reached: Vec<_> = pointed(matcher, pointers, document.root, place.path, allowed).collect();
    // What must stay is not meant by a pointer to all that is around it.
    let is_meant = |reach: Reach| fixed.is_none() || reach == Reach::Exactly;
    let pointed: Vec<_> = reached.into_iter().filter(|(_, reach)| is_meant(*reach)).collect();
    let key = place.key().map(unescaped);
    let look = MatchContext { form: Form::Inside, allowed, pointed: &pointed, key: key.as_deref() };
    match fixed {
        Some(field) => check_fixed(matcher, text, look, field).map(|()| None),
        None => matcher.redacted(text, look, rules),
    }
}

/// The rules that are pointers, as they are looked up in a document.
fn pointers(matcher: &Matcher<'_>, root: Root) -> Vec<(usize, Pointer)> {
    let mut pointers = Vec::new();
    for (number, rule) in matcher.rules().iter().enumerate() {
        if let (RuleMatcher::Path(pointer), true) = (&rule.sought, root != Root::Nowhere) {
            pointers.push((number, pointer.clone()));
            if root != Root::Here {
                pointers.extend(pointer.within_payload().map(|inner| (number, inner)));
            }
        }
    }
    pointers
}

/// The rules whose pointer leads to what is at a path, and how.
fn pointed<'p>(
    matcher: &'p Matcher<'_>,
    pointers: &'p [(usize, Pointer)],
    root: Root,
    path: &'p [Step<'_>],
    allowed: Option<&'p [bool]>,
) -> impl Iterator<Item = (usize, Reach)> + 'p {
    let inner = match (root, path.split_first()) {
        (Root::Member, Some((Step::Key(key), inner))) if crate::jsonl::text::spells(key, "payload") => Some(inner),
        (Root::Member, _) => None,
        _ => Some(path),
    };
    let applying = pointers.iter().filter(move |(rule, _)| matcher.applies(*rule, allowed));
    applying.filter_map(move |(rule, pointer)| {
        let reach = pointer.reach(inner?);
        (reach != Reach::Not).then_some((*rule, reach))
    })
}

/// Where the pointers lead to in a document, as parts of its text that are to be replaced. Secrets are noted.
pub fn string_hits(
    matcher: &mut Matcher<'_>,
    json: &[u8],
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
) -> Result<Vec<Hit>, BundleError> {
    let pointers = pointers(matcher, Root::Here);
    let mut hits = Vec::new();
    parts(json, |part, place, range| {
        let reached: Vec<_> = pointed(matcher, &pointers, Root::Here, place.path, allowed).collect();
        let pointed = match part {
            JsonPart::Text => reached,
            JsonPart::Number if reached.iter().any(|(_, reach)| *reach == Reach::Exactly) => {
                return Err(conflict(matcher, reached[0].0, "a number"));
            }
            JsonPart::Number => return Ok(()),
            JsonPart::Key => Vec::new(),
        };
        let key = place.key().filter(|_| part == JsonPart::Text).map(unescaped);
        let look = MatchContext { form: Form::Inside, allowed, pointed: &pointed, key: key.as_deref() };
        let found = matcher.hits(&json[range.clone()], look, rules)?;
        hits.extend(found.into_iter().map(|hit| Hit {
            start: hit.start + range.start,
            end: hit.end + range.start,
            ..hit
        }));
        Ok(())
    })?;
    Ok(hits)
}
