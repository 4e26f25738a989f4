"""run and query: results on the screen, in files, as JSON; limits; nothing half written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import holdfast

CLOSURE = [[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]
AS_LINES = "".join(f"{x}\t{y}\n" for x, y in CLOSURE)


def test_run_prints_rows_and_sizes(reach: Path) -> None:
    result = holdfast("run", reach, "-F", "facts")
    assert result.code == 0
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "path: 6 facts"
    assert "1 2" in lines
    assert lines[-2:] in (["edge 3", "path 6"], ["path 6", "edge 3"])
    assert "3 facts in, 6 derived" in result.err


def test_run_shows_twenty_rows_and_says_how_many_more(reach: Path) -> None:
    Path("facts/edge.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(7)), encoding="utf-8")
    result = holdfast("run", reach, "-F", "facts")
    assert "path: 28 facts" in result.out
    assert "… and 8 more; -D FOLDER writes them all" in result.out


def test_run_without_output_directives_shows_what_rules_derive(reach: Path) -> None:
    reach.write_text("big(x) :- edge(x, _), x > 1.\n", encoding="utf-8")
    out = holdfast("run", reach, "-F", "facts").out
    assert "big: 2 facts" in out
    assert "edge: " not in out


def test_run_prints_printsize_like_souffle(reach: Path) -> None:
    reach.write_text(reach.read_text(encoding="utf-8") + ".printsize edge\n", encoding="utf-8")
    assert holdfast("run", reach, "-F", "facts", "-D", "out").out.startswith("edge\t3\n")


def test_run_writes_files_like_souffle(reach: Path) -> None:
    result = holdfast("run", reach, "-F", "facts", "-D", "out")
    assert (result.code, result.out) == (0, "wrote out/path.csv\n")
    assert [path.name for path in Path("out").iterdir()] == ["path.csv"]
    assert Path("out/path.csv").read_text(encoding="utf-8") == AS_LINES


def test_run_says_so_when_there_is_nothing_to_write(reach: Path) -> None:
    reach.write_text("big(x) :- edge(x, _), x > 1.\n", encoding="utf-8")
    result = holdfast("run", reach, "-F", "facts", "-D", "out")
    assert result.code == 0
    assert "reach.dl has no .output, so nothing was written to out" in result.err


def test_run_json(reach: Path) -> None:
    found = holdfast("run", reach, "-F", "facts", "--json").json
    assert found["relations"]["path"]["rows"] == CLOSURE
    assert found["relations"]["edge"] == {"size": 3}
    assert found["statistics"]["derived"] == 6
    assert found["written"] == []


def test_run_json_names_the_written_files(reach: Path) -> None:
    found = holdfast("run", reach, "-F", "facts", "-D", "out", "--json").json
    assert found["written"] == ["out/path.csv"]
    assert found["relations"]["path"] == {"size": 6}


def test_run_writes_figures(reach: Path) -> None:
    assert holdfast("run", reach, "-F", "facts", "--stats", "stats.json").code == 0
    figures = json.loads(Path("stats.json").read_text(encoding="utf-8"))
    assert (figures["facts"], figures["derived"]) == (3, 6)
    assert figures["seconds"] > 0


@pytest.mark.parametrize(
    "limit",
    [
        ["--limit-facts", "5000"],
        ["--limit-seconds", "0"],
        ["--limit-memory", "100K", "--no-module", "all"],
        ["--limit-rounds", "20", "--no-module", "all"],
    ],
)
def test_a_limit_stops_the_run_with_3_and_writes_nothing(limit: list[str], reach: Path) -> None:
    Path("facts/edge.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(300)), encoding="utf-8")
    result = holdfast("run", reach, "-F", "facts", "-D", "out", *limit)
    assert result.code == 3
    assert "error[E08" in result.err
    assert not list(Path().glob("out/*"))


def test_limits_that_are_not_reached_change_nothing(reach: Path) -> None:
    words = ["--limit-facts", "9", "--limit-rounds", "99", "--limit-seconds", "600", "--limit-memory", "64G"]
    assert holdfast("run", reach, "-F", "facts", "-D", "out", *words).code == 0


def test_a_bad_amount_of_memory_is_explained(reach: Path) -> None:
    result = holdfast("run", reach, "--limit-memory", "lots")
    assert result.code == 2
    assert "error[E0013]: `lots` is not an amount of memory" in result.err


def test_facts_from_two_folders_are_put_together(reach: Path) -> None:
    Path("more").mkdir()
    Path("more/edge.facts").write_text("4\t5\n", encoding="utf-8")
    assert holdfast("query", reach, "-F", "facts", "-F", "more", "path(1, x)").out == "2\n3\n4\n5\n"


def test_facts_from_rdf_and_a_folder(reach: Path) -> None:
    Path("more.nt").write_text("<http://e/a> <http://e/knows> <http://e/b> .\n", encoding="utf-8")
    reach.write_text("both(x, y) :- edge(x, _), <http://e/knows>(y, _).\n", encoding="utf-8")
    result = holdfast("query", reach, "-F", "facts", "-F", "more.nt", "both(1, y)")
    assert (result.code, result.out) == (0, "<http://e/a>\n")


def test_malformed_facts_are_pointed_at(reach: Path) -> None:
    reach.write_text(".decl edge(x: number, y: number)\n.input edge\n.output edge\n", encoding="utf-8")
    Path("facts/edge.facts").write_text("1\t2\n3\tfour\n", encoding="utf-8")
    result = holdfast("run", reach, "-F", "facts")
    assert result.code == 2
    assert "edge.facts:2" in result.err
    assert "four" in result.err


def test_query_is_tab_separated_in_a_pipe(reach: Path) -> None:
    result = holdfast("query", reach, "-F", "facts", "path(x, y), !edge(x, y)")
    assert (result.code, result.out, result.err) == (0, "1\t3\n1\t4\n2\t4\n", "")


def test_query_is_a_table_on_a_terminal(reach: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = holdfast("query", reach, "-F", "facts", "path(1, x)", terminal=True).out.splitlines()
    assert [line.strip() for line in lines] == ["x", "─", "2", "3", "4"]


def test_query_json(reach: Path) -> None:
    found = holdfast("query", reach, "-F", "facts", "path(3, x)", "--json").json
    assert found == {"columns": ["x"], "types": ["number"], "size": 1, "rows": [[4]]}


def test_a_query_without_variables_is_true_or_false(reach: Path) -> None:
    assert holdfast("query", reach, "-F", "facts", "path(1, 4)").out == "true\n"
    assert holdfast("query", reach, "-F", "facts", "path(4, 1)").out == "false\n"


def test_a_query_without_answers(reach: Path) -> None:
    assert holdfast("query", reach, "-F", "facts", "path(4, x)").out == ""
    assert holdfast("query", reach, "-F", "facts", "path(4, x)", terminal=True).out == "no answers\n"


def test_a_slip_in_the_query_does_not_wait_for_the_run(reach: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.cli.query.evaluate", lambda *_: pytest.fail("it was run"))
    assert holdfast("query", reach, "-F", "facts", "path(1, x").code == 2


def test_a_bad_query_is_pointed_at(reach: Path) -> None:
    result = holdfast("query", reach, "-F", "facts", "paht(1, x)")
    assert result.code == 2
    assert "paht" in result.err
    assert "path" in result.err


def test_figures_name_what_the_checker_made_by_what_it_holds() -> None:
    Path("p.dl").write_text(
        "e(1, 2).\nn(x, count(y)) :- e(x, y), x < y.\nlast(y) :- e(_, y), !e(y, _).\n", encoding="utf-8"
    )
    holdfast("run", "p.dl", "--stats", "figures.json")
    nodes = json.loads(Path("figures.json").read_text(encoding="utf-8"))["nodes"]
    names = sorted(name for node in nodes for name in node["predicates"])
    assert names == ["e", "e(x, _)", "last", "n", "n.body1", "n.count1"]


def test_limits_hold_for_the_query_too() -> None:
    Path("n.dl").write_text("n(x) :- x = range(0, 1000).\n", encoding="utf-8")
    result = holdfast("query", "n.dl", "n(x), n(y)", "--limit-facts", "50000")
    assert (result.code, result.out) == (3, "")
    assert "E0802" in result.err


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-", "-F", "facts", "--json"),
        ("query", "-", "path(1, x)", "-F", "facts"),
        ("check", "-"),
        ("graph", "-"),
        ("plan", "-"),
    ],
)
def test_a_program_on_standard_input(reach: Path, words: tuple[str, ...]) -> None:
    text = reach.read_text(encoding="utf-8")
    reach.unlink()
    result = holdfast(*words, stdin=text)
    assert (result.code, result.out != "") == (0, True)
    wrong = holdfast(*words, stdin="p(x :- q(x).")
    assert wrong.code == 2 and "<stdin>" in wrong.err + wrong.out


def test_program_and_updates_cannot_both_be_on_standard_input() -> None:
    result = holdfast("stream", "-", "--updates", "-", stdin="p(1).")
    assert result.code == 2 and "cannot both be on standard input" in result.err


def test_no_names_of_the_checker_are_shown(reach: Path) -> None:
    reach.write_text(
        "p(x) :- e(x), e(x + 1), !f(x * 2, abs(x)), 0 = count : { e(max(x, 1)) }.\n"
        "h(x, sum(y * 2)) :- f(x, y).\nz(y) :- e(x), y = range(0, x), e(range(0, x)).\n",
        encoding="utf-8",
    )
    for words in (("graph", reach), ("plan", reach), ("graph", reach, "--format", "dot"), ("plan", reach, "--json")):
        out = holdfast(*words).out
        assert len(out) > 100 and "$" not in out


def test_output_in_a_format_that_there_is_not(reach: Path) -> None:
    reach.write_text('@prefix ex: <http://e/> .\nex:p(ex:a, ex:b).\n.output ex:p(filename="p.xml")\n', encoding="utf-8")
    assert holdfast("run", reach, "-D", "out").code == 0
    assert "<rdf:RDF" in Path("out/p.xml").read_text(encoding="utf-8")
    endless = 'p(1).\np(x + 1) :- p(x).\n.output p(filename="p.json.gz")\n'
    reach.write_text(endless, encoding="utf-8")
    result = holdfast("run", reach, "-D", "out", "--limit-rounds", "9")  # refused before anything is computed
    assert result.code == 2 and "error[E0618]: p.json.gz cannot be written" in result.err
