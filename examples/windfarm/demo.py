"""What `make demo` runs: which thermometers of a wind farm are broken?

Materialises the rules beside this file, shows what was derived, asks a question, and holds every number against
a computation in plain Python that knows nothing of rules.
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


def compare(kb: holdfast.KnowledgeBase) -> None:
    """Compute the same without rules; any difference stops the demo."""
    temperature = dict(generate.temperatures())
    names = sorted({name for pair in generate.next_to() for name in pair})
    farms = [list(farm) for _, farm in groupby(names, key=lambda name: name.split("_")[0])]
    anomalies, pairs = set(), 0
    for farm in farms:
        pairs += len(farm) * (len(farm) - 1)
        for turbine in farm:
            others = [temperature[other] for other in farm if other != turbine and other in temperature]
            if turbine in temperature and len(others) >= 3 and abs(temperature[turbine] - median(others)) > 5:
                anomalies.add((turbine, temperature[turbine], median(others)))
    assert len(kb["neighbour"]) == pairs, (len(kb["neighbour"]), pairs)
    assert set(kb["sensor_anomaly"]) == anomalies, anomalies
    assert {turbine for (turbine,) in kb["silent"]} == set(generate.SILENT)
    print(f"Checked against plain Python: {pairs:,} neighbours, {len(anomalies)} anomalies, "
          f"{len(generate.SILENT)} silent turbines.\n")


if __name__ == "__main__":
    main()
