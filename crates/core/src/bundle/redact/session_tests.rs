use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::escapes::tests::escaped;
use super::escapes::unescaped;
use super::*;
use crate::bundle::export::{ExportOptions, export as export_session};
use crate::bundle::format::{BundleCode, BundleError, BundleInfo};
use crate::bundle::testing::*;
use crate::session::fold::FoldOptions;
use crate::session::read::Replay;
use crate::task::{Cancellation, Progress, Task};

const AWS: &str = "AKIAIOSFODNN7EXAMPLE";
const START: &str = r#"{"v":1,"seq":1,"ts":"2026-02-11T16:00:01.000Z","type":"session_start","payload":{"sessionId":"s-1","projectHash":"h","workspaceDirs":["/w"],"provider":"p","model":"m","startTime":"t"}}"#;

fn export(lines: &[u8], rules: &[RedactionRule]) -> Result<(BundleInfo, Vec<u8>), BundleError> {
    let root = tempfile::tempdir().unwrap();
    let (source, destination) = (root.path().join("s.jsonl"), root.path().join("d"));
    fs::write(&source, lines).unwrap();
    let redact = Some(RedactOptions { builtin: true, rules: rules.to_vec() });
    let options = ExportOptions { redact, ..ExportOptions::default() };
    let info = try_export(&source, &destination, &options)?;
    assert_eq!(verified(&destination).problems, []);
    let again = root.path().join("again.tar.zst");
    assert_eq!(try_export(&destination, &again, &options).unwrap().bundle_id, info.bundle_id, "again, the same");
    let unpacked = root.path().join("unpacked");
    imported(&again, &unpacked).unwrap();
    assert!(files(&unpacked) == files(&destination));
    for (path, bytes) in files(&destination) {
        let holds = |bytes: &[u8]| memchr::memmem::find(bytes, AWS.as_bytes()).is_some();
        assert!(!holds(&bytes) && !holds(&unescaped(&bytes)), "{path} holds it");
    }
    Ok((info, fs::read(destination.join("session.jsonl")).unwrap()))
}

fn session(lines: &[&str]) -> Vec<u8> {
    ([&[START], lines].concat().join("\n") + "\n").into_bytes()
}

fn content(blocks: &str) -> String {
    format!(
        r#"{{"v":1,"seq":2,"ts":"2026-02-11T16:00:02.000Z","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{blocks}]}}}}}}"#
    )
}

fn pattern(name: &str, pattern: &str) -> RedactionRule {
    RedactionRule { name: name.into(), pattern: Some(pattern.into()), ..RedactionRule::default() }
}

fn pointer(name: &str, path: &str) -> RedactionRule {
    RedactionRule { name: name.into(), path: Some(path.into()), ..RedactionRule::default() }
}

/// The result of a replay apart from texts: the number of events, and the warnings.
fn shape(lines: &[u8]) -> (u64, String) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, lines).unwrap();
    shape_of(file.path())
}

fn shape_of(path: &Path) -> (u64, String) {
    let Ok(mut replay) = Replay::open(path, FoldOptions::default()) else { panic!("it can be opened") };
    while let Ok(Some(_)) = replay.scan_on() {}
    replay.settle();
    let outcome = replay.outcome(None);
    (outcome.event_count, format!("{:?}", outcome.warnings))
}

#[test]
fn redaction_replaces_strings_and_keeps_everything_else() {
    let text = content(&format!(
        r#"{{"type":"text","text":"a {AWS} \n","n":1.50}}, {{"type":"tool_call","id":"c","name":"sh","parameters":{{"k":"{}"}}}}"#,
        escaped(AWS, &[2, 0, 3])
    ));
    let other = content(r#"{"type":"text","text":"no \u0073ecret\/"}"#);
    let torn = &text[..text.len() - 5];
    let lines = [session(&[&text, &other, "", "null", "nonsense"]), torn.as_bytes().to_vec()].concat();
    let (info, redacted) = export(&lines, &[]).unwrap();
    assert_eq!(info.redactions, 2);
    let hidden = "[redacted:aws-access-key-id]";
    let expected =
        String::from_utf8(lines.clone()).unwrap().replace(AWS, hidden).replace(&escaped(AWS, &[2, 0, 3]), hidden);
    assert_eq!(String::from_utf8(redacted.clone()).unwrap(), expected);
    assert_eq!(shape(&redacted), shape(&lines));
    let (_, same) = export(&redacted, &[]).unwrap();
    assert!(same == redacted);
    let (info, untouched) = export(&session(&[&other]), &[]).unwrap();
    assert_eq!((info.redactions, untouched), (0, session(&[&other])));
}

#[test]
fn redaction_does_not_turn_damaged_lines_into_json() {
    let key = format!("-----BEGIN PRIVATE KEY-----\t{}\t-----END PRIVATE KEY-----", "Ab1+".repeat(20));
    // The unescaped tabs in the key make this invalid JSON.
    let line = content(&format!(r#"{{"type":"text","text":"{key}"}}"#));
    let lines = session(&[&line, &content("")]);
    let (_, redacted) = export(&lines, &[]).unwrap();
    assert!(!String::from_utf8(redacted.clone()).unwrap().contains("Ab1+"));
    assert_eq!(shape(&redacted), shape(&lines));
    let bytes = [session(&[]), b"\xff\xfe ".to_vec(), AWS.as_bytes().to_vec(), b" \xff\n".to_vec()].concat();
    let (_, redacted) = export(&bytes, &[]).unwrap();
    assert!(redacted.ends_with(b"\xff\xfe [redacted:aws-access-key-id] \xff\n"));
}

#[test]
fn secret_in_an_unredactable_place_fails_the_export() {
    let event = |severity: &str, message: &str| {
        format!(
            r#"{{"v":1,"seq":2,"ts":"t","type":"session_event","payload":{{"severity":"{severity}","message":"{message}"}}}}"#
        )
    };
    let replaced = |from: &str, to: &str| [START.replace(from, to).into_bytes(), b"\n".to_vec()].concat();
    let cases = [
        ("'sessionId'", replaced("s-1", AWS)),
        ("'projectHash'", replaced("\"h\"", &format!("\"{}\"", escaped(AWS, &[3])))),
        ("'type'", session(&[&content("").replace("\"content\",", &format!("\"{AWS}\","))])),
        ("'severity'", session(&[&event(AWS, "m")])),
        ("'speaker'", session(&[&content("").replace("\"ai\"", &format!("\"{AWS}\""))])),
        ("'type' of a block", session(&[&content(&format!(r#"{{"type":"{AWS}"}}"#))])),
        ("a key", session(&[&content(&format!(r#"{{"type":"x","{AWS}":1}}"#))])),
    ];
    for (field, lines) in cases {
        let error = export(&lines, &[]).unwrap_err();
        assert_eq!(
            (error.code, error.path.as_deref()),
            (BundleCode::RedactionConflict, Some("session.jsonl")),
            "{field}"
        );
        assert!(
            error.message.contains(field) && error.message.contains("line ") && !error.message.contains(AWS),
            "{error}"
        );
    }
    assert!(export(&session(&[&event("info", AWS)]), &[]).is_ok());
    assert!(export(&replaced("\"p\"", &format!("\"{AWS}\"")), &[]).is_ok());
}

/// A session of two items with keys, and an edit of each kind that brings an item with these members and blocks.
fn edited(speaker: &str, blocks: &str, marker: &str) -> [(&'static str, Vec<u8>); 4] {
    let item = format!(
        r#"{{"speaker":"{speaker}","blocks":[{blocks}],"metadata":{{"chronology":{{"seq":9,"userTurn":1,"step":1,"recordedAt":1{marker}}}}}}}"#
    );
    let kept = |seq: u32| {
        content("").replace(
            r#""blocks":[]"#,
            &format!(r#""blocks":[],"metadata":{{"chronology":{{"seq":{seq},"userTurn":1,"step":1,"recordedAt":1}}}}"#),
        )
    };
    let bound = r#"{"seq":7,"userTurn":1,"step":1,"recordedAt":1}"#;
    [
        (
            "density_mutation",
            format!(
                r#"{{"removedSeqs":[3],"replacements":[{{"replacedSeq":1,"replacement":{{"speaker":"ai","blocks":[]}}}},{{"replacedSeq":4,"replacement":{item}}}]}}"#
            ),
        ),
        ("synthetic_insert", format!(r#"{{"content":{item},"chronologySeq":9,"afterSeq":4}}"#)),
        ("chronology_bind", format!(r#"{{"rowIndex":1,"chronology":{bound},"content":{item}}}"#)),
        (
            "semantic_media_purge",
            format!(
                r#"{{"history":[{{"speaker":"ai","blocks":[]}},{item}],"frontier":{{"contentIndex":0,"blockIndex":0}}}}"#
            )
            .replacen(r#""blocks":[]"#, r#""blocks":[{"type":"text","text":"t"}]"#, 1),
        ),
    ]
    .map(|(kind, payload)| {
        let edit = format!(r#"{{"v":1,"seq":4,"ts":"t","type":"{kind}","payload":{payload}}}"#);
        let numbered = |line: String, seq: &str| line.replacen(r#""seq":2"#, seq, 1);
        (kind, session(&[&kept(3), &numbered(kept(4), r#""seq":3"#), &edit]))
    })
}

#[test]
fn items_of_edits_are_redacted_and_replay_the_same() {
    let quoted = escaped(AWS, &[2, 0, 3]);
    let blocks = format!(
        r#"{{"type":"text","text":"a {AWS}"}},{{"type":"tool_call","id":"c","name":"sh","parameters":{{"{AWS}":"{quoted}"}}}}"#
    );
    for (kind, lines) in edited("ai", &blocks, "") {
        let (info, redacted) = export(&lines, &[]).unwrap();
        assert_eq!(info.redactions, 1, "{kind}");
        assert_eq!(memchr::memmem::find_iter(&redacted, "[redacted:aws-access-key-id]").count(), 3, "{kind}");
        assert_eq!(shape(&redacted), shape(&lines), "{kind}");
        assert_eq!(shape(&lines).1, "[]", "{kind}");
    }
}

#[test]
fn what_the_format_names_in_edits_is_fixed() {
    let rules = |word: &str| [pattern("mine", word)];
    let block = r#"{"type":"text","text":"t"}"#;
    for (kind, lines) in edited("human", block, r#","more":"x""#) {
        for word in ["human", "text", "replacedSeq", "chronologySeq", "contentIndex", "userTurn"] {
            if memchr::memmem::find(&lines, word.as_bytes()).is_some() {
                let error = export(&lines, &rules(&format!("^{word}$"))).unwrap_err();
                assert_eq!(error.code, BundleCode::RedactionConflict, "{kind} {word}");
            }
        }
    }
}

#[test]
fn rules_for_a_tool_apply_to_the_items_of_edits() {
    // Other occurrences of such a short secret are not searched for.
    let blocks = r#"{"type":"tool_call","id":"c","name":"cat","parameters":{"k":"pin"}},{"type":"tool_response","callId":"c","toolName":"sh","result":"pin"}"#;
    for (kind, lines) in edited("ai", blocks, "") {
        let rule = RedactionRule { tools: Some(vec!["sh".into()]), ..pattern("mine", "pin") };
        let (_, redacted) = export(&lines, &[rule]).unwrap();
        let text = String::from_utf8(redacted).unwrap();
        assert!(text.contains(r#""result":"[redacted:mine]""#) && text.contains(r#""k":"pin""#), "{kind}: {text}");
    }
}

#[test]
fn titles_names_and_directories_are_redacted_and_ids_of_checkpoints_are_not() {
    let event = |event_type: &str, payload: &str| {
        format!(r#"{{"v":1,"seq":2,"ts":"t","type":"{event_type}","payload":{payload}}}"#)
    };
    let fork = r#"{"parentSessionId":"P","parentSequence":1,"checkpointId":"C","checkpointName":"N","more":"M"}"#;
    let cases = [
        ("session_metadata", r#"{"title":"N"}"#, vec![]),
        ("session_named", r#"{"name":"N"}"#, vec![]),
        ("checkpoint_created", r#"{"checkpointId":"C","name":"N"}"#, vec!["C"]),
        ("checkpoint_renamed", r#"{"checkpointId":"C","name":"N"}"#, vec!["C"]),
        ("checkpoint_deleted", r#"{"checkpointId":"C"}"#, vec!["C"]),
        ("session_forked", fork, vec!["C", "P"]),
    ];
    for (event_type, payload, fixed) in cases {
        for (at, _) in payload.match_indices(char::is_uppercase).filter(|(at, _)| payload[at - 1..].starts_with('"')) {
            let secret = [&payload[..at], AWS, &payload[at + 1..]].concat();
            let exported = export(&session(&[&event(event_type, &secret)]), &[]);
            if fixed.contains(&&payload[at..=at]) {
                let error = exported.unwrap_err();
                assert_eq!(error.code, BundleCode::RedactionConflict, "{secret}");
                assert!(error.message.contains("Id'") && !error.message.contains(AWS), "{error}");
            } else {
                let (_, redacted) = exported.unwrap();
                let expected = secret.replace(AWS, "[redacted:aws-access-key-id]");
                assert!(String::from_utf8(redacted).unwrap().contains(&expected), "{secret}");
            }
        }
    }
    let start = START.replace("\"provider\"", &format!("\"cwd\":\"/{AWS}\",\"provider\"")) + "\n";
    let (_, redacted) = export(start.as_bytes(), &[]).unwrap();
    assert!(String::from_utf8(redacted).unwrap().contains(r#""cwd":"/[redacted:aws-access-key-id]""#));
}

#[test]
fn rules_of_users_apply_to_types_tools_and_pointers() {
    // Other occurrences of such a short secret are not searched for.
    let call = r#"{"parameters":{"cmd":"login pin","deep":[{"x":"pin"}]},"type":"tool_call","id":"pin-1","name":"sh"}"#;
    let response = r#"{"type":"tool_response","callId":"1","toolName":"cat","result":"pin"}"#;
    let lines = session(&[&content(&format!("{call},{response},{{\"type\":\"text\",\"text\":\"pin\"}}"))]);
    let left = |rule: RedactionRule| {
        let (_, redacted) = export(&lines, &[rule]).unwrap();
        let text = String::from_utf8(redacted).unwrap();
        assert_eq!(shape(text.as_bytes()), shape(&lines));
        text.matches("pin").count()
    };
    let list = |name: &str| Some(vec![name.to_owned()]);
    let word = pattern("word", "pin");
    assert_eq!(left(word.clone()), 0);
    assert_eq!(left(RedactionRule { tools: list("sh"), ..word.clone() }), 2);
    assert_eq!(left(RedactionRule { tools: list("cat"), ..word.clone() }), 4);
    assert_eq!(left(RedactionRule { kinds: list("content"), ..word.clone() }), 0);
    assert_eq!(left(RedactionRule { kinds: list("rewind"), ..word }), 5);
    assert_eq!(left(pointer("p", "/content/blocks/0/parameters")), 2 + 1);
    assert_eq!(left(pointer("p", "/payload/content/blocks/*/parameters/cmd")), 4);
    assert_eq!(left(pointer("p", "/content")), 0);
    assert_eq!(left(RedactionRule { tools: list("cat"), ..pointer("p", "/content/blocks/*/result") }), 4);
    assert_eq!(left(pattern("anchored", "^pin$")), 2);
}

#[test]
fn values_given_to_names_of_secrets_are_redacted_in_members_lists_and_strings() {
    let call = r#"{"type":"tool_call","id":"1","name":"login","parameters":{"password":"swordfish","max_tokens":4096,"argv":["x","--token","k3x9q2m7p1","-v"],"env":[{"name":"DB_PASSWORD","value":"opensesame"}],"headers":[["Authorization","Bearer my-secret-thing"]],"note":"password of the user"}}"#;
    let nested = serde_json::to_string(&serde_json::to_string(r#"{"apiKey":"opensesame2"}"#).unwrap()).unwrap();
    let text =
        format!(r#"{{"type":"text","text":{nested}}}, {{"type":"text","text":"curl -u joe:hunter2 https://x"}}"#);
    let (info, redacted) = export(&session(&[&content(&format!("{call}, {text}"))]), &[]).unwrap();
    assert_eq!(info.redactions, 1);
    let redacted = String::from_utf8(redacted).unwrap();
    for secret in ["swordfish", "k3x9q2m7p1", "opensesame", "my-secret-thing", "hunter2"] {
        assert!(!redacted.contains(secret), "{secret} in {redacted}");
    }
    for left in ["\"max_tokens\":4096", "password of the user", "\"-v\"", "\"x\"", "Bearer [redacted:"] {
        assert!(redacted.contains(left), "{left} not in {redacted}");
    }
}

#[test]
fn keys_of_parameters_and_results_are_redacted_and_no_member_is_lost() {
    let other = "AKIAIOSFODNN7EXAMPL2";
    let call = format!(
        r#"{{"type":"tool_call","id":"1","name":"x","parameters":{{"{AWS}":1,"{other}":2,"deep":[{{"{AWS}":3,"a":4}}]}}}}"#
    );
    let (info, redacted) = export(&session(&[&content(&call)]), &[]).unwrap();
    assert_eq!(info.redactions, 1);
    let redacted = String::from_utf8(redacted).unwrap();
    let hidden = "[redacted:aws-access-key-id]";
    let expected = format!(r#""parameters":{{"{hidden}":1,"{hidden}-2":2,"deep":[{{"{hidden}":3,"a":4}}]}}"#);
    assert!(redacted.contains(&expected), "{redacted}");
}

const TOKEN: &str = "ghp_Zk3vQ9xLm2Rt7Yw1Bn5Cd8Fg4Hj6Kp0Sq9Ua";

/// What is left of texts after an export.
fn exported(texts: &[&str]) -> String {
    let blocks: Vec<_> = texts
        .iter()
        .map(|text| format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap()))
        .collect();
    let (_, redacted) = export(&session(&[&content(&blocks.join(","))]), &[]).unwrap();
    String::from_utf8(redacted).unwrap()
}

#[test]
fn tokens_with_colour_codes_and_invisible_characters_in_them_are_redacted_whole() {
    let (start, end) = TOKEN.split_at(12);
    for inside in ["\u{1b}[01;31m\u{1b}[K", "\u{1b}[0m", "\u{200b}", "\u{feff}", "\0", "\u{2060}", "x\u{8}"] {
        let text =
            exported(&[&format!("a \u{1b}[32m{start}{inside}{end}\u{1b}[0m b"), "and \u{1b}[1mgh\u{1b}[0mp_short"]);
        assert!(!text.contains(&end[..8]) && !text.contains(start), "{inside:?}: {text}");
        assert!(text.contains("[redacted:github-token]\\u001b[0m b"), "{text}");
    }
    // In the literal by which the rule is found.
    let text = exported(&[&format!("a gh\u{1b}[31m{}", &TOKEN[2..])]);
    assert!(!text.contains(&TOKEN[4..]), "{text}");
}

#[test]
fn tokens_in_encoded_texts_are_redacted_with_all_of_the_text() {
    use base64ct::{Base64, Base64UrlUnpadded, Encoding};
    let plain = format!("user: joe\ntoken is {TOKEN} ok?>~");
    let wide: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let long = Base64::encode_string(format!("{}{plain}", "line of text\n".repeat(40)).as_bytes());
    let wrapped: Vec<_> = long.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let percent: String = plain.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for encoded in [
        Base64::encode_string(plain.as_bytes()),
        Base64UrlUnpadded::encode_string(plain.as_bytes()),
        Base64::encode_string(&wide),
        const_hex::encode(&plain),
        const_hex::encode_upper(&plain),
        percent,
        wrapped.join("\n"),
    ] {
        for text in [format!("x {encoded} y"), format!("{{\"a\":\"{}\"}}", encoded.replace('\n', "\\n"))] {
            let left = exported(&[&text]);
            assert!(left.contains("[redacted:github-token]"), "{text}: {left}");
            assert!(!left.contains(&encoded[..40]) || encoded.starts_with('%'), "{left}");
        }
    }
}

#[test]
fn a_secret_is_found_again_in_every_spelling() {
    use base64ct::{Base64, Base64Url, Encoding};
    let secret = "p4ss'w&rd/+$x é Zq";
    let found = format!("DB_PASSWORD=\"{secret}\"");
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let percent = |upper: bool| -> String {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric();
        secret
            .bytes()
            .map(|byte| match (plain(&byte), upper) {
                (true, _) => (byte as char).to_string(),
                (false, true) => format!("%{byte:02X}"),
                (false, false) => format!("%{byte:02x}"),
            })
            .collect()
    };
    let entities = secret.replace('&', "&amp;").replace('\'', "&#39;").replace('/', "&#x2F;");
    let level = |text: String| serde_json::to_string(&text).unwrap();
    let mut spellings = vec![
        percent(true),
        percent(false),
        entities,
        secret.replace('\'', "'\\''"),
        secret.replace('$', "\\$").replace('&', "\\&"),
        secret.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        const_hex::encode(secret),
        Base64::encode_string(&wide),
        (0..7).fold(secret.to_owned(), |text, _| level(text)),
    ];
    for before in ["", "x", "xy"] {
        spellings.push(Base64::encode_string(format!("{before}{secret}, and").as_bytes()));
        spellings.push(Base64Url::encode_string(format!("{before}{secret}, and").as_bytes()));
    }
    for spelling in spellings {
        let left = exported(&[&found, &format!("later: {spelling} .")]);
        assert!(left.contains("later: ") && !left.contains(&spelling), "{spelling}: {left}");
        assert_eq!(left.matches("[redacted:named-secret]").count(), 2, "{spelling}: {left}");
    }
}

#[test]
fn the_decoded_password_of_credentials_and_urls_is_removed_too() {
    let left = exported(&[
        "Authorization: Basic YWxhZGRpbjpvcGVuLXNlc2FtZTkx",
        "https://u:p%40ssw0rd9@host/x",
        "they were open-sesame91 and p@ssw0rd9",
    ]);
    assert!(left.contains("they were [redacted:authorization-header] and [redacted:url-password]"), "{left}");
}

#[test]
fn further_occurrences_of_many_short_passwords_are_removed_from_their_text() {
    let given: String = (0..9).map(|number| format!("DB{number}_PASSWORD='q{number}zk'\n")).collect();
    let said: String = (0..9).map(|number| format!("it was q{number}zk, not xq{number}zk; ")).collect();
    let left = exported(&[&format!("{given}{said}")]);
    for number in 0..9 {
        assert!(!left.contains(&format!(" q{number}zk")) && left.contains(&format!(" xq{number}zk")), "{left}");
    }
}

#[test]
fn a_secret_as_long_as_a_private_key_is_removed_in_every_encoding_too() {
    use base64ct::{Base64, Encoding};
    let secret: String = (0..500).map(|number| format!("{number:x}Q")).collect();
    let later = Base64::encode_string(format!("x{secret}y").as_bytes());
    let left = exported(&[&format!("DB_PASSWORD='{secret}'"), &format!("later: {later} .")]);
    assert!(left.contains("later: [redacted:named-secret] ."), "{left}");
}

#[test]
fn hostile_lines_are_redacted_without_exceeding_limits() {
    use base64ct::{Base64, Encoding};
    let repeated = [
        "password=",
        "password='",
        "--token ",
        "\"secret\":",
        "ghp_",
        "glpat-",
        "&#x61;",
        "%61",
        "\u{1b}[0m",
        "A",
        "sk-ant-",
        "eyJ",
    ];
    for text in repeated {
        exported(&[&text.repeat(20_000)]);
    }
    let bomb = (0..4).fold("password=hunter2 ".repeat(200), |text, _| Base64::encode_string(text.as_bytes()));
    exported(&[&bomb]);
    exported(&[&"\\".repeat(20_000), &"\\u005c".repeat(20_000)]);
}

#[test]
fn session_id_is_never_a_secret() {
    let id = "0c3f1b52-8d1e-4b5c-9f7a-2f6f0b1c9d11";
    let start = START.replace("s-1", id);
    let text = content(&format!(r#"{{"type":"text","text":"GET /resume?session_id={id}&x=1, SESSION_TOKEN={id}"}}"#));
    let (info, _) = export(format!("{start}\n{text}\n").as_bytes(), &[]).unwrap();
    assert_eq!(info.redactions, 0);
}

#[test]
fn export_fails_if_the_source_grows_after_the_scan_for_secrets() {
    let root = tempfile::tempdir().unwrap();
    let (source, destination) = (root.path().join("s.jsonl"), root.path().join("d"));
    // Other occurrences of this secret are not searched for: only lines with candidates are matched.
    let hit = content(r#"{"type":"text","text":"https://u:abc@h"}"#);
    let other = content(r#"{"type":"text","text":"--------------------"}"#);
    let lines = session(&[&hit, &other]);
    fs::write(&source, &lines).unwrap();
    let mut change = |progress: Progress| {
        if progress.bytes == progress.total / 2 {
            fs::write(&source, String::from_utf8_lossy(&lines).replace(&"-".repeat(20), AWS)).unwrap();
        }
    };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut change };
    let error = export_session(&source, &destination, &ExportOptions::default(), &mut task).unwrap_err();
    assert_eq!((error.code, names(root.path())), (BundleCode::SourceChanged, vec!["s.jsonl".to_owned()]));
}

#[test]
fn recordings_of_real_sessions_have_no_secrets() {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("__test__/fixtures");
    let mut count = 0;
    let mut waiting = vec![directory];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                let mut matcher_rules = std::collections::BTreeSet::new();
                let rules = RuleSet::new(&RedactOptions::default()).unwrap();
                let mut matcher = matcher::Matcher::new(&rules, &Default::default()).unwrap();
                for line in fs::read(&path).unwrap().split(|byte| *byte == b'\n') {
                    let redacted = lines::redacted_line(&mut matcher, line, &mut matcher_rules).unwrap();
                    assert_eq!(redacted, None, "{}: {:?}", path.display(), matcher.names(&matcher_rules));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 0);
}

/// Whether a damaged byte has made a key the part of a longer word, which is no key.
fn is_part_of_a_word(lines: &[u8]) -> bool {
    let text = (0..5).fold(lines.to_vec(), |text, _| unescaped(&text).into_owned());
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memchr::memmem::find_iter(&text, AWS)
        .any(|at| text[..at].last().is_some_and(is_word) || text.get(at + AWS.len()).is_some_and(is_word))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_secret_is_left_whatever_surrounds_it(
        parts in prop::collection::vec(("[ -~é\n]{0,6}", prop::collection::vec(any::<u8>(), 1..5), 0usize..4, any::<bool>()), 1..5),
        damage in prop::option::of((0usize..400, any::<u8>())),
    ) {
        let mut lines = session(&[]);
        for (around, choices, levels, is_whole) in &parts {
            let text = (0..*levels).fold(format!("{around} {AWS} {around}"), |text, _| escaped(&text, choices));
            let line = content(&format!(r#"{{"type":"text","text":"{}"}}"#, escaped(&text, &[0])));
            lines.extend_from_slice(line.as_bytes());
            lines.extend_from_slice(if *is_whole { b"\n" } else { b"}\n" });
        }
        let start = START.len() + 1;
        if let Some((at, byte)) = damage {
            let at = start + at % (lines.len() - start);
            lines[at] = byte;
        }
        prop_assume!(!is_part_of_a_word(&lines));
        match export(&lines, &[]) {
            Ok((_, redacted)) => {
                prop_assert_eq!(shape(&redacted), shape(&lines));
                let newlines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
                prop_assert_eq!(newlines(&redacted), newlines(&lines));
            }
            Err(error) => prop_assert_eq!(error.code, BundleCode::RedactionConflict),
        }
    }
}

#[test]
fn a_redaction_is_cancelled_within_a_line() {
    let line = content(&[r#"{"type":"text","text":"a"}"#; 1000].join(","));
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let mut matcher = matcher::Matcher::new(&rules, &Default::default()).unwrap();
    assert!(lines::redacted_line(&mut matcher, line.as_bytes(), &mut Default::default()).is_ok());
    matcher.cancellation.cancel();
    let stopped = lines::redacted_line(&mut matcher, line.as_bytes(), &mut Default::default());
    assert_eq!(stopped.map_err(|error| error.code), Err(BundleCode::Cancelled));
}
