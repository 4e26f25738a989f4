"""`holdfast bench compare`: what is slower, what is not, and files that are not what they should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import holdfast

STEADY, NOISY, FEW = (1.0, 1.02, 0.99), (0.5, 1.0, 3.0), (1.0,)


def figure(runs: tuple[float, ...], variant: str = "", **more: Any) -> dict[str, Any]:
    return {"system": "holdfast", "variant": variant, "unit": "s", "runs": list(runs), "failure": "", **more}


def written(path: Path, *figures: dict[str, Any], size: str = "small", **machine: Any) -> Path:
    table = {"key": "evaluation", "rows": [{"name": "chain", "figures": list(figures)}]}
    reported = {"format": 1, "size": size, "machine": {"commit": path.stem, **machine}, "tables": [table]}
    path.write_text(json.dumps(reported))
    return path


@pytest.mark.parametrize(
    ("before", "after", "unit", "code"),
    [
        (STEADY, (1.3, 1.31, 1.32), "s", 1),  # slower
        (STEADY, (1.05, 1.06, 1.07), "s", 0),  # within the threshold
        (NOISY, (1.5, 1.6, 1.7), "s", 0),  # within the spread
        ((1.0, 1.0, 1.0, 1.1, 9.0), (1.5, 1.5, 1.6, 1.6, 0.1), "s", 1),  # of many runs the middle half counts
        (FEW, (2.0,), "s", 1),
        (STEADY, (0.5, 0.5, 0.5), "s", 0),  # quicker
        (STEADY, (0.5, 0.5, 0.5), "rows/s", 1),  # a rate
        (STEADY, (), "s", 1),  # no longer comes to an end
        ((), STEADY, "s", 2),  # nothing to compare with
    ],
)
def test_what_is_slower(
    before: tuple[float, ...], after: tuple[float, ...], unit: str, code: int, tmp_path: Path
) -> None:
    a = written(tmp_path / "a.json", figure(before, unit=unit))
    b = written(tmp_path / "b.json", figure(after, unit=unit, failure="" if after else "over 9 s"))
    assert holdfast("bench", "compare", a, b).code == code


def test_text_and_json(tmp_path: Path) -> None:
    a = written(
        tmp_path / "a.json",
        figure(STEADY, "x"),
        figure(STEADY, "y"),
        figure(STEADY, "gone"),
        figure(STEADY, system="duckdb"),
    )
    b = written(
        tmp_path / "b.json",
        figure((2.0, 2.0, 2.0), "x"),
        figure((0.5, 0.5, 0.5), "y"),
        figure((3.0, 3.0, 3.0), system="duckdb"),
    )
    shown = holdfast("bench", "compare", a, b)
    assert "2 slower, 1 quicker, 0 the same" in shown.out
    assert "1 s (0.99–1.02)" in shown.out
    reported = holdfast("bench", "compare", a, b, "--json", "--system", "holdfast").json
    assert [(one["variant"], one["times"]) for one in reported["slower"]] == [("x", 2.0)]
    assert [one["variant"] for one in reported["quicker"]] == ["y"]
    assert (reported["ok"], reported["missing"], reported["before"], reported["after"]) == (False, 1, "a", "b")
    assert holdfast("bench", "compare", a, b, "--threshold", "4").code == 0


def test_different_machines_are_reported(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", figure(STEADY), cores=2, processor="AMD EPYC", memory=2**33)
    b = written(tmp_path / "b.json", figure(STEADY), figure(STEADY, "new"), cores=8, processor="AMD EPYC")
    shown = holdfast("bench", "compare", a, b).out
    assert "is of 2 cores, AMD EPYC, 8 GiB, " in shown
    assert "of 8 cores, AMD EPYC; times differ by that alone" in shown
    assert "1 only in" in shown
    assert "different machines" not in holdfast("bench", "compare", a, a).out


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("{", "E1201", "is not JSON"),
        ("[]", "E1203", "the file is not an object"),
        ("{}", "E1201", "is not a result"),
        ('{"format": 7, "tables": []}', "E1202", "has the format 7"),
        ('{"format": 1, "tables": [], "machine": {"commit": "x"}}', "E1203", "size is not a text"),
        ('{"format": 1, "tables": [{"key": "k"}], "machine": {}}', "E1203", "tables[0].rows is not a list"),
        (None, "E0011", "cannot read"),
    ],
)
def test_files_that_are_not_what_they_should_be(text: str | None, code: str, word: str, tmp_path: Path) -> None:
    good, bad = written(tmp_path / "good.json", figure(STEADY)), tmp_path / "bad.json"
    if text is not None:
        bad.write_text(text)
    result = holdfast("bench", "compare", good, bad)
    assert result.code == 2
    assert f"error[{code}]" in result.err
    assert word in result.err


@pytest.mark.parametrize("runs", [["quick"], [-1.0], [True], "often"])
def test_runs_are_times(runs: Any, tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.json", {**figure(STEADY), "runs": runs})
    assert "error[E1203]" in holdfast("bench", "compare", bad, bad).err


def test_a_figure_is_there_once(tmp_path: Path) -> None:
    twice = written(tmp_path / "twice.json", figure(STEADY), figure(STEADY))
    assert "occurs twice" in holdfast("bench", "compare", twice, twice).err


def test_what_is_not_compared(tmp_path: Path) -> None:
    small = written(tmp_path / "small.json", figure(STEADY))
    large = written(tmp_path / "large.json", figure(STEADY), size="max")
    assert "error[E1204]" in holdfast("bench", "compare", small, large).err
    assert "error[E1205]" in holdfast("bench", "compare", small, small, "--system", "nobody").err
    assert "error[E1206]" in holdfast("bench", "compare", small, small, "--threshold", "nan").err
