"""What `make demo` runs: which thermometers of a wind farm are broken?

Materialises the rules beside this file, shows what was derived, asks a question, changes a reading and the rules, and
holds every number against a computation in plain Python that knows nothing of rules.
"""

from __future__ import annotations

import time
from itertools import groupby
from pathlib import Path
from statistics import median

import generate

import holdfast

HERE = Path(__file__).parent


def main() -> None:
    """The whole demonstration, top to bottom."""
    print("\nA turbine reports 31 degrees.  Heat wave, or broken thermometer?  Its neighbours know.\n")
    kb = materialise()
    show_derived(kb)
    show_anomalies(kb)
    ask(kb, 'neighbour("north_12", x), temperature(x, t), t > 11.5')
    compare(kb)
    change(kb)
    print("Why rules?  Neither the farms nor the comparison were programmed: eight rules say what a neighbour and an")
    print("anomaly are.  Read them in examples/windfarm/windfarm.dl, change one, and run again:\n")
    print("  .venv/bin/holdfast run examples/windfarm/windfarm.dl -F examples/windfarm/facts")
    print("  .venv/bin/holdfast graph examples/windfarm/windfarm.dl\n")


def materialise() -> holdfast.KnowledgeBase:
    """Read the facts and derive everything."""
    print("Deriving (the first run on a machine compiles the kernels, some ten seconds) …")
    start = time.perf_counter()
    kb = holdfast.open(HERE / "windfarm.dl", facts=HERE / "facts")
    seconds = time.perf_counter() - start
    print(f"  {kb.statistics.facts:,} facts in, {kb.statistics.derived:,} derived, in {seconds:.2f} s\n")
    return kb


def show_derived(kb: holdfast.KnowledgeBase) -> None:
    """The relations and their sizes."""
    for name, relation in kb.relations.items():
        print(f"  {name:<16} {len(relation):>6,}")
    print()


def show_anomalies(kb: holdfast.KnowledgeBase) -> None:
    """What the operator wants to know."""
    for turbine, celsius, nearby in kb["sensor_anomaly"].sorted_rows():
        print(f"  {turbine} reads {celsius:5.1f} °C, its farm {nearby:5.1f} °C: send somebody")
    silent = ", ".join(str(turbine) for (turbine,) in kb["silent"].sorted_rows())
    print(f"  silent: {silent}\n")


def ask(kb: holdfast.KnowledgeBase, question: str) -> None:
    """A question that no rule was written for."""
    answer = kb.query(question)
    print(f"Query: {question}")
    print(f"  {len(answer)} answers, for example {next(iter(answer.sorted_rows()))}\n")


def anomalies_of(temperature: dict[str, float]) -> set[tuple[str, float, float]]:
    """The anomalies, without rules: turbine, its reading, the median of the others of its farm."""
    found = set()
    for farm in farms():
        for turbine in farm:
            others = [temperature[other] for other in farm if other != turbine and other in temperature]
            if turbine in temperature and len(others) >= 3 and abs(temperature[turbine] - median(others)) > 5:
                found.add((turbine, temperature[turbine], median(others)))
    return found


def farms() -> list[list[str]]:
    """The turbines of each farm."""
    names = sorted({name for pair in generate.next_to() for name in pair})
    return [list(farm) for _, farm in groupby(names, key=lambda name: name.split("_")[0])]


def compare(kb: holdfast.KnowledgeBase) -> None:
    """Compute the same without rules; any difference stops the demo."""
    anomalies = anomalies_of(dict(generate.temperatures()))
    pairs = sum(len(farm) * (len(farm) - 1) for farm in farms())
    assert len(kb["neighbour"]) == pairs, (len(kb["neighbour"]), pairs)
    assert set(kb["sensor_anomaly"]) == anomalies, anomalies
    assert {turbine for (turbine,) in kb["silent"]} == set(generate.SILENT)
    print(f"Checked against plain Python: {pairs:,} neighbours, {len(anomalies)} anomalies, "
          f"{len(generate.SILENT)} silent turbines.\n")


def change(kb: holdfast.KnowledgeBase) -> None:
    """Facts and rules change; what follows is brought up to date, not computed again."""
    before = dict(generate.temperatures())
    after = {**before, "north_07": 11.3, "ridge_03": 6.1}
    print("Updates: somebody mends north_07, and ridge_03 reports again.")
    show_change(kb, holdfast.Update(delete={"temperature": [("north_07", before["north_07"])]},
                                    insert={"temperature": [("north_07", 11.3), ("ridge_03", 6.1)]}))
    assert set(kb["sensor_anomaly"]) == anomalies_of(after)
    rule = "warm(x, t) :- temperature(x, t), t > 15.0, !sensor_anomaly(x, _, _)."
    print(f"A rule comes:  {rule}")
    show_change(kb, holdfast.Update(add_rules=[f".decl warm(turbine: symbol, celsius: float)\n{rule}"]))
    broken = {turbine for turbine, _, _ in anomalies_of(after)}
    assert set(kb["warm"]) == {(turbine, celsius) for turbine, celsius in after.items()
                               if celsius > 15 and turbine not in broken}
    print("And goes again.")
    show_change(kb, holdfast.Update(remove_rules=[rule]))
    assert len(kb["warm"]) == 0
    print("Checked against plain Python after each.\n")


def show_change(kb: holdfast.KnowledgeBase, update: holdfast.Update) -> None:
    """Apply an update and tell what it did."""
    start = time.perf_counter()
    done = kb.apply(update)
    seconds = time.perf_counter() - start
    for sign, part in (("+", done.added), ("-", done.removed)):
        for name, relation in part.items():
            print(f"  {sign} {name:<16} {len(relation):>6,}   {next(relation.sorted_rows())}")
    print(f"  in {seconds * 1000:.0f} ms\n")


if __name__ == "__main__":
    main()
