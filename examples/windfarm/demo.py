"""What `make demo` runs: which thermometers of a wind farm are broken, minute by minute, and why?

Facts come from files and readings as a stream, both through the pipeline beside this file, on Spark on this machine.
Rules are added and removed on the way.  Every number is checked by a computation in plain Python without rules.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from itertools import groupby
from pathlib import Path
from statistics import median

import generate

import holdfast
from holdfast import pipeline

HERE = Path(__file__).parent
WORK = Path("out/windfarm")
VISIT = """.decl visit(turbine: symbol)
visit(x) :- sensor_anomaly(x, _, _).
visit(x) :- silent(x)."""


def main() -> None:
    """The whole demonstration, top to bottom."""
    print("\nA turbine reports 31 degrees.  Heat wave, or broken thermometer?  Its neighbours know.\n")
    declared = prepare()
    base = first_facts(declared)
    print("Three minutes of readings arrive: each is a file, and each file is one update.")
    base = minutes(declared, range(1, 4))
    assert "north_07" not in broken(base)
    print("An update adds rules: which turbines need a visit?  The stream continues from its snapshot.")
    rule("add", VISIT)
    base = minutes(declared, range(4, 6))
    assert {x for (x,) in base["visit"]} == broken(base) | {x for (x,) in base["silent"]}
    print("Another update removes the rules.")
    rule("remove", VISIT)
    base = minutes(declared, range(6, 9))
    assert len(base["visit"]) == 0
    what_changed(base)
    why(base, "ridge_11")
    print("All of this follows from eight rules, which define neighbours and anomalies.  Read them in")
    print(f"examples/windfarm/windfarm.dl, and the results in {WORK}/out.  To run it by hand:\n")
    print(f"  .venv/bin/holdfast pipeline run {WORK}/pipeline.toml --mode stream")
    print("  .venv/bin/holdfast graph examples/windfarm/windfarm.dl\n")


def prepare() -> pipeline.Pipeline:
    """A working copy, and Spark."""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(HERE, WORK, ignore=shutil.ignore_patterns("*.py", "__pycache__", "expected"))
    for name in ("readings", "rules"):
        (WORK / name).mkdir()
    return pipeline.read(WORK / "pipeline.toml")


def first_facts(declared: pipeline.Pipeline) -> holdfast.KnowledgeBase:
    """Read the files and derive everything."""
    print("Starting Spark on this machine, reading the map and the thermometers, deriving what follows …")
    start = time.perf_counter()
    outcome = pipeline.run(declared, on_event=show)
    base = outcome.base
    print(f"  in {time.perf_counter() - start:.1f} s, Spark's start included\n")
    for name, size in base.sizes().items():
        print(f"  {name:<16} {size:>6,}")
    print("\nThe map has the turbines that are next to each other.  The rules derive whole farms, the median of each")
    print("farm, and the turbines that are far from it:\n")
    for turbine, celsius, nearby in base["sensor_anomaly"].sorted_rows():
        print(f"  {turbine} reads {celsius:5.1f} °C, its farm {nearby:5.1f} °C: send a technician")
    pairs = sum(len(farm) * (len(farm) - 1) for farm in farms())
    assert len(base["neighbour"]) == pairs
    compare(base, 0)
    print(
        f"\nChecked against plain Python: {pairs:,} neighbours, {len(base['sensor_anomaly'])} anomalies, "
        f"{len(base['silent'])} silent turbines.\n"
    )
    return base


def minutes(declared: pipeline.Pipeline, which: range) -> holdfast.KnowledgeBase:
    """Some minutes of the stream, until it has caught up."""
    for minute in which:
        path = WORK / f"readings/{minute:02}.csv"
        generate.write_minute(path, minute)
        os.utime(path, (time.time() + minute, time.time() + minute))  # files are taken in the order of their times
    start = time.perf_counter()
    outcome = pipeline.run(declared, mode="stream", on_event=show)
    assert outcome.number == len(list(WORK.glob("readings/*"))) + len(list(WORK.glob("rules/*"))), outcome.number
    compare(outcome.base, which[-1])
    print(f"  in {time.perf_counter() - start:.1f} s; checked against plain Python\n")
    return outcome.base


def show(event: pipeline.Event) -> None:
    """What the pipeline says about itself."""
    if event.change is None:
        print(f"  {event.text}")
        return
    parts = {
        name: (len(event.change.removed.get(name, ())), len(event.change.added.get(name, ())))
        for name in ("temperature", "median_nearby", "sensor_anomaly", "silent", "visit")
    }
    shown = ", ".join(f"{name} -{gone} +{come}" for name, (gone, come) in parts.items() if gone or come)
    bad = f"; {event.rejections} reading put in quarantine" if event.rejections else ""
    print(f"  update {event.number}: {shown}{bad}")


def rule(what: str, text: str) -> None:
    """Rules come and go as lines of an update, in a file like any other."""
    rules = [line for line in text.splitlines() if ":-" in line]
    update = {"add_rules": [text]} if what == "add" else {"remove_rules": rules}
    for line in rules:
        print(f"  {'+' if what == 'add' else '-'} {line}")
    (WORK / f"rules/{what}.jsonl").write_text(json.dumps(update) + "\n", encoding="utf-8")


def what_changed(base: holdfast.KnowledgeBase) -> None:
    """Read the change feed, as a later reader does."""
    print("The change feed:\n")
    state = {turbine for turbine, _, _ in anomalies_of(generate.after(0))}
    for folder in sorted((WORK / "out/anomaly_changes").iterdir(), key=lambda path: int(path.name.partition("=")[2])):
        rows = [json.loads(line) for file in sorted(folder.glob("part-*")) for line in file.read_text().splitlines()]
        gone, come = ({row["turbine"] for row in rows if row["_change_type"] == kind} for kind in ("delete", "insert"))
        for turbine in sorted(gone - come):
            print(f"  update {folder.name.partition('=')[2]}: {turbine} is no longer an anomaly")
        for turbine in sorted(come - gone):
            print(f"  update {folder.name.partition('=')[2]}: {turbine} has become an anomaly")
        state = (state - gone) | come
    assert state == broken(base)
    lines = [line for file in (WORK / "out/rejected").glob("*/part-*") for line in file.read_text().splitlines()]
    assert len(lines) == 1
    bad = json.loads(lines[0])
    print(f"\nOne reading was rejected: {bad['row']}: {bad['reason']}\n")


def why(base: holdfast.KnowledgeBase, turbine: str) -> None:
    """The facts from which an anomaly follows."""
    ((fact,),) = [[row] for row in base["sensor_anomaly"] if row[0] == turbine]
    name, celsius, nearby = fact
    given = {relation: list(base.explicit(relation)) for relation in ("next_to", "temperature")}
    here = holdfast.open(HERE / "windfarm.dl", facts=given)  # the facts are few: explain them without Spark
    proof = here.why(f'sensor_anomaly("{name}", {celsius}, {nearby})', seconds=60)
    assert proof is not None
    print(f"Why is {turbine} an anomaly?\n")
    print("  " + proof.tree(1).replace("\n", "\n  "))
    print(f"\nThe whole proof has {proof.size} facts, {len(proof.facts)} of them given, and the checker agrees:")
    print(f"  {holdfast.check_proof(proof.to_json(), here.rules_text(), given)}\n")
    coast = [t for x, t in generate.after(8).items() if x.startswith("coast") and x not in generate.BROKEN]
    print(
        f"And the coast?  All of it reads about {median(coast):.0f} degrees by now, {median(coast) - 14.5:.0f} more "
        "than at first, and is no anomaly: a warm front.\n"
    )


# --- the same in plain Python ---


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


def broken(base: holdfast.KnowledgeBase) -> set[str]:
    """The turbines that are anomalies."""
    return {str(turbine) for turbine, _, _ in base["sensor_anomaly"]}


def compare(base: holdfast.KnowledgeBase, minute: int) -> None:
    """Any difference from plain Python stops the demo."""
    temperature = generate.after(minute)
    everyone = {turbine for farm in farms() for turbine in farm}
    assert dict(base["temperature"]) == temperature
    assert set(base["sensor_anomaly"]) == anomalies_of(temperature)
    assert {turbine for (turbine,) in base["silent"]} == everyone - set(temperature)


if __name__ == "__main__":
    main()
