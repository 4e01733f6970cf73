//! Ed25519 signatures over the pre-authentication encoding of DSSE, with PEM keys in the format of Node's `crypto`.
//!
//! The signed bytes include the type of the document, so a signature of one kind of document is not valid for
//! another. A signature is checked against keys that the caller has; the key id next to it only says which key was
//! used.

use base64ct::{Base64, Encoding as _};
use ed25519_dalek::pkcs8::spki::EncodePublicKey as _;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use ed25519_dalek::{Signer as _, VerifyingKey};

use crate::hash::{as_text, is_hex_hash, sha256_hex};
use crate::json::{Cursor, Nesting, Span};

/// Why a key can't be used or a signature is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The text is not a private key that can sign.
    #[error("not an Ed25519 private key in PEM ('-----BEGIN PRIVATE KEY-----', PKCS#8, not encrypted): {0}")]
    PrivateKey(String),
    /// The text is not a public key.
    #[error("not an Ed25519 public key in PEM ('-----BEGIN PUBLIC KEY-----', SPKI): {0}")]
    PublicKey(String),
    /// The text is not a signature.
    #[error("the signature is malformed")]
    Malformed,
    /// None of the trusted keys made the signature for these bytes.
    #[error("the signature is of none of the trusted keys, or what it signs was changed (key id {key_id})")]
    NotTrusted {
        /// The id of the key that the signature names.
        key_id: String,
    },
}

impl SignatureError {
    /// The stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            SignatureError::PrivateKey(_) => "InvalidPrivateKey",
            SignatureError::PublicKey(_) => "InvalidPublicKey",
            SignatureError::Malformed => "SignatureMalformed",
            SignatureError::NotTrusted { .. } => "SignatureNotTrusted",
        }
    }
}

/// The bytes that Ed25519 signs for a document: DSSE's pre-authentication encoding of its type and bytes.
pub fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// A signature in the form that documents contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The id of the key that made it: SHA-256 of the public key's SPKI DER, in hex. It proves nothing.
    pub key_id: String,
    bytes: [u8; ed25519_dalek::SIGNATURE_LENGTH],
}

impl Signature {
    /// The signature as canonical JSON, `{"keyid":…,"sig":…}`, with `sig` in base64.
    pub fn to_json(&self) -> String {
        format!(r#"{{"keyid":"{}","sig":"{}"}}"#, self.key_id, Base64::encode_string(&self.bytes))
    }

    /// Reads what [`to_json`](Self::to_json) writes, and nothing else.
    pub fn from_json(text: &str) -> Result<Self, SignatureError> {
        let malformed = SignatureError::Malformed;
        let mut cursor = Cursor::new(text.as_bytes());
        let members = cursor.members(["keyid", "sig"], &mut Nesting::default());
        let [key_id, sig] =
            members.and_then(|members| cursor.finish().map(|()| members)).map_err(|_| malformed.clone())?;
        let inside = |span: Option<Span>| {
            let text = text.get(span?.start as usize..span?.end as usize)?;
            text.strip_prefix('"')?.strip_suffix('"')
        };
        let key_id = inside(key_id).filter(|id| is_hex_hash(id)).ok_or(malformed.clone())?.to_owned();
        let mut bytes = [0; ed25519_dalek::SIGNATURE_LENGTH];
        let decoded = Base64::decode(inside(sig).ok_or(malformed.clone())?, &mut bytes);
        if !decoded.is_ok_and(|decoded| decoded.len() == ed25519_dalek::SIGNATURE_LENGTH) {
            return Err(malformed);
        }
        let signature = Signature { key_id, bytes };
        if signature.to_json() == text { Ok(signature) } else { Err(malformed) }
    }
}

/// A private key that signs.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Reads a private key: PEM, PKCS#8.
    pub fn from_pem(pem: &str) -> Result<Self, SignatureError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(&tidy(pem))
            .map(SigningKey)
            .map_err(|error| SignatureError::PrivateKey(error.to_string()))
    }

    /// Signs a document of the type `payload_type`.
    pub fn sign(&self, payload_type: &str, payload: &[u8]) -> Signature {
        let signature = self.0.sign(&pre_authentication_encoding(payload_type, payload));
        Signature { key_id: key_id(&self.0.verifying_key()), bytes: signature.to_bytes() }
    }
}

/// The keys that a caller trusts.
#[derive(Clone, Debug, Default)]
pub struct TrustedKeys(Vec<VerifyingKey>);

impl TrustedKeys {
    /// Reads public keys: PEM, SPKI.
    pub fn from_pems<T: AsRef<str>>(pems: &[T]) -> Result<Self, SignatureError> {
        let key = |pem: &T| {
            VerifyingKey::from_public_key_pem(&tidy(pem.as_ref()))
                .map_err(|error| SignatureError::PublicKey(error.to_string()))
        };
        pems.iter().map(key).collect::<Result<_, _>>().map(TrustedKeys)
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that one of the keys made `signature` for a document of the type `payload_type`. Returns
    /// [`SignatureError::NotTrusted`] otherwise.
    pub fn verify(&self, payload_type: &str, payload: &[u8], signature: &Signature) -> Result<(), SignatureError> {
        let encoded = pre_authentication_encoding(payload_type, payload);
        let bytes = ed25519_dalek::Signature::from_bytes(&signature.bytes);
        // Strict: rejects keys of small order, with which one signature may be valid for several texts.
        if self.0.iter().any(|key| key.verify_strict(&encoded, &bytes).is_ok()) {
            return Ok(());
        }
        Err(SignatureError::NotTrusted { key_id: signature.key_id.clone() })
    }
}

/// The id of a key, as `openssl pkey -pubin -outform der | sha256sum` prints it.
fn key_id(key: &VerifyingKey) -> String {
    let der = key.to_public_key_der();
    let hash = sha256_hex([der.as_ref().map_or(key.as_bytes().as_slice(), |der| der.as_bytes())]);
    as_text(&hash).to_owned()
}

/// Normalises a PEM text that was copied with white space around it or with Windows line endings.
fn tidy(pem: &str) -> String {
    pem.trim().replace("\r\n", "\n") + "\n"
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    // Made by Node: crypto.generateKeyPairSync('ed25519'), exported as pkcs8 and spki PEM.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIIighHhIXh/8lXz7Uhm++cJKCLjySX78+v+dolfToTMf\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA+ukxj+Awa2gMlZfUecSUCPU0ElKmPpG1v/XNB/hNNso=\n-----END PUBLIC KEY-----\n";
    pub const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEApz9VIyFchSwmC95Lxk57AFG/Q3Z1rKBa3HcwHWTCZjw=\n-----END PUBLIC KEY-----\n";
    /// The result of `crypto.sign(null, 'DSSEv1 5 a/b+c 5 hello', PRIVATE)` in Node, and the hash of the public key's
    /// DER.
    const SIGNED_BY_NODE: &str =
        "tg9oaexVflja6uoEoDAFOGLekkMYEwZKLul+mLLm/6xWzrxURCLfO4oMBPPTDdDN/5biCwb15FHnfGQGl+dxBA==";
    const KEY_ID: &str = "59589d99f3217a7677040a1ef658033eb32da47ac7d9868a5a8f1347413c05fa";
    const RSA_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC0bWMM30SH/f+dyCmwfJ4Wukrf\n4sPF/Gm3bkSr25poWvaBI+5qHf11uut3ROMbkW6h6XCC2JcnGFa+u87Y0E8gQa+O\nAZiyvl2GrNiknuliWJJWaSGAMOPFCIGzVGvQ1V7GXss9EdLYpWEO4kJQ8+3hGHEG\nYGkWdiAWgwpgAzCnJQIDAQAB\n-----END PUBLIC KEY-----\n";

    /// A private key and its public key, for tests of signed documents.
    pub fn key_pair() -> (&'static str, &'static str) {
        (PRIVATE, PUBLIC)
    }

    fn keys(pems: &[&str]) -> TrustedKeys {
        TrustedKeys::from_pems(pems).unwrap()
    }

    #[test]
    fn the_encoding_is_that_of_dsse() {
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
        assert_eq!(pre_authentication_encoding("é", b""), "DSSEv1 2 é 0 ".as_bytes());
    }

    #[test]
    fn signatures_equal_those_of_node() {
        let signature = SigningKey::from_pem(PRIVATE).unwrap().sign("a/b+c", b"hello");
        assert_eq!(signature.to_json(), format!(r#"{{"keyid":"{KEY_ID}","sig":"{SIGNED_BY_NODE}"}}"#));
        assert_eq!(Signature::from_json(&signature.to_json()), Ok(signature));
    }

    #[test]
    fn signature_holds_only_for_its_key_type_and_bytes() {
        let signature = SigningKey::from_pem(PRIVATE).unwrap().sign("a/b+c", b"hello");
        let holds = |keys: TrustedKeys, kind: &str, bytes: &[u8]| keys.verify(kind, bytes, &signature).is_ok();
        assert!(holds(keys(&[PUBLIC]), "a/b+c", b"hello"));
        assert!(holds(keys(&[OTHER_PUBLIC, PUBLIC]), "a/b+c", b"hello"));
        assert!(!holds(keys(&[OTHER_PUBLIC]), "a/b+c", b"hello"));
        assert!(!holds(keys(&[]), "a/b+c", b"hello"));
        assert!(!holds(keys(&[PUBLIC]), "a/b", b"hello"));
        assert!(!holds(keys(&[PUBLIC]), "a/b+c", b"hellO"));
    }

    #[test]
    fn any_flipped_bit_of_a_signature_is_found() {
        let signature = SigningKey::from_pem(PRIVATE).unwrap().sign("a/b+c", b"hello");
        for bit in 0..512 {
            let mut other = signature.clone();
            other.bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(keys(&[PUBLIC]).verify("a/b+c", b"hello", &other).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn keys_survive_copying() {
        let copied = format!("\n  {}  \r\n", PRIVATE.replace('\n', "\r\n"));
        assert!(SigningKey::from_pem(&copied).is_ok());
    }

    #[test]
    fn rejects_keys_of_unknown_type() {
        for text in ["", "x", PUBLIC, RSA_PUBLIC, &PRIVATE.replace("PRIVATE", "ENCRYPTED PRIVATE")] {
            assert_eq!(SigningKey::from_pem(text).err().map(|error| error.code()), Some("InvalidPrivateKey"), "{text}");
        }
        for text in ["", "x", PRIVATE, RSA_PUBLIC] {
            let error = TrustedKeys::from_pems(&[text]).unwrap_err();
            assert_eq!(error.code(), "InvalidPublicKey", "{text}");
        }
    }

    #[test]
    fn rejects_malformed_signatures() {
        let good = SigningKey::from_pem(PRIVATE).unwrap().sign("t", b"").to_json();
        for text in [
            "",
            "{}",
            "null",
            &good[1..],
            &good.replace(":", ": "),
            &good.replace("keyid", "keyId"),
            &good.replace("==", ""),
            &good.replace(KEY_ID, &KEY_ID.to_uppercase()),
            &good.replace("\"sig\":\"", "\"sig\":\"AAAA"),
        ] {
            assert_eq!(Signature::from_json(text), Err(SignatureError::Malformed), "{text}");
        }
    }
}
