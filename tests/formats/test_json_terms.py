"""What any command prints as JSON, an update takes: one form of a value everywhere."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings

import holdfast
from holdfast import Update
from holdfast.cli import terminal
from holdfast.cli.query import answer_as_json
from holdfast.formats.json_lines import load_json
from holdfast.program.model import Relation
from holdfast.update_lines import change_line
from holdfast.values import Row
from tests.cli.shell import holdfast as command
from tests.formats.strategies import facts


def printed(view: holdfast.RelationView) -> Any:
    """The rows as `run --json` and `query --json` print them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        terminal.json(answer_as_json(view))
    return load_json(out.getvalue())["rows"]


@settings(max_examples=150, deadline=None)
@given(facts())
def test_rows_that_are_printed_can_be_inserted_and_deleted(case: tuple[Relation, list[Row]]) -> None:
    relation, rows = case
    columns = ", ".join(f"{column.name}: {column.type.value}" for column in relation.columns)
    program = f".decl r({columns})"
    first, second = holdfast.from_text(program, {"r": rows}), holdfast.from_text(program)
    before = list(map(repr, first["r"].sorted_rows()))  # NaN is not equal to itself, but is written alike
    change = second.apply(Update.from_json({"insert": {"r": printed(first["r"])}}))
    assert list(map(repr, second["r"].sorted_rows())) == before
    reported = load_json(change_line(1, change))["added"].get("r", [])
    assert reported == printed(first["r"])
    first.apply(Update.from_json({"delete": {"r": reported}}))
    assert len(first["r"]) == 0


def test_what_run_prints_goes_into_a_stream(tmp_path: Path) -> None:
    graph, program = tmp_path / "g.ttl", tmp_path / "p.dl"
    graph.write_text(
        '@prefix e: <http://e/> . e:a e:p e:b, _:x, "chat"@fr, "2020-01-01"^^<http://t/d>, 7, 1.5e0, "s" .',
        encoding="utf-8",
    )
    program.write_text("r(?s, ?o) :- triple(?s, _, ?o).\n", encoding="utf-8")
    rows = command("run", program, "-F", graph, "--json").json["relations"]["r"]["rows"]
    assert len(rows) == 7
    asked = command("query", program, "r(?s, ?o)", "-F", graph, "--json").json["rows"]
    assert asked == rows
    updates = tmp_path / "u.jsonl"
    plain = tmp_path / "plain.dl"
    plain.write_text(".decl r(s: any, o: any)\n.decl q(s: any, o: any)\nq(?s, ?o) :- r(?s, ?o).\n", encoding="utf-8")
    updates.write_text(json.dumps({"insert": {"r": rows}}) + "\n", encoding="utf-8")
    result = command("stream", plain, "--updates", updates)
    assert result.code == 0, result.err
    assert json.loads(result.out.splitlines()[0])["added"]["q"] == rows
