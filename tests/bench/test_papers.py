"""The papers' tables, in size small: each job hands in what it promised, and a wrong result is no figure.

What these tests cannot see: whether the times are fair, and how long size paper takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

import holdfast
from bench import plain
from bench.papers import TABLES, kept, marking, modular, study, subjects, uobm, zodiacedge
from bench.papers.measuring import DATA, Answer, Run, WrongStateError, arrow, fingerprint
from bench.papers.study import Job, Place, Study
from bench.processes import Limits
from bench.tables import Figure
from bench.workloads import SIZES, Workload

LIMITS = Limits(60, 8 * 2**30)
STUDIES = cast("Mapping[str, Study]", TABLES)
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="there is no ../shared/data")
QUICK = (
    "optimised-maintenance-table-1",
    "modular-materialisation-table-2",
    "closures-cliques",
    pytest.param("zodiacedge-table-2", marks=needs_data),
    pytest.param("zodiacedge-figure-10", marks=needs_data),
)


def once() -> Run:
    return Run("small", runs=1, patience=600)


@pytest.mark.parametrize("key", QUICK)
def test_a_job_hands_in_what_it_promised(key: str) -> None:
    for job in [job for job in STUDIES[key].jobs("small") if "Claros-LE" not in job.case and not job.missing][:1]:
        found = dict(import_module(f"bench.papers.{job.module}").measure(job.case, once()))
        assert job.places.keys() <= found.keys()
        assert all(answer.runs and answer.checked for answer in found.values())


@needs_data
def test_streams_have_the_papers_work() -> None:
    """What does not depend on the order in which facts are checked is what the paper counts."""
    found = dict(marking.row("p_seq", 10, 1, (1, 2, 3)))
    for way in ("B/F (old)", "B/F with marks (new)"):
        counts = found[f"10 {way}"].counts
        theirs = {name.removesuffix(" (paper)"): value for name, value in counts.items() if name.endswith(" (paper)")}
        assert theirs.keys() >= {"deletion", "backward", "forward", "insertion"}
        assert {name: counts[name] for name in theirs} == pytest.approx(theirs, abs=0.5)  # theirs are rounded
    assert {"marks explicit", "marks implicit"} <= theirs.keys()
    assert counts["marks saved"] == theirs["marks implicit"]


def test_every_table_has_jobs_in_each_size_and_each_figure_its_place() -> None:
    for key, table in STUDIES.items():
        assert table.key == key
        for size in SIZES:
            places = [(place.row, place.figure.variant) for job in table.jobs(size) for place in job.places.values()]
            assert places
            assert len(set(places)) == len(places), key


def test_a_wrong_state_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modular, "reachable", lambda edges: 7)
    with pytest.raises(WrongStateError, match=r"WRONG after evaluation: 1191 instead of 7"):
        list(modular.measure(("DAG-R", "modules"), once()))
    state = subjects.Subject.state
    monkeypatch.setattr(subjects.Subject, "state", lambda self, *given: (0, 0) if given else state(self))
    with pytest.raises(WrongStateError, match=r"WRONG after deleting 20 facts with dred: .* instead of \(0, 0\)"):
        list(import_module("bench.papers.deletions").measure(("SSPE", "DRed"), once()))


def _study(*jobs: Job) -> Study:
    return Study("k", "", "title", "all", lambda size: jobs)


def test_processes_that_fail_are_figures_that_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(name: str) -> dict[str, Place]:
        return {name: Place(name, Figure("holdfast", paper=3.0))}

    absent = Job("modular", ("DAG-R", "modules"), place("absent"), missing="no data")
    wrong = Job("modular", ("nothing", "modules"), place("wrong"))
    late = Job("closures", ("cliques", "modules"), place("late"), seconds=0.2)
    rows = {row.name: row.figures[0] for row in _study(absent, wrong, late)("small", 1, LIMITS, print).rows}
    assert rows["absent"].failure == "no data"
    assert rows["wrong"].failure.startswith("failed: KeyError")
    assert rows["late"].failure == "over 0.2 s"
    assert rows["late"].paper is None  # in size small there is nothing to compare


def test_what_was_handed_in_before_a_limit_counts_and_before_an_error_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(module: str, arguments: list[str], limits: Limits) -> object:
        Path(arguments[1]).write_text('["a", {"runs": [1.5], "checked": "c", "counts": {}}]\n', encoding="utf-8")
        return failure

    monkeypatch.setattr(study, "last_line", stopped)
    job = Job("modular", ("x",), {name: Place(name, Figure("holdfast")) for name in "ab"})
    for number, failure in enumerate((study.Failure("over 1 s", late=True), study.Failure("failed: WRONG"))):
        table = _study(replace(job, case=(str(number),)))("paper", 1, LIMITS, print)
        a, b = (row.figures[0] for row in table.rows)
        assert (a.runs, a.failure) == (((1.5,), "") if failure.late else ((), failure.reason))
        assert b.failure == failure.reason


def test_facts_are_parted_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "folder", tmp_path)
    subject = subjects.Subject("s", "", kept.tables("key", lambda: {"p": [(n,) for n in range(9)], "q": [(1, 2)]}))
    again = kept.tables("key", dict)
    assert again["p"].equals(subject.facts["p"])
    gone, rest = subject.parted(4, seed=1)
    assert sum(map(len, gone.values())) == 4
    for name, table in subject.facts.items():
        both = [*gone.get(name, table.slice(0, 0)).to_pylist(), *rest[name].to_pylist()]
        assert sorted(map(str, both)) == sorted(map(str, table.to_pylist()))
    assert kept.state("x", lambda: (1, 2)) == kept.state("x", lambda: (3, 4)) == (1, 2)


def test_paths_by_bit_sets_are_those_of_the_plain_check() -> None:
    edges = subjects.subject("DAG-R", "small").facts["edge"]
    pairs = list(zip(*(column.to_pylist() for column in edges.columns), strict=True))
    program = "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z).\n"
    workload = Workload("dag", "", program, {}, 0, ("path",))
    assert modular.reachable(pairs) == plain.count(workload, {"edge": pairs}) == 1191


def test_universities_with_more_links_by_the_plain_check() -> None:
    facts = {name: rows[:60] for name, rows in uobm.facts(1, (1, 1)).items()}
    workload = Workload("uobm", "", uobm.program(), {}, 0)
    kb = holdfast.from_text(uobm.program(), facts=facts)
    assert sum(kb.sizes()[name] for name in workload.arities) == plain.count(workload, facts)


def test_fingerprints_tell_facts_not_their_order() -> None:
    def of(*rows: tuple[object, object], name: str = "p") -> tuple[int, int]:
        columns = zip(*rows, strict=True)
        table = pa.table(dict(zip("ab", map(list, columns), strict=True)))
        return fingerprint(holdfast.from_text(f"q(x) :- {name}(x, x).", facts={name: table}))

    assert of((1, 2), (3, 4)) == of((3, 4), (1, 2))
    assert of(("a", "b"), ("c", "d")) == of(("c", "d"), ("a", "b"))
    different = [
        of((1, 2), (3, 4)),
        of((1, 4), (3, 2)),
        of((2, 1), (4, 3)),
        of((1, 2)),
        of((1, 2), name="r"),
        of(("a", "b"), ("c", "d")),
        of(("a", "d"), ("c", "b")),
    ]
    assert len(set(different)) == len(different)
    assert Answer.read({"runs": [1.0], "checked": "c", "counts": {}}) == Answer((1.0,), "c")
    assert len(arrow([(1, 2)])) == 1


@needs_data
def test_declarations_keep_relations_without_rules() -> None:
    rules = zodiacedge.rules_of("rs3")
    text = zodiacedge.program_of(rules, range(1, 19))
    assert ":-" not in text
    assert holdfast.from_text(text).sizes().keys() == holdfast.from_text(zodiacedge.program_of(rules)).sizes().keys()
