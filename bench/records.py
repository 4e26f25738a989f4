"""A points-to analysis whose contexts are records, beside the same analysis with a column for each field.

`python -m bench.records [SIZE [RUNS]]` prints the processor seconds of both, of materialising and of updates, and
their ratio: the median over runs that take turns.  The analysis is that of Doop with two objects of
context and one for the heap.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import TypeAlias

import holdfast

Facts: TypeAlias = dict[str, list[tuple[str, ...]]]
_INPUT = """
.decl alloc(v: symbol, h: symbol, m: symbol)
.decl assign(from: symbol, to: symbol)
.decl load(base: symbol, f: symbol, to: symbol)
.decl store(from: symbol, base: symbol, f: symbol)
.decl call(base: symbol, i: symbol, name: symbol, m: symbol)
.decl lookup(h: symbol, name: symbol, m: symbol)
.decl this(m: symbol, v: symbol)
.decl actual(i: symbol, n: symbol, v: symbol)
.decl formal(m: symbol, n: symbol, v: symbol)
.decl ret(m: symbol, v: symbol)
.decl got(i: symbol, v: symbol)
.decl main(m: symbol)
"""
_RULES = """
reachable({none}, m) :- main(m).
points({heap}, h, {made}, v) :- reachable({made}, m), alloc(v, h, m).
points({hc}, h, {c}, to) :- assign(from, to), points({hc}, h, {c}, from).
points({hc}, h, {c}, to) :- load(base, f, to), points({bc}, b, {c}, base), field({hc}, h, {bc}, b, f).
field({hc}, h, {bc}, b, f) :- store(from, base, f), points({hc}, h, {c}, from), points({bc}, b, {c}, base).
edge({c}, i, {next}, m), points({taken}, h, {next}, this) :-
    call(base, i, name, in), reachable({c}, in), points({taken}, h, {c}, base), lookup(h, name, m), this(m, this).
reachable({d}, m) :- edge(_c, _, {d}, m).
points({hc}, h, {d}, to) :- edge({c}, i, {d}, m), actual(i, n, from), formal(m, n, to), points({hc}, h, {c}, from).
points({hc}, h, {c}, to) :- edge({c}, i, {d}, m), ret(m, from), got(i, to), points({hc}, h, {d}, from).
"""
_RECORDS = """
.type Context = [one: symbol, two: symbol]
.type Heap = [one: symbol]
.decl reachable(c: Context, m: symbol)
.decl points(hc: Heap, h: symbol, c: Context, v: symbol)
.decl field(hc: Heap, h: symbol, bc: Heap, b: symbol, f: symbol)
.decl edge(c: Context, i: symbol, d: Context, m: symbol)
"""
_FLAT = """
.decl reachable(c1: symbol, c2: symbol, m: symbol)
.decl points(hc: symbol, h: symbol, c1: symbol, c2: symbol, v: symbol)
.decl field(hc: symbol, h: symbol, bc: symbol, b: symbol, f: symbol)
.decl edge(c1: symbol, c2: symbol, i: symbol, d1: symbol, d2: symbol, m: symbol)
"""
RECORDS = (
    _INPUT
    + _RECORDS
    + _RULES.format(
        none='["", ""]', heap="[x]", made="[x, y]", hc="hc", c="c", d="d", bc="bc", taken="[x]", next="[h, x]"
    ).replace("_c,", "_,")
)
FLAT = (
    _INPUT
    + _FLAT
    + _RULES.format(
        none='"", ""', heap="x", made="x, y", hc="hc", c="c1, c2", d="d1, d2", bc="bc", taken="x", next="h, x"
    ).replace("_c,", "_, _,")
)


def analysed(size: int, seed: int = 1) -> Facts:
    """A program to analyse, with so many methods, at random."""
    chance = random.Random(seed)
    facts: Facts = {}
    kinds = max(2, size // 8)
    methods = [(f"m{k}.{n}", k, n) for k in range(kinds) for n in range(8)]
    facts["main"] = [(method,) for method, kind, number in methods if number == 0 and kind % 4 == 0]
    for name in ("alloc", "assign", "load", "store", "call", "lookup", "this", "actual", "formal", "ret", "got"):
        facts[name] = []
    for method, kind, _ in methods:
        local = [f"{method}/v{n}" for n in range(6)]
        facts["this"].append((method, local[0]))
        facts["formal"].append((method, "0", local[1]))
        facts["ret"].append((method, local[2]))
        for _ in range(2):
            heap = f"{method}/h{chance.randrange(4)}"
            facts["alloc"].append((chance.choice(local[2:]), heap, method))
            made = kind + 1 + chance.randrange(3)  # calls lead on, so that contexts do not explode
            facts["lookup"] += [(heap, f"n{n}", f"m{made}.{n}") for n in range(8) if made < kinds]
        facts["assign"] += [(chance.choice(local), chance.choice(local[2:])) for _ in range(2)]
        facts["load"].append((chance.choice(local), f"f{chance.randrange(3)}", chance.choice(local[2:])))
        facts["store"].append((chance.choice(local), chance.choice(local), f"f{chance.randrange(3)}"))
        for n in range(2):
            site = f"{method}/i{n}"
            facts["call"].append((chance.choice(local), site, f"n{chance.randrange(8)}", method))
            facts["actual"].append((site, "0", chance.choice(local)))
            facts["got"].append((site, chance.choice(local[2:])))
    return facts


def timed(text: str, facts: Facts, changes: int = 20) -> tuple[float, float, int]:
    """Processor seconds of materialising and of single deletions that are put back, and how many facts there are."""
    begun = process_time()
    kb = holdfast.from_text(text, facts)
    size, made = sum(len(rows) for rows in kb.relations.values()), process_time() - begun
    begun = process_time()
    for row in facts["assign"][:changes]:
        kb.apply(holdfast.Update(delete={"assign": [row]}))
        kb.apply(holdfast.Update(insert={"assign": [row]}))
    return made, process_time() - begun, size


def measured(size: int, runs: int) -> Iterator[str]:
    """Lines of a table."""
    facts = analysed(size)
    for text in (RECORDS, FLAT):  # what is done once in a process
        timed(text, analysed(32))
    found = [(timed(RECORDS, facts), timed(FLAT, facts)) for _ in range(runs)]
    count, other = found[0][0][2], found[0][1][2]
    assert count == other, f"{count} facts with records, {other} without"
    yield f"{count:,} facts; processor seconds, median of {runs}"
    yield "| | records | columns | ratio |\n|---|---|---|---|"
    for place, what in enumerate(("materialising", "40 updates")):
        one, two = (median(pair[way][place] for pair in found) for way in (0, 1))
        ratio = median(pair[0][place] / pair[1][place] for pair in found)
        yield f"| {what} | {one:.2f} | {two:.2f} | {ratio:.2f} |"


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    for line in measured(*numbers, *(48, 5)[len(numbers) :]):
        print(line)
