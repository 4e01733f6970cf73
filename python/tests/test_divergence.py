"""`prefix_hash` and `diff` agree: the first step with different prefixes in two sessions is the one at which `diff` finds them to diverge."""

import itertools

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as any_

import session_tape as st
from recordings import answer, call, session, start, text

QUERY = """
select min(a.step) from events a join events b using (step)
where a.source = $1 and b.source = $2 and a.prefix_hash <> b.prefix_hash
"""


def first_other_prefix(events, left, right):
    connection = duckdb.connect()
    connection.register("events", events)
    return connection.execute(QUERY, [str(left), str(right)]).fetchone()[0]


def expected(found):
    """The expected result of the query: none if one recording is a prefix of the other, since no row shows that."""
    return found.divergence_event if found is not None and found.kind in ("EventMismatch", "HeaderMismatch") else None


def test_real_recordings_diverge_where_expected(real):
    paths = [path for path in real if path.name.startswith("marshmallow")]
    events = st.events(paths).read_all()
    pairs = list(itertools.combinations(paths, 2))
    assert len(pairs) == 28
    for left, right in pairs:
        found = st.first_divergence(left, right)
        assert found is not None and first_other_prefix(events, left, right) == expected(found), (left, right)


def test_a_directory_without_a_recording_is_named(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(session(start()))
    with pytest.raises(ValueError, match=f"^right must be .* the directory '{tmp_path}' is neither a run nor a bundle"):
        st.first_divergence(tmp_path / "s.jsonl", tmp_path)
    with pytest.raises(ValueError, match="^left must be "):
        st.first_divergence(tmp_path, tmp_path)


ITEMS = any_.sampled_from(["one", "two"])
IDS = any_.sampled_from(["a", "b", "c"])
RECORDS = any_.one_of(
    any_.builds(text, any_.sampled_from(["human", "ai"]), ITEMS),
    any_.builds(lambda words, id: text("ai", words, id=id, usage={"tokens": len(id)}, model="m"), ITEMS, IDS),
    any_.builds(lambda id: call(id), IDS),
    any_.builds(lambda one, other: call(one, other), IDS, IDS),
    any_.builds(lambda id: answer(id), IDS),
    any_.builds(lambda one, other: answer(one, other), IDS, IDS),
    any_.just(("rewind", {"itemsRemoved": 1})),
    any_.just(("new", {"b": 1, "a": [1.0, -0.0]})),
    any_.just(("new", {"a": [1, 0], "b": 1e0})),
    any_.sampled_from(["5", "null", "garbage", "", '{"type":"content"}', '{"t\\u0079pe":"content"}', '{"payload":1,"payload":2}', '{"payload":2}']),
)


@settings(max_examples=150, deadline=None)
@given(any_.lists(RECORDS, max_size=5), any_.lists(RECORDS, max_size=4), any_.lists(RECORDS, max_size=4), any_.permutations("abc"))
def test_divergence_of_any_two_sessions_agrees_with_the_query(tmp_path_factory, common, left, right, names):
    """The second session has the same beginning, but its calls have other ids."""
    renamed = str.maketrans("abc", "".join(names))

    def rename(record):
        if isinstance(record, str) or record[0] != "content":
            return record
        blocks = [
            {key: value.translate(renamed) if key in ("id", "callId") else value for key, value in block.items()}
            for block in record[1]["content"]["blocks"]
        ]
        return record[0], {"content": {**record[1]["content"], "blocks": blocks}}

    folder = tmp_path_factory.mktemp("pair")
    paths = [folder / "left.jsonl", folder / "right.jsonl"]
    paths[0].write_bytes(session(start(sessionId="one"), *common, *left))
    paths[1].write_bytes(session(start(sessionId="two"), *map(rename, common), *map(rename, right), second=100))
    assert first_other_prefix(st.events(paths).read_all(), *paths) == expected(st.first_divergence(*paths))


def test_executions_are_grouped_by_their_prefix(real):
    paths = [path for path in real if path.name.startswith("marshmallow")]
    events = st.events(paths).read_all()
    groups = duckdb.sql("select step, prefix_hash, count(*) from events where step is not null group by all order by 1").fetchall()
    assert sum(count for step, _, count in groups if step == 0) == len(paths)
    assert len({prefix for _, prefix, _ in groups}) == len(groups), "a prefix is of one step"
    assert events.num_rows > 0


@pytest.mark.parametrize("other", ["human", "ai"])
def test_divergence_ignores_ids_and_times(other):
    one = session(start(sessionId="1"), text("human", "x"), call("a"), answer("a"))
    two = session(start(sessionId="2"), text(other, "x"), call("b"), answer("b"), second=50)
    first, second = (st.events([("s", content)]).read_all() for content in (one, two))
    is_same = [left == right for left, right in zip(first["prefix_hash"].to_pylist(), second["prefix_hash"].to_pylist())]
    assert is_same == [True] + [other == "human"] * 3
