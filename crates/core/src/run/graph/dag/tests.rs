use super::*;
use proptest::prelude::*;

fn message(workflow: &str) -> String {
    let error = Dag::compile(workflow).unwrap_err();
    assert_eq!(error.code, ErrorCode::WorkflowInvalid);
    error.message
}

#[test]
fn dependents_are_those_of_dependents_too_nearest_first() {
    let node = |id: &str, on: &str| format!(r#"{{"id":"{id}","kind":"t","dependsOn":{on}}}"#);
    let nodes = [
        node("z", "[]"),
        node("b", r#"["z"]"#),
        node("a", r#"["b","c"]"#),
        node("c", r#"["z"]"#),
        node("y", "[]"),
        node("d", r#"["y"]"#),
    ];
    let dag = Dag::compile(&format!(r#"{{"name":"","version":"","nodes":[{}]}}"#, nodes.join(","))).unwrap();
    let of = |ids: &[&str]| {
        let ids: Vec<_> = ids.iter().map(|id| Text::from_plain(id)).collect();
        dag.dependents(&ids).iter().map(|id| id.to_plain().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&["z"]), ["z", "b", "c", "a"]);
    assert_eq!(of(&["a"]), ["a"]);
    assert_eq!(of(&["c", "y"]), ["c", "y", "a", "d"]);
    assert_eq!(of(&["nowhere"]), Vec::<String>::new());
}

#[test]
fn a_workflow_compiles_to_canonical_bytes() {
    let dag = Dag::compile(
        r#" {"version":"1","name":"w","extra":[{}],"nodes":[
            {"id":"b","kind":"tool","tool":"fetch","dependsOn":["é","a","a"],"capabilities":["net","gpu","net"]},
            {"id":"é","kind":"llm","dependsOn":[],"extra":{"id":"x"}},
            {"kind":"llm","id":"a","tool":null}]} "#,
    )
    .unwrap();
    let expected = concat!(
        r#"{"edges":[["a","b"],["é","b"]],"nodes":[{"capabilities":[],"id":"a","kind":"llm"},"#,
        r#"{"capabilities":["gpu","net"],"id":"b","kind":"tool","tool":"fetch"},"#,
        r#"{"capabilities":[],"id":"é","kind":"llm"}]}"#
    );
    assert_eq!(dag.text(), expected);
    assert_eq!(dag.hash(), as_text(&sha256_hex([expected.as_bytes()])));
    assert_eq!(dag.find(&Text::from_json("\\u00e9")), Some(2));
    assert_eq!(dag.find(&Text::from_plain("c")), None);
    assert_eq!(dag.nodes()[1].dependencies, [0, 2]);
}

#[test]
fn a_workflow_without_nodes_is_a_graph() {
    assert_eq!(Dag::compile(r#"{"name":"w","version":"1","nodes":[]}"#).unwrap().text(), r#"{"edges":[],"nodes":[]}"#);
}

#[test]
fn invalid_graphs_are_refused_with_a_reason() {
    let nodes = |list: &str| message(&format!(r#"{{"name":"w","version":"1","nodes":[{list}]}}"#));
    assert_eq!(nodes(r#"{"id":"a","kind":"k"},{"id":"\u0061","kind":"k"}"#), "The node id 'a' is used twice.");
    assert_eq!(nodes(r#"{"id":"a","kind":"k","dependsOn":["a"]}"#), "The node 'a' depends on itself.");
    assert_eq!(nodes(r#"{"id":"a","kind":"k","dependsOn":["b"]}"#), "The node 'a' depends on 'b', which is not there.");
    assert_eq!(
        nodes(
            r#"{"id":"0","kind":"k","dependsOn":["a"]},{"id":"a","kind":"k","dependsOn":["c"]},
               {"id":"b","kind":"k","dependsOn":["a"]},{"id":"c","kind":"k","dependsOn":["b"]}"#
        ),
        "The nodes depend on each other: a → c → b → a."
    );
    assert_eq!(
        nodes(r#"{"id":"","kind":"k"}"#),
        "The workflow is not valid: 'nodes[0].id' must be a non-empty string."
    );
    assert_eq!(nodes(r#"{"id":"a","kind":"k"},{"id":"b"}"#), "The workflow is not valid: 'nodes[1].kind' is missing.");
    assert_eq!(nodes("1"), "The workflow is not valid: 'nodes[0]' must be an object.");
    assert_eq!(message("[]"), "The workflow is not valid: it is not a JSON object.");
    assert_eq!(
        message(r#"{"name":"w","version":1,"nodes":[]}"#),
        "The workflow is not valid: 'version' must be a string."
    );
    assert_eq!(message(r#"{"name":"w","version":"1"}"#), "The workflow is not valid: 'nodes' is missing.");
}

#[test]
fn stored_graph_must_be_canonical() {
    let text = Dag::compile(
        r#"{"name":"w","version":"1","nodes":[{"id":"a","kind":"k","capabilities":["x","y"]},
            {"id":"b","kind":"k","tool":"t","dependsOn":["a"]},{"id":"c","kind":"k","dependsOn":["a","b"]}]}"#,
    )
    .unwrap()
    .text()
    .to_owned();
    assert_eq!(Dag::parse(&text).unwrap().text(), text);
    for (from, to) in [
        (r#"["a","b"]"#, r#"["b","a"]"#),
        (r#"["a","b"],"#, ""),
        (r#"["a","b"]"#, r#"["a","b"],["a","b"]"#),
        (r#"["a","b"]"#, r#"["a","z"]"#),
        (r#"["a","b"]"#, r#"["a"]"#),
        (r#"["a","b"]"#, r#"["z","a","b"]"#),
        (r#"["x","y"]"#, r#"["y","x"]"#),
        (r#"["x","y"]"#, r#"["x", "y"]"#),
        (r#""id":"c""#, r#""id":"\u0063""#),
        (r#""tool":"t""#, r#""tool":null"#),
        (r#""tool":"t""#, r#""tool":"t","zone":1"#),
        (r#"{"edges""#, r#" {"edges""#),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        match Dag::parse(&changed) {
            // A graph with fewer edges is another graph, not a damaged one.
            Ok(dag) => assert!(to.is_empty() && dag.text() == changed, "{from} {to}"),
            Err(error) => assert_eq!(error.code, ErrorCode::WorkflowInvalid),
        }
    }
}

/// A workflow of nodes that depend only on earlier ones, so that any choice of edges is free of cycles.
fn workflow() -> impl Strategy<Value = Vec<(String, Vec<usize>)>> {
    proptest::collection::btree_set("[a-c\"\n#é]{1,3}", 0..8).prop_flat_map(|ids| {
        let ids: Vec<String> = ids.into_iter().collect();
        let edges: Vec<_> = (0..ids.len()).map(|at| proptest::collection::vec(0..at.max(1), 0..=at)).collect();
        (Just(ids).prop_shuffle(), edges).prop_map(|(ids, edges)| ids.into_iter().zip(edges).collect())
    })
}

fn json(nodes: &[(String, Vec<usize>)], order: &[usize]) -> String {
    let node = |&at: &usize| {
        let depends_on: Vec<_> = nodes[at].1.iter().map(|&on| &nodes[on].0).collect();
        serde_json::json!({ "id": nodes[at].0, "kind": "k", "dependsOn": depends_on })
    };
    serde_json::json!({ "name": "w", "version": "1", "nodes": order.iter().map(node).collect::<Vec<_>>() }).to_string()
}

proptest! {
    #[test]
    fn the_order_of_nodes_does_not_matter(
        (nodes, order) in workflow().prop_flat_map(|nodes| {
            let order: Vec<usize> = (0..nodes.len()).collect();
            (Just(nodes), Just(order).prop_shuffle())
        })
    ) {
        let written: Vec<usize> = (0..nodes.len()).collect();
        let dag = Dag::compile(&json(&nodes, &written)).unwrap();
        let shuffled = Dag::compile(&json(&nodes, &order)).unwrap();
        prop_assert_eq!(dag.text(), shuffled.text());
        let stored = Dag::parse(dag.text()).unwrap();
        prop_assert_eq!(stored.nodes(), dag.nodes());
    }
}
