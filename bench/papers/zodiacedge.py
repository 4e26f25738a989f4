"""The evaluation of ZodiacEdge, Figures 6 to 10 and Tables 2 and 3: rules and facts that go and come, and memory.

The paper prints numbers in its tables only; of its figures we have what the text says of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import holdfast
from bench.papers.measuring import (
    DATA,
    FROM_SCRATCH,
    Answer,
    Run,
    Taken,
    answer,
    check,
    evaluation,
    fingerprint,
    from_scratch,
    timed,
)
from bench.papers.study import Job, Place, Study
from bench.tables import Figure
from bench.workloads import Size
from holdfast import Choice, KnowledgeBase, Update

PAPER = "zodiacedge"
FOLDER = DATA / "zodiacedge"
STRATEGIES = ("counters", "hyper-node")
ALL = "every single rule"
# Figures 7 and 8: what the text names, and every rule by itself
CHANGES: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "r10, r15, r17": ((10, 15, 17),),
    "r10, r15, r18": ((10, 15, 18),),
    "r3": ((3,),),
    "r4": ((4,),),
    "r18": ((18,),),
    ALL: tuple((number,) for number in range(1, 19)),
}
# Tables 2 and 3, and what they say of from-scratch and incremental
NEGATION: Mapping[str, tuple[int, Mapping[str, tuple[float, float]]]] = {
    "r6": (6, {"added": (24.134, 0.2789), "removed": (24.7, 7.304)}),
    "r10_new": (10, {"added": (24.134, 2.335), "removed": (23.347, 6.073)}),
}
WIDTHS: Mapping[str, tuple[int, ...]] = {"small": (50,), "paper": (50, 100, 150, 200), "max": (50, 100, 150, 200)}
TURBINES: Mapping[str, tuple[int, ...]] = {
    "small": (50, 100),
    "paper": tuple(range(50, 401, 50)),
    "max": tuple(range(50, 401, 50)),
}
SHARES: Mapping[str, tuple[int, ...]] = {"small": (10,), "paper": (10, 20, 30, 40, 50), "max": (10, 20, 30, 40, 50)}
OPERATIONS = (
    "materialisation",
    "one fact inserted",
    "one fact deleted",
    "the symmetric rule removed",
    "the transitive rule removed",
)
_SECONDS = 180.0
_EXPECTED = "the number of derived facts, against the expected one"
_TEXT = (FOLDER / "rules").is_dir()


def _job(case: tuple[str, ...], places: Mapping[str, Place]) -> Job:
    return Job("zodiacedge", case, places, _SECONDS, missing="" if _TEXT else "there is no ../shared/data/zodiacedge")


def memory(size: Size) -> list[Job]:
    """Figure 6."""
    return [
        _job(
            ("memory",),
            {
                str(width): Place(
                    f"{width} edges in each of four chains",
                    Figure("holdfast", unit="MiB"),
                    at=_derived(f"rs2/w{width}"),
                )
                for width in WIDTHS[size]
            },
        )
    ]


def rule_changes(direction: str, size: Size) -> list[Job]:
    """Figures 7 and 8: both from the same process."""
    return [
        _job(
            ("rules",),
            {
                f"{direction} {strategy} {what}": Place(f"{what} {direction}", Figure("holdfast", strategy))
                for what in CHANGES
                for strategy in (*STRATEGIES, "from scratch")
            },
        )
    ]


def negation(direction: str, size: Size) -> list[Job]:
    """Tables 2 and 3."""
    places = {}
    for what, (_, theirs) in NEGATION.items():
        for variant in (*STRATEGIES, "from scratch"):
            paper = theirs[direction][0 if variant == "from scratch" else 1]
            places[f"{direction} {variant} {what}"] = Place(
                f"{what} {direction}", Figure("holdfast", variant, paper=paper)
            )
    return [_job(("negation",), places)]


def operations(size: Size) -> list[Job]:
    """Figure 9."""
    return [
        _job(
            ("operations",),
            {
                f"{number} {kind}": Place(f"{number} turbines", Figure("holdfast", kind), at=number)
                for number in TURBINES[size]
                for kind in OPERATIONS
            },
        )
    ]


def growth(size: Size) -> list[Job]:
    """Figure 10."""
    return [
        _job(
            ("growth",),
            {
                f"{share} {kind}": Place(f"{share} % more turbines", Figure("holdfast", kind), at=share)
                for share in SHARES[size]
                for kind in ("inserted", "deleted", "from scratch")
            },
        )
    ]


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """What a process does; first on few facts, and nobody looks: everything is loaded then."""
    width = WIDTHS[told.size][-1]
    match case:
        case ["memory"]:
            yield from _memory(told)
        case ["rules"]:
            tuple(_changes("rs2", 50, CHANGES, Run("small", 1, told.patience)))
            yield from _changes("rs2", width, CHANGES, told)
        case ["negation"]:
            some = {what: ((number,),) for what, (number, _) in NEGATION.items()}
            tuple(_changes("rs3", 50, some, Run("small", 1, told.patience)))
            yield from _changes("rs3", width, some, told)
        case ["operations"]:
            tuple(_operations(50, told))
            for number in TURBINES[told.size]:
                yield from _operations(number, told)
        case ["growth"]:
            tuple(_growth(10, Run("small", 1, told.patience)))
            for share in SHARES[told.size]:
                yield from _growth(share, told)


# --- the data ------------------------------------------------------------------------------------------


@cache
def rules_of(rule_set: str) -> tuple[str, ...]:
    """The rules, each on a line of its own."""
    lines = (FOLDER / "rules" / f"{rule_set}.dl").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("%"))


@cache
def facts_of(data_set: str) -> dict[str, list[tuple[Any, ...]]]:
    """The facts; only temperatures are numbers.  No rule reads p4."""
    return {file.stem: _rows(file) for file in sorted((FOLDER / data_set).glob("*.tsv")) if file.stem != "p4"}


def _rows(file: Path) -> list[tuple[Any, ...]]:
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [tuple(int(word) if word.isdigit() else word for word in row) for row in rows]


def _derived(case: str) -> int:
    """How many facts must be derived; 0 where nobody says."""
    file = FOLDER / "expected_sizes.json"
    sizes = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return int(sizes.get(case, {}).get("idb_total", 0))


def _checked(kb: KnowledgeBase, case: str) -> None:
    """The number of derived facts against the expected one: relations that rules derive, given facts included."""
    rule_set = case.split("/")[0]
    heads = {rule.partition("(")[0] for rule in rules_of(rule_set)}
    check(sum(kb.sizes()[name] for name in heads), _derived(case), f"evaluating {case}")


# --- rules ---------------------------------------------------------------------------------------------


def program_of(rules: Sequence[str], without: Sequence[int] = ()) -> str:
    """The rules, but for some; declarations keep relations and their types when rules go."""
    names = sorted({atom.split()[-1].lstrip("(") for rule in rules for atom in rule.replace(",", " ").split("(")[:-1]})
    declared = [f".decl {name}(x: symbol, y: symbol)" for name in names]
    return "\n".join([*declared, *(rule for number, rule in enumerate(rules, 1) if number not in without)]) + "\n"


def _changes(
    rule_set: str, width: int, changes: Mapping[str, Sequence[Sequence[int]]], told: Run
) -> Iterator[tuple[str, Answer]]:
    """Some rules out and in again, by each strategy, beside evaluation with and without them."""
    rules, facts = rules_of(rule_set), facts_of(f"ds2/w{width}")
    kb = holdfast.from_text(program_of(rules), facts=facts)
    _checked(kb, f"{rule_set}/w{width}")
    for what, several in changes.items():
        scratch: dict[str, list[float]] = {"removed": [], "added": []}
        taken: dict[tuple[str, str], list[Taken]] = {}
        for numbers in several:
            some = [rules[number - 1] for number in numbers]
            for _ in range(told.runs):
                whole, without = (from_scratch(program_of(rules, left), facts) for left in ((), numbers))
                scratch["removed"].append(without[0])
                scratch["added"].append(whole[0])
                for strategy in STRATEGIES:
                    for direction, update, right in (
                        ("removed", Update(remove_rules=some), without[1]),
                        ("added", Update(add_rules=some), whole[1]),
                    ):
                        taken.setdefault((direction, strategy), []).append(timed(kb, update, Choice(strategy=strategy)))
                        check(fingerprint(kb), right, f"{what} {direction} by {strategy}")
        for (direction, strategy), found in taken.items():
            yield f"{direction} {strategy} {what}", answer(found)
        for direction, seconds in scratch.items():
            yield f"{direction} from scratch {what}", Answer(tuple(seconds), FROM_SCRATCH)


# --- facts and memory ----------------------------------------------------------------------------------


def _memory(told: Run) -> Iterator[tuple[str, Answer]]:
    for width in WIDTHS[told.size]:
        kb = holdfast.from_text(program_of(rules_of("rs2")), facts=facts_of(f"ds2/w{width}"))
        _checked(kb, f"rs2/w{width}")
        facts = kb.statistics.facts + kb.statistics.derived
        yield (
            str(width),
            Answer(
                (kb.statistics.memory / 2**20,),
                _EXPECTED,
                {"facts": facts, "bytes per fact": kb.statistics.memory / facts},
            ),
        )


def _operations(number: int, told: Run) -> Iterator[tuple[str, Answer]]:
    """Figure 9: everything, then a fact at the chain's end in and out, then each of the first two rules out and in."""
    rules, facts = rules_of("rs1"), facts_of(f"ds1/n{number}")
    program = "\n".join(rules)
    seconds, scratch = list[float](), partial(from_scratch, facts=facts)
    for _ in range(told.runs):
        kb = holdfast.from_text(program, facts=facts)
        seconds.append(evaluation(kb))
    _checked(kb, f"rs1/n{number}")
    yield f"{number} materialisation", Answer(tuple(seconds), _EXPECTED)
    whole, extra = fingerprint(kb), {"hasNeighbour": [(f"windTurbine{number}", f"windTurbine{number + 1}")]}
    longer = from_scratch(program, {**facts, "hasNeighbour": facts["hasNeighbour"] + extra["hasNeighbour"]})[1]
    symmetric, transitive = (scratch("\n".join(rule for rule in rules if rule != gone))[1] for gone in rules[:2])
    for kind, there, back, right in (
        ("one fact inserted", Update(insert=extra), Update(delete=extra), longer),
        ("the symmetric rule removed", Update(remove_rules=[rules[0]]), Update(add_rules=[rules[0]]), symmetric),
        ("the transitive rule removed", Update(remove_rules=[rules[1]]), Update(add_rules=[rules[1]]), transitive),
    ):
        forth, again = list[Taken](), list[Taken]()
        for _ in range(told.runs):
            forth.append(timed(kb, there))
            check(fingerprint(kb), right, kind)
            again.append(timed(kb, back))
            check(fingerprint(kb), whole, f"{kind} and back")
        yield f"{number} {kind}", answer(forth)
        if kind == "one fact inserted":
            yield f"{number} one fact deleted", answer(again)


def _growth(share: int, told: Run) -> Iterator[tuple[str, Answer]]:
    """Figure 10: a tenth to a half more turbines come to 200, and go."""
    program, facts = "\n".join(rules_of("rs1")), facts_of("ds1/n200")
    extra = facts_of(f"ds1/extra_n200_plus{share}pct")
    kb = holdfast.from_text(program, facts=facts)
    whole, inserted, deleted, scratch = fingerprint(kb), list[Taken](), list[Taken](), list[float]()
    more = {name: [*rows, *extra.get(name, ())] for name, rows in facts.items()}
    for _ in range(told.runs):
        seconds, right = from_scratch(program, more)
        scratch.append(seconds)
        inserted.append(timed(kb, Update(insert=extra)))
        check(fingerprint(kb), right, f"inserting {share} %")
        deleted.append(timed(kb, Update(delete=extra)))
        check(fingerprint(kb), whole, f"deleting {share} %")
    yield f"{share} inserted", answer(inserted)
    yield f"{share} deleted", answer(deleted, "all facts by number and hash, against those before the insertion")
    yield f"{share} from scratch", Answer(tuple(scratch), FROM_SCRATCH)


_APPLY = (
    "All of `apply`, checking the changed program included. From scratch, and materialisation: evaluation only, "
    "without reading and storing facts and without checking the program."
)
_STRATEGIES = (
    "counters: derivations of the rules that go are taken off the counters; hyper-node: as ZodiacEdge does "
    "it, what depends on them is redone from scratch."
)
_OTHERS = (
    "No other system is measured here: none of them changes its rules, and not all of them have negation "
    "and aggregates."
)
_TEXT_ONLY = "The paper shows these in a plot, without numbers."
TABLES = (
    Study(
        "zodiacedge-figure-6",
        PAPER,
        "Figure 6: memory of the facts, RS2",
        "Facts, counters and indexes.",
        memory,
        axis="derived facts",
        notes=(_TEXT_ONLY,),
    ),
    Study(
        "zodiacedge-figure-7",
        PAPER,
        "Figure 7: rules inserted, RS2",
        _APPLY,
        partial(rule_changes, "added"),
        notes=(_STRATEGIES, "The paper: 3 to 375 times as fast as from scratch, but slower for r3; 5 times for r4."),
    ),
    Study(
        "zodiacedge-figure-8",
        PAPER,
        "Figure 8: rules deleted, RS2",
        _APPLY,
        partial(rule_changes, "removed"),
        notes=(_STRATEGIES, "The paper: 3 to some 1,000 times as fast as from scratch."),
    ),
    Study(
        "zodiacedge-table-2",
        PAPER,
        "Table 2: rules inserted, RS3 (negation)",
        _APPLY,
        partial(negation, "added"),
        notes=(_STRATEGIES, _OTHERS),
    ),
    Study(
        "zodiacedge-table-3",
        PAPER,
        "Table 3: rules deleted, RS3 (negation)",
        _APPLY,
        partial(negation, "removed"),
        notes=(_STRATEGIES, _OTHERS),
    ),
    Study(
        "zodiacedge-figure-9",
        PAPER,
        "Figure 9: symmetric-transitive reasoning, RS1",
        _APPLY,
        operations,
        axis="wind turbines",
        logarithmic=(False, True),
        notes=(_TEXT_ONLY,),
    ),
    Study(
        "zodiacedge-figure-10",
        PAPER,
        "Figure 10: turbines inserted and deleted, RS1 on 200",
        _APPLY,
        growth,
        axis="% more turbines",
        notes=(_TEXT_ONLY,),
    ),
)
