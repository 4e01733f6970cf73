//! Redacts the strings of a JSON document, except for fixed fields, and keys on which something depends. A match in these, or in a number, is an error.

use std::collections::{BTreeSet, HashMap};

use super::escapes::unescaped;
use super::json::{DocumentPlace, JsonPart, Step, visit_parts};
use super::matcher::{Form, Hit, MatchContext, Matcher, placeholder};
use super::pointer::{Pointer, Reach};
use super::references::{ReferencePart, ReferenceParts};
use super::rule::RuleMatcher;
use super::siblings::Siblings;
use crate::bundle::format::{BundleCode, BundleError};

/// How a document is redacted.
pub(super) struct Document<'d> {
    /// The rules that apply to the value at a path, a flag for each; `None` for the unrestricted rules.
    pub allowed: &'d dyn Fn(&[Step<'_>]) -> Option<&'d [bool]>,
    /// The value to which pointers are relative.
    pub root: Root,
    /// The name of the fixed field at a path, `None` if the value may be redacted.
    pub fixed: &'d dyn Fn(&[Step<'_>]) -> Option<&'static str>,
    /// Whether the keys of the object at a path may be redacted, because nothing depends on them.
    pub has_free_keys: &'d dyn Fn(&[Step<'_>]) -> bool,
    /// The parts of references to media.
    pub references: ReferenceParts,
}

/// The value of a document to which the pointers of rules are relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// Pointers do not apply.
    Nowhere,
    /// The document.
    Here,
    /// The document, which is the payload of an event: a pointer may also begin with `/payload`.
    Payload,
    /// The member `payload` of the document. A pointer may also begin with `/payload`.
    Member,
}

/// The error for a rule that matches where nothing can be redacted.
fn conflict(matcher: &Matcher<'_>, rule: usize, what: &str) -> BundleError {
    let message = format!(
        "The redaction rule '{}' hits {what}, which can't be redacted; leave it out of what is recorded, or export with a narrower rule",
        matcher.name(rule)
    );
    BundleError::new(BundleCode::RedactionConflict, message)
}

/// Fails if any rule matches in a text that can't be redacted. `what` describes the text.
pub(super) fn check_fixed(
    matcher: &mut Matcher<'_>,
    text: &[u8],
    context: MatchContext<'_>,
    what: &str,
) -> Result<(), BundleError> {
    let hits = matcher.hits(text, context, &mut BTreeSet::new())?;
    match hits.first() {
        Some(hit) => Err(conflict(matcher, hit.rule, what)),
        None => Ok(()),
    }
}

/// Redacts a document; returns `None` if no rule matches. Fails if a rule matches where nothing can be redacted.
pub(super) fn redacted(
    matcher: &mut Matcher<'_>,
    json: &[u8],
    document: &Document<'_>,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let (mut out, mut at) = (Vec::new(), 0);
    let pointers = pointers(matcher, document.root);
    let (mut siblings, mut has_keys) = (Siblings::default(), false);
    let provider_file = matcher.provider_file();
    visit_parts(json, |part, place, range| {
        matcher.check_cancelled()?;
        let text = &json[range.clone()];
        let key = siblings.key(part, place, text);
        let reference = document.references.at(range.start);
        let whole = provider_file.zip(document.references.whole_at(range.start));
        let redacted = match (part, &whole) {
            (JsonPart::Text, _) | (_, None) => {
                redacted_part(matcher, &pointers, document, (part, reference), place, (text, key.as_deref()), rules)?
            }
            _ => None,
        };
        // A value that is no string is replaced as a whole, once the secrets in it are found.
        let (range, redacted) = match whole {
            Some((_, whole)) if whole.start < at => return Ok(()),
            Some((rule, whole)) => {
                rules.insert(rule);
                (whole, Some([b"\"", &*placeholder(matcher.name(rule)), b"\""].concat()))
            }
            None => (range, redacted),
        };
        match redacted {
            Some(redacted) => {
                has_keys |= part == JsonPart::Key;
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
    Ok(Some(if has_keys { with_distinct_keys(out) } else { out }))
}

fn redacted_part(
    matcher: &mut Matcher<'_>,
    pointers: &[(usize, Pointer)],
    document: &Document<'_>,
    (part, reference): (JsonPart, Option<ReferencePart>),
    place: DocumentPlace<'_, '_>,
    (text, key): (&[u8], Option<&[u8]>),
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
        let context = MatchContext { allowed, ..MatchContext::at(Form::JsonString) };
        if reference.is_none() && (document.has_free_keys)(place.path) {
            return matcher.redacted(text, context, rules);
        }
        return check_fixed(matcher, text, context, "a key of an object").map(|()| None);
    }
    let fixed = match reference {
        Some(ReferencePart::Id) => Some("the id of an image"),
        Some(ReferencePart::Fixed) => Some("a member of a reference to an image"),
        _ => (document.fixed)(place.path),
    };
    let mut reached: Vec<_> = pointed(matcher, pointers, document.root, place.path, allowed).collect();
    if let Some(ReferencePart::ProviderFile(reach)) = reference {
        reached.extend(matcher.provider_file().map(|rule| (rule, reach)));
    }
    // A pointer to a value around a fixed field does not apply to the field.
    let applies = |reach: Reach| fixed.is_none() || reach == Reach::Exactly;
    let pointed: Vec<_> = reached.into_iter().filter(|(_, reach)| applies(*reach)).collect();
    if reference == Some(ReferencePart::Id) && pointed.is_empty() {
        // A hash, as those of the envelope of an event.
        return Ok(None);
    }
    let context = MatchContext { form: Form::JsonString, allowed, pointed: &pointed, key };
    match fixed {
        Some(field) => check_fixed(matcher, text, MatchContext { key: None, ..context }, field).map(|()| None),
        None => matcher.redacted(text, context, rules),
    }
}

/// The numbers and pointers of the rules with pointers, in the forms that apply to a document with this root.
fn pointers(matcher: &Matcher<'_>, root: Root) -> Vec<(usize, Pointer)> {
    let mut pointers = Vec::new();
    for (number, rule) in matcher.rules().iter().enumerate() {
        if let (RuleMatcher::Path(pointer), true) = (&rule.matcher, root != Root::Nowhere) {
            pointers.push((number, pointer.clone()));
            if root != Root::Here {
                pointers.extend(pointer.within_payload().map(|inner| (number, inner)));
            }
        }
    }
    pointers
}

/// The rules whose pointer leads to the value at a path, or to one around it.
fn pointed<'p>(
    matcher: &'p Matcher<'_>,
    pointers: &'p [(usize, Pointer)],
    root: Root,
    path: &'p [Step<'_>],
    allowed: Option<&'p [bool]>,
) -> impl Iterator<Item = (usize, Reach)> + 'p {
    let inner = match (root, path.split_first()) {
        (Root::Member, Some((Step::Key(key), inner))) if crate::json::spells(key, "payload") => Some(inner),
        (Root::Member, _) => None,
        _ => Some(path),
    };
    let applying = pointers.iter().filter(move |(rule, _)| matcher.applies(*rule, allowed));
    applying.filter_map(move |(rule, pointer)| {
        let reach = pointer.reach(inner?);
        (reach != Reach::None).then_some((*rule, reach))
    })
}

/// Numbers redacted keys that are equal in their object, so that no reader loses a member: `[redacted:x]`, `[redacted:x]-2`.
pub(super) fn with_distinct_keys(json: Vec<u8>) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    let mut objects = Objects::default();
    // The next number of each key.
    let mut known = HashMap::<(usize, Vec<u8>), u64>::new();
    let visited: Result<(), std::convert::Infallible> = visit_parts(&json, |part, place, range| {
        if part != JsonPart::Key {
            return Ok(());
        }
        let key = unescaped(&json[range.clone()]).into_owned();
        let is_redacted = memchr::memmem::find(&key, b"[redacted:").is_some();
        let object = objects.id(place.path);
        let Some(first) = known.get(&(object, key.clone())).copied().filter(|_| is_redacted) else {
            known.entry((object, key)).or_insert(2);
            return Ok(());
        };
        let suffixed = |number: u64| (object, [&key[..], format!("-{number}").as_bytes()].concat());
        let number = (first..).find(|number| !known.contains_key(&suffixed(*number))).unwrap_or(first);
        known.insert(suffixed(number), 2);
        known.insert((object, key.clone()), number + 1);
        out.extend_from_slice(&json[at..range.end]);
        out.extend_from_slice(format!("-{number}").as_bytes());
        at = range.end;
        Ok(())
    });
    let Ok(()) = visited;
    if at == 0 {
        return json;
    }
    out.extend_from_slice(&json[at..]);
    out
}

/// Numbers the objects of a document while it is walked.
#[derive(Default)]
struct Objects<'a> {
    /// The steps to the last object, each with the number of the value that it leads to.
    steps: Vec<(Step<'a>, usize)>,
    count: usize,
}

impl<'a> Objects<'a> {
    /// The number of the object at a path. Long keys are not compared: a member is the same if its key stands at the same place.
    fn id(&mut self, path: &[Step<'a>]) -> usize {
        let is_same = |(before, _): &(Step<'a>, usize), step: &Step<'a>| match (before, step) {
            (Step::Key(before), Step::Key(key)) => std::ptr::eq(*before, *key),
            (before, step) => before == step,
        };
        let common = self.steps.iter().zip(path).take_while(|(before, step)| is_same(before, step)).count();
        self.steps.truncate(common);
        for step in &path[common..] {
            self.count += 1;
            self.steps.push((*step, self.count));
        }
        self.steps.last().map_or(0, |(_, id)| *id)
    }
}

/// The matches in all strings of a document, as ranges of its text.
pub(super) fn string_hits(
    matcher: &mut Matcher<'_>,
    json: &[u8],
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
) -> Result<Vec<Hit>, BundleError> {
    let pointers = pointers(matcher, Root::Here);
    let mut hits = Vec::new();
    let mut siblings = Siblings::default();
    visit_parts(json, |part, place, range| {
        let key = siblings.key(part, place, &json[range.clone()]);
        let reached: Vec<_> = pointed(matcher, &pointers, Root::Here, place.path, allowed).collect();
        let pointed = match part {
            JsonPart::Text => reached,
            JsonPart::Number if reached.iter().any(|(_, reach)| *reach == Reach::Exactly) => {
                return Err(conflict(matcher, reached[0].0, "a number"));
            }
            JsonPart::Number => return Ok(()),
            JsonPart::Key => Vec::new(),
        };
        let context = MatchContext { form: Form::JsonString, allowed, pointed: &pointed, key: key.as_deref() };
        let found = matcher.hits(&json[range.clone()], context, rules)?;
        hits.extend(found.into_iter().map(|hit| Hit {
            start: hit.start + range.start,
            end: hit.end + range.start,
            ..hit
        }));
        Ok(())
    })?;
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct(json: &str) -> String {
        String::from_utf8(with_distinct_keys(json.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn equal_redacted_keys_of_an_object_are_numbered_and_those_of_others_are_not() {
        let json = r#"{"[redacted:a]":1,"[redacted:a]-2":2,"[redacted:a]":3,"b":{"[redacted:a]":4,"[redacted:a]":5},"[redacted:a]":[{"[redacted:a]":6},{"[redacted:a]":7}]}"#;
        let expected = r#"{"[redacted:a]":1,"[redacted:a]-2":2,"[redacted:a]-3":3,"b":{"[redacted:a]":4,"[redacted:a]-2":5},"[redacted:a]-4":[{"[redacted:a]":6},{"[redacted:a]":7}]}"#;
        assert_eq!(distinct(json), expected);
        assert_eq!(distinct(r#"{"a":1,"a":2}"#), r#"{"a":1,"a":2}"#);
    }

    #[test]
    fn many_equal_redacted_keys_below_a_long_key_are_all_numbered() {
        let members = vec![r#""[redacted:a]":1"#; 20_000].join(",");
        let numbered = distinct(&format!(r#"{{"{}":{{{members}}}}}"#, "k".repeat(20_000)));
        assert!(numbered.ends_with(r#","[redacted:a]-20000":1}}"#));
    }
}
