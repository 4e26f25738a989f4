"""The main programs of whole code bases that people use, put together as their own drivers do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.language.preprocessor import Preprocessing
from tests.suites.shared_data import DATA

PROGRAMS = DATA / "ext" / "programs"
DOOP = PROGRAMS / "doop-mirror" / "souffle-logic"
CCLYZER = PROGRAMS / "cclyzerpp" / "datalog"
SECURIFY = PROGRAMS / "securify2" / "securify" / "staticanalysis"
NEEDS_A_FILE = {"cclyzerpp/datalog/statistics.project"}  # it includes master.project, which the code base does not have
ORDER_DEPENDENT = {"subset-and-unification", "unification", "debug"}  # choice-domain and subsumption: refused by name
STATISTICS = "addons/statistics/statistics-simple.dl"
PYTHON_FACTS = ("schema", "import-entities", "import-facts", "post-process")


@dataclass(frozen=True)
class WholeProgram:
    """A main program: its text, where it stands, and what its driver defines."""

    id: str
    text: str
    name: str
    given: Preprocessing


def whole_programs(folder: Path | None = None) -> list[WholeProgram]:
    """All of them; `folder` takes the one file that a code base generates, without which its programs are not read."""
    return [
        *_doop(),
        *_python_doop(),
        *_securify(),
        *_cclyzer(folder),
        _file("vandal", PROGRAMS / "vandal/datalog/demo_analyses.dl"),
    ]


def _file(id: str, path: Path, given: Preprocessing | None = None) -> WholeProgram:
    return WholeProgram(id, path.read_text(encoding="utf-8"), path.as_posix(), given or Preprocessing())


def _securify() -> list[WholeProgram]:
    analysis = _file("securify", SECURIFY / "souffle_analysis" / "analysis.dl")
    patterns = SECURIFY / "souffle_analysis" / "patterns"
    unused = f'{analysis.text}\n#include "{patterns.as_posix()}/dos-gas-limit.dl"\n'  # no main program includes it
    tests = [_file(f"securify-{path.stem}", path) for path in sorted((SECURIFY / "libfunctors").glob("functor-*.dl"))]
    return [analysis, WholeProgram("securify-dos", unused, analysis.name, analysis.given), *tests]


def _doop() -> list[WholeProgram]:
    """Doop's driver preprocesses facts, the basic analysis, an analysis and, if asked, statistics."""
    facts = [DOOP / "facts/facts.dl", DOOP / "basic/basic.dl"]
    paths = sorted((DOOP / "analyses").glob("*/analysis.dl"))
    return [_analysis(f"doop-{path.parent.name}", facts, path, DOOP) for path in paths]


def _python_doop() -> list[WholeProgram]:
    root = DOOP / "python"
    facts = [root / "facts" / f"{name}.dl" for name in PYTHON_FACTS]
    paths = sorted((root / "analyses").glob("*/analysis.dl"))
    return [_analysis(f"python-{path.parent.name}", facts, path, root) for path in paths]


def _analysis(id: str, facts: list[Path], path: Path, root: Path) -> WholeProgram:
    parts = [*facts, path, *([root / STATISTICS] if id.endswith("-context-insensitive") else [])]
    found = re.search(r"\.comp (\w+Configuration)", path.read_text(encoding="utf-8"))
    macros = {"CONFIGURATION": found[1] if found else "TwoObjectSensitivePlusHeapConfiguration", "X_STATS_DEFAULT": "1"}
    if path.parent.name in ("dependency-analysis", "sound-may-point-to"):
        macros["CFG_ANALYSIS"] = "1"
    text = "".join(f'#include "{part.as_posix()}"\n' for part in parts)
    return WholeProgram(id, text, (root / "main.dl").as_posix(), Preprocessing(macros))


def _cclyzer(folder: Path | None) -> list[WholeProgram]:
    """Its facts generator keeps a list of input relations, which is not here: an empty one stands for it."""
    place = folder or Path("nowhere")
    if folder is not None:
        (folder / "FactGenerator" / "include").mkdir(parents=True, exist_ok=True)
        (folder / "FactGenerator" / "include" / "predicates.inc").write_text("")
        (folder / "a" / "b").mkdir(parents=True, exist_ok=True)
    given = Preprocessing(folders=(place / "a" / "b",))
    names = ("subset", *sorted(ORDER_DEPENDENT))
    return [_file(f"cclyzer-{name}", CCLYZER / f"{name}.project", given) for name in names]
