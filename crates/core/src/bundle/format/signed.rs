//! `manifest.sig`: Ed25519 signatures of the manifest, as a DSSE envelope without its payload, which is `manifest.json`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::{BundleCode, BundleError};
use super::manifest::PAYLOAD_TYPE;
use super::path::SIGNATURE;
use crate::signature::{Signature, SigningKey, TrustedKeys};

/// Which signatures a reader requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignaturePolicy {
    /// A trusted key must have signed the manifest.
    Required,
    /// If the bundle is signed and there are trusted keys, one of them must have signed it.
    #[default]
    IfPresent,
    /// Signatures are not checked.
    Ignore,
}

/// Signs a manifest and returns the content of `manifest.sig`.
pub(crate) fn sign(key: &SigningKey, manifest: &[u8]) -> Vec<u8> {
    print(&[key.sign(PAYLOAD_TYPE, manifest)])
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'d> {
    payload_type: Cow<'d, str>,
    signatures: Cow<'d, [Signature]>,
}

/// Prints `manifest.sig`, as canonical JSON.
pub(crate) fn print(signatures: &[Signature]) -> Vec<u8> {
    let document = Document { payload_type: PAYLOAD_TYPE.into(), signatures: signatures.into() };
    serde_json::to_vec(&document).unwrap_or_default()
}

/// Parses `manifest.sig`. Only the exact output of [`print`] is accepted.
fn parse(document: &[u8]) -> Result<Vec<Signature>, BundleError> {
    let malformed = |why: &str| BundleError::about(BundleCode::SignatureMalformed, SIGNATURE, why);
    let read: Document<'_> = serde_json::from_slice(document).map_err(|error| malformed(&error.to_string()))?;
    if read.payload_type != PAYLOAD_TYPE {
        return Err(malformed("what it signs is no manifest of a bundle"));
    }
    if read.signatures.is_empty() || print(&read.signatures) != document {
        return Err(malformed("it is not canonical JSON, has other fields than a signature, or holds none"));
    }
    Ok(read.signatures.into_owned())
}

/// Whether a trusted key signed the manifest.
pub(crate) fn is_signed_by(trusted: &TrustedKeys, signature: &[u8], manifest: &[u8]) -> bool {
    let signatures = parse(signature).unwrap_or_default();
    signatures.iter().any(|signature| trusted.verify(PAYLOAD_TYPE, manifest, signature).is_ok())
}

/// Checks the content of `manifest.sig` against a policy and returns the problem, if there is one. One trusted signature suffices.
pub(crate) fn problem(
    policy: SignaturePolicy,
    trusted: &TrustedKeys,
    signature: Option<&[u8]>,
    manifest: &[u8],
) -> Option<BundleError> {
    let required = policy == SignaturePolicy::Required;
    if policy == SignaturePolicy::Ignore {
        return None;
    }
    let Some(document) = signature else {
        let message = "The bundle is not signed, and a signature is required";
        return required.then(|| BundleError::new(BundleCode::SignatureMissing, message));
    };
    let signatures = match parse(document) {
        Ok(signatures) => signatures,
        Err(error) => return Some(error),
    };
    let mut refusals = Vec::new();
    for signature in &signatures {
        match trusted.verify(PAYLOAD_TYPE, manifest, signature) {
            Ok(()) => return None,
            Err(error) => refusals.push(error.to_string()),
        }
    }
    if trusted.is_empty() && !required {
        return None;
    }
    Some(BundleError::about(BundleCode::SignatureNotTrusted, SIGNATURE, refusals.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::tests::{OTHER_PUBLIC, key_pair};
    use SignaturePolicy::*;

    fn code(policy: SignaturePolicy, keys: &[&str], signature: Option<&[u8]>, manifest: &[u8]) -> Option<BundleCode> {
        let trusted = TrustedKeys::from_pems(keys).unwrap();
        problem(policy, &trusted, signature, manifest).map(|error| error.code)
    }

    #[test]
    fn each_signature_policy_enforces_its_requirement() {
        let (private, public) = key_pair();
        let signature = sign(&SigningKey::from_pem(private).unwrap(), b"manifest");
        let untrusted = Some(BundleCode::SignatureNotTrusted);
        for (policy, keys, signed, expected) in [
            (Required, &[public][..], true, None),
            (Required, &[OTHER_PUBLIC, public], true, None),
            (Required, &[OTHER_PUBLIC], true, untrusted),
            (Required, &[], true, untrusted),
            (Required, &[public], false, Some(BundleCode::SignatureMissing)),
            (IfPresent, &[public], true, None),
            (IfPresent, &[public], false, None),
            (IfPresent, &[], true, None),
            (IfPresent, &[OTHER_PUBLIC], true, untrusted),
            (Ignore, &[OTHER_PUBLIC], true, None),
            (Ignore, &[], false, None),
        ] {
            let signature = signed.then_some(&signature[..]);
            assert_eq!(code(policy, keys, signature, b"manifest"), expected, "{policy:?} {}", keys.len());
        }
        assert_eq!(code(IfPresent, &[public], Some(&signature), b"Manifest"), untrusted);
    }

    #[test]
    fn further_signatures_are_accepted_and_invalid_ones_malformed() {
        let (private, public) = key_pair();
        let key = SigningKey::from_pem(private).unwrap();
        let (good, bad) = (key.sign(PAYLOAD_TYPE, b"m"), key.sign(PAYLOAD_TYPE, b"other"));
        assert_eq!(code(Required, &[public], Some(&print(&[bad.clone(), good.clone()])), b"m"), None);
        assert_eq!(code(Required, &[public], Some(&print(&[bad])), b"m"), Some(BundleCode::SignatureNotTrusted));
        let text = String::from_utf8(print(&[good])).unwrap();
        for damaged in
            ["", "{}", "[]", &text.replace(":", ": "), &text.replace("manifest", "x"), &text.replace("==", "")]
        {
            let found = code(IfPresent, &[], Some(damaged.as_bytes()), b"m");
            assert_eq!(found, Some(BundleCode::SignatureMalformed), "{damaged}");
        }
        assert_eq!(code(IfPresent, &[], Some(&print(&[])), b"m"), Some(BundleCode::SignatureMalformed));
    }
}
