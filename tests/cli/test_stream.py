"""stream: a change line for each update, refused updates, files, figures, algorithms.

What a maintained state must be is the concern of tests/equivalence; here it is the command around it.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import holdfast

FIRST = {"insert": {"edge": [[1, 2], [2, 3]]}}
SECOND = {"delete": {"edge": [[2, 3]]}, "insert": {"edge": [[2, 4]]}}


def write(path: str, *updates: object) -> str:
    Path(path).write_text("".join(json.dumps(update) + "\n" for update in updates), encoding="utf-8")
    return path


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_change_line_for_each_update(reach: Path) -> None:
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST, SECOND))
    assert result.code == 0
    assert lines(result.out) == [
        {"update": 1, "added": {"path": [[1, 2], [1, 3], [2, 3]], "edge": [[1, 2], [2, 3]]}, "removed": {}},
        {
            "update": 2,
            "added": {"path": [[1, 4], [2, 4]], "edge": [[2, 4]]},
            "removed": {"path": [[1, 3], [2, 3]], "edge": [[2, 3]]},
        },
    ]
    assert result.err.startswith("2 updates: 8 facts added, 3 removed, ")


def test_it_starts_from_the_facts_that_are_given(reach: Path) -> None:
    result = holdfast("stream", reach, "-F", "facts", "--updates", write("u.jsonl", {"delete": {"edge": [[3, 4]]}}))
    assert lines(result.out)[0]["removed"] == {"path": [[1, 4], [2, 4], [3, 4]], "edge": [[3, 4]]}


def test_it_starts_from_the_facts_in_the_text(reach: Path) -> None:
    reach.write_text(reach.read_text(encoding="utf-8") + "edge(0, 1).\n", encoding="utf-8")
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST))
    assert [0, 3] in lines(result.out)[0]["added"]["path"]


@pytest.mark.parametrize("name", ["u.jsonl", "u.jsonl.gz", "-"])
def test_updates_from_a_file_from_gzip_and_from_standard_input(name: str, reach: Path) -> None:
    text = json.dumps(FIRST) + "\n\n" + json.dumps(SECOND)
    if name == "u.jsonl":
        Path(name).write_text(text, encoding="utf-8")
    elif name != "-":
        Path(name).write_bytes(gzip.compress(text.encode()))
    result = holdfast("stream", reach, "--updates", name, stdin=text)
    assert [line["update"] for line in lines(result.out)] == [1, 2]


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_changes_go_to_a_file(name: str, reach: Path) -> None:
    updates = write("u.jsonl", FIRST, SECOND)
    printed = holdfast("stream", reach, "--updates", updates).out
    result = holdfast("stream", reach, "--updates", updates, "--changes", name)
    assert (result.code, result.out) == (0, "")
    content = Path(name).read_bytes()
    assert (gzip.decompress(content) if name.endswith("gz") else content).decode() == printed


def test_changes_are_not_written_over_the_updates(reach: Path) -> None:
    before = Path(write("u.jsonl", FIRST)).read_bytes()
    result = holdfast("stream", reach, "--updates", "u.jsonl", "--changes", "./u.jsonl")
    assert (result.code, "both --updates and --changes" in result.err) == (2, True)
    assert Path("u.jsonl").read_bytes() == before


def test_values_are_written_as_they_are_read(reach: Path) -> None:
    rows = [
        [-7, 0.5],
        [1, "1"],
        [1.0, "é\n\t\"'\\"],
        ["a", {"@id": "http://x/y"}],
        [{"@id": "_:b"}, 2**62],
        [{"@value": "chat", "@language": "fr"}, {"@value": "2024-01-01", "@type": "http://t/date"}],
        [{"@value": "01", "@type": "http://www.w3.org/2001/XMLSchema#integer"}, ""],
    ]
    reach.write_text("copy(x, y) :- given(x, y).\n", encoding="utf-8")
    first = holdfast("stream", reach, "--updates", write("u.jsonl", {"insert": {"given": rows}}))
    added = lines(first.out)[0]["added"]
    assert added["copy"] == added["given"]
    assert sorted(map(repr, added["given"])) == sorted(map(repr, rows))
    assert [type(row[0]) for row in added["given"] if row[1] in ("1", "é\n\t\"'\\")] == [int, float]
    again = holdfast("stream", reach, "--updates", write("v.jsonl", {"insert": {"given": added["given"]}}))
    assert again.out == first.out


def test_a_column_of_floats_stays_one(reach: Path) -> None:
    reach.write_text(".decl t(x: float, y: unsigned)\n", encoding="utf-8")
    result = holdfast("stream", reach, "--updates", write("u.jsonl", {"insert": {"t": [[1, 2**64 - 1], [0.1, 0]]}}))
    assert result.out == '{"update": 1, "added": {"t": [[0.1, 0], [1.0, 18446744073709551615]]}, "removed": {}}\n'


def test_rdf_relations_have_one_name_in_and_out(reach: Path) -> None:
    reach.write_text("@prefix e: <http://e/> .\ne:knows(y, x) :- e:met(x, y).\n", encoding="utf-8")
    met = [[{"@id": "http://e/a"}, {"@id": "http://e/b"}]]
    added = lines(holdfast("stream", reach, "--updates", write("u.jsonl", {"insert": {"e:met": met}})).out)[0]["added"]
    assert added == {"<http://e/met>": met, "<http://e/knows>": [met[0][::-1]]}
    other = holdfast("stream", reach, "--updates", write("v.jsonl", {"insert": {"<http://e/met>": met}}))
    assert lines(other.out)[0]["added"] == added


def test_rules_come_and_go(reach: Path) -> None:
    result = holdfast(
        "stream",
        reach,
        "-F",
        "facts",
        "--updates",
        write(
            "u.jsonl",
            {"add_rules": ["loop(x) :- path(x, x)."], "insert": {"edge": [[4, 1]]}},
            {"remove_rules": ["r2"]},
            {"remove_rules": ["path(x, y) :- edge(x, y)."]},
        ),
    )
    changes = lines(result.out)
    assert changes[0]["added"]["loop"] == [[1], [2], [3], [4]]
    assert changes[1]["removed"]["loop"] == [[1], [2], [3], [4]]
    assert changes[2] == {"update": 3, "added": {}, "removed": {"path": [[1, 2], [2, 3], [3, 4], [4, 1]]}}


BAD = {
    "not JSON": ('{"insert": {"edge": [[1, 2]}}', "E0613", 28),
    "not UTF-8": (b'{"insert": {"edge": [["\xff", 1]]}}', "E0604", 24),
    "not an object": ("[1, 2]", "E0907", 1),
    "an unknown key": ('{"inserts": {}}', "E0907", 1),
    "a key twice": ('{"insert": {"edge": []}, "insert": {}}', "E0907", 1),
    "facts that are no lists": ('{"insert": {"edge": [1, 2]}}', "E0907", 1),
    "an unknown relation": ('{"insert": {"edeg": [[1, 2]]}}', "E0901", 1),
    "an unknown relation to delete from": ('{"delete": {"edeg": [[1, 2]]}}', "E0901", 1),
    "a wrong arity": ('{"insert": {"edge": [[1, 2, 3]]}}', "E0605", 1),
    "a wrong type": ('{"insert": {"edge": [[1, "2"]]}}', "E0606", 1),
    "a value that is none": ('{"insert": {"edge": [[1, null]]}}', "E0606", 1),
    "an unparsable rule": ('{"add_rules": ["p(x) :- "]}', "E0101", 1),
    "an unsafe rule": ('{"add_rules": ["p(x, y) :- edge(x, _)."]}', "E0301", 1),
    "a cycle with negation": ('{"add_rules": ["edge(x, y) :- path(y, x), !path(x, y)."]}', "E0501", 1),
    "an ill-typed rule": ('{"add_rules": ["path(x, \\"a\\") :- edge(x, _)."]}', "E0912", 1),
    "a fact among the rules": ('{"add_rules": ["edge(1, 2)."]}', "E0910", 1),
    "a rule that is not there": ('{"remove_rules": ["r9"]}', "E0911", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_update_is_an_error_with_its_line(name: str, reach: Path) -> None:
    line, code, column = BAD[name]
    content = line if isinstance(line, bytes) else line.encode()
    Path("u.jsonl").write_bytes(b'{"insert": {"edge": [[9, 8]]}}\n\n' + content + b"\n{}\n")
    result = holdfast("stream", reach, "-F", "facts", "--updates", "u.jsonl", "-D", "out", "--stats", "s.json")
    assert result.code == 2
    assert f"error[{code}]" in result.err
    assert f"--> u.jsonl:3:{column}\n" in result.err
    assert len(lines(result.out)) == 1
    assert not Path("out").exists()
    assert not Path("s.json").exists()


@pytest.mark.parametrize("name", BAD)
def test_with_keep_going_a_bad_update_is_skipped_and_leaves_no_trace(name: str, reach: Path) -> None:
    line, code, _ = BAD[name]
    content = line if isinstance(line, bytes) else line.encode()
    last = b'{"insert": {"edge": [[4, 5]]}, "delete": {"edge": [[9, 9]]}}\n'
    Path("u.jsonl").write_bytes(content + b"\n" + last)
    Path("v.jsonl").write_bytes(b"{}\n" + last)
    result = holdfast("stream", reach, "-F", "facts", "--updates", "u.jsonl", "--keep-going", "-D", "out")
    without = holdfast("stream", reach, "-F", "facts", "--updates", "v.jsonl", "-D", "plain")
    assert (result.code, without.code) == (1, 0)
    skipped, change = lines(result.out)
    assert (skipped["update"], skipped["error"][0]["code"], skipped["error"][0]["line"]) == (1, code, 1)
    assert "u.jsonl:1:" in result.err
    assert change == lines(without.out)[1]
    assert Path("out/path.csv").read_bytes() == Path("plain/path.csv").read_bytes()


def test_the_rule_that_is_refused_is_shown(reach: Path) -> None:
    update = {"add_rules": ["edge(x, x) :- path(x, _), !path(x, x)."]}
    result = holdfast("stream", reach, "--updates", write("u.jsonl", update))
    assert "negation inside a cycle: edge -> !path -> edge" in result.err
    assert " 1 | edge(x, x) :- path(x, _), !path(x, x)." in result.err
    assert "reach.dl:1:15: path reads edge" in result.err


def test_a_limit_stops_the_stream_with_3(reach: Path) -> None:
    many = {"insert": {"edge": [[n, n + 1] for n in range(100)]}}
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST, many), "--limit-facts", "50")
    assert (result.code, len(lines(result.out))) == (3, 1)
    assert "error[E0802]" in result.err
    going = holdfast("stream", reach, "--updates", write("u.jsonl", many, FIRST), "--limit-facts", "50", "--keep-going")
    assert going.code == 1
    assert lines(going.out)[1]["added"]["path"] == [[1, 2], [1, 3], [2, 3]]


def test_damaged_gzip_is_an_error_even_with_keep_going(reach: Path) -> None:
    packed = gzip.compress(b"".join(b'{"insert": {"edge": [[%d, 1]]}}\n' % n for n in range(5000)))
    for content in (packed[: len(packed) // 2], b"no gzip at all\n"):
        Path("u.jsonl.gz").write_bytes(content)
        result = holdfast("stream", reach, "--updates", "u.jsonl.gz", "--keep-going")
        assert (result.code, "error[E0603]" in result.err) == (2, True)


def test_the_output_relations_are_written_at_the_end(reach: Path) -> None:
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST, SECOND), "-D", "out")
    assert Path("out/path.csv").read_text(encoding="utf-8") == "1\t2\n1\t4\n2\t4\n"
    assert "wrote out/path.csv" in result.err


def test_figures_of_each_update_and_in_total(reach: Path) -> None:
    again = {"insert": {"edge": [[1, 2]]}, "delete": {"edge": [[7, 7]]}}
    holdfast(
        "stream",
        reach,
        "--updates",
        write("u.jsonl", FIRST, SECOND, again),
        "--stats",
        "s.json",
        "--algorithm",
        "dred-counting",
    )
    stats = json.loads(Path("s.json").read_text(encoding="utf-8"))
    each, total = stats["updates"], stats["total"]
    assert stats["start"]["facts"] == 0
    counts = [(u["update"], u["added"], u["removed"], u["no_ops"]) for u in each]
    assert counts == [(1, 5, 0, 0), (2, 3, 3, 0), (3, 0, 0, 2)]
    assert (total["updates"], total["added"], total["removed"], total["no_ops"]) == (3, 8, 3, 2)
    path = next(node for node in each[1]["nodes"] if node["predicates"] == ["path"])
    assert (path["deletion"], path["insertion"], path["overdeleted"]) == (2, 2, 2)
    assert (path["algorithm"], path["why"]) == ("dred-counting", "chosen by the caller")
    for phase in ("deletion", "backward", "forward", "insertion", "overdeleted", "rederived", "seconds"):
        assert total[phase] >= sum(node[phase] for u in each for node in u["nodes"]) >= 0
    assert sum(node["insertion"] for node in total["nodes"]) == total["insertion"]
    assert total["nodes"][1]["algorithms"] == {"dred-counting": 2}


@pytest.mark.parametrize(
    "name", ["auto", "dred", "dred-counting", "backward-forward", "backward-forward-counting", "recompute"]
)
@pytest.mark.parametrize("strategy", ["counters", "hyper-node"])
def test_every_algorithm_and_strategy_gives_the_same_changes(name: str, strategy: str, reach: Path) -> None:
    updates = write(
        "u.jsonl",
        {"insert": {"edge": [[4, 1]]}},
        {"delete": {"edge": [[2, 3]]}},
        {"remove_rules": ["r2"]},
        {"add_rules": ["path(x, z) :- edge(x, y), path(y, z)."]},
        {"insert": {"edge": [[2, 3]]}},
    )
    plain = holdfast("stream", reach, "-F", "facts", "--updates", updates)
    asked = holdfast("stream", reach, "-F", "facts", "--updates", updates, "--algorithm", name, "--strategy", strategy)
    assert (asked.code, asked.out) == (0, plain.out)


def test_an_algorithm_for_one_relation(reach: Path) -> None:
    result = holdfast(
        "stream",
        reach,
        "--updates",
        write("u.jsonl", FIRST),
        "--explain-choice",
        "--algorithm",
        "recompute",
        "--algorithm",
        "path=backward-forward",
    )
    assert result.err.splitlines()[:2] == [
        "update 1: edge: recompute (chosen by the caller)",
        "update 1: path: backward-forward (chosen by the caller)",
    ]


def test_the_choice_is_explained(reach: Path) -> None:
    updates = write("u.jsonl", FIRST, {"remove_rules": ["r2"]})
    result = holdfast("stream", reach, "--updates", updates, "--explain-choice", "--strategy", "hyper-node")
    said = result.err.splitlines()
    assert said[0].startswith("update 1: edge: counting (no recursion")
    assert said[1].startswith("update 1: path: exact (transitive-closure serves")
    assert said[2].startswith("update 2: path: recompute (rules were removed")
    assert len(lines(result.out)) == 2
    result = holdfast("stream", reach, "--updates", updates, "--explain-choice", "--no-module", "transitive-closure")
    assert result.err.splitlines()[1].startswith("update 1: path: dred-ranked (recursive")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--no-module", "transitive"], "E0915"),
        (["--algorithm", "dread"], "E0905"),
        (["--algorithm", "path=dread"], "E0905"),
        (["--strategy", "none"], "E0905"),
        (["--algorithm", "paht=dred"], "E0901"),
        (["--algorithm", "counting"], "E0906"),
        (["--algorithm", "dred", "--algorithm", "auto"], "E0010"),
        (["--algorithm", "path=dred", "--algorithm", "path=auto"], "E0010"),
    ],
)
def test_algorithms_that_cannot_be_are_refused(words: list[str], code: str, reach: Path) -> None:
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST), *words)
    assert (result.code, f"error[{code}]" in result.err) == (2, True)


def test_json_ends_with_a_summary_on_one_line(reach: Path) -> None:
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST, SECOND), "-D", "out", "--json")
    summary = lines(result.out)[-1]
    assert (summary["ok"], summary["updates"], summary["added"], summary["written"]) == (True, 2, 8, ["out/path.csv"])
    assert result.err == ""


def test_json_says_errors_on_one_line(reach: Path) -> None:
    result = holdfast("stream", reach, "--updates", write("u.jsonl", FIRST, {"insert": {"nope": []}}), "--json")
    assert result.code == 2
    last = lines(result.out)[-1]
    assert (last["ok"], last["diagnostics"][0]["code"], last["diagnostics"][0]["line"]) == (False, "E0901", 2)


def test_a_missing_stream_does_not_wait_for_the_run(reach: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.cli.stream.evaluate", lambda *_: pytest.fail("it was run"))
    result = holdfast("stream", reach, "--updates", "nowhere.jsonl")
    assert (result.code, "error[E0011]" in result.err) == (2, True)


def test_warnings_are_printed_once(reach: Path) -> None:
    reach.write_text("p(x) :- q(x), !r(x, y).\n", encoding="utf-8")
    more = {"add_rules": ["s(x) :- q(x), !t(x, z)."]}
    result = holdfast("stream", reach, "--updates", write("u.jsonl", {"insert": {"q": [[1]]}}, more, {}))
    assert result.err.count("warning[W0002]: y ") == 1
    assert result.err.count("warning[W0002]: z ") == 1
