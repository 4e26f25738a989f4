"""The kernels as plain Python, one line of them another if that is wanted: nothing is compiled, so it costs nothing."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from holdfast.backends.memory import kernels
from holdfast.backends.memory.execution import join
from holdfast.backends.memory.kernels import emitting, hashing, indexes, joins, membership, sets, steps, tallies, words

FILES = (hashing, membership, indexes, emitting, steps, joins, tallies, sets, words)


@dataclass(frozen=True)
class KernelMutant:
    """What is broken, and in which kernel."""

    name: str
    kernel: str
    line: str
    instead: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.name}"


MUTANTS = [
    # sets
    KernelMutant("repeated facts stay", "distinct", "status[row] = state | seen", "pass"),
    KernelMutant("what is not meant is given", "distinct", "if visible[state] and not", "if not"),
    KernelMutant("the scratch bit stays", "distinct", "status[out[k]] &= ~seen", "pass"),
    KernelMutant("nothing is among others", "among", "found = True", "pass"),
    KernelMutant("a fact is entered twice", "enter", "status[row] |= bit", "pass"),
    KernelMutant("bits are not cleared", "restatus", "(status[row] & ~clear) | set", "status[row] | set"),
    KernelMutant("the other byte is not marked", "restatus_both", "proof[row] = (proof[row] & ~clear) | set", "pass"),
    # counters
    KernelMutant("every fact is zero", "zero", "if counters[row] == 0:", "if True:"),
    KernelMutant("subtraction adds", "count", "counters[ids[k]] + step *", "counters[ids[k]] + abs(step) *"),
    # joins
    KernelMutant("an anti-join keeps what there is", "reject", "if not found:", "if True:"),
    KernelMutant("an anti-join passes over the tail", "reject", "while row >= low and not found:", "while False:"),
    KernelMutant("a lookup does not look at the status", "sees", "return visible[status[row]] != 0", "return True"),
    KernelMutant("a comparison is turned round", "compare", "(one == other) == equal", "(one == other) != equal"),
    KernelMutant("a constant fits any value", "scan", "fits = False", "pass"),
    KernelMutant("a repeated variable fits any values", "repeats_agree", "return False", "pass"),
    KernelMutant("a walk sees what is not meant", "scan", "if len(visible) and not visible[status[row]]:", "if False:"),
    KernelMutant("a join forgets the bindings", "emit", "out[n, column] = bindings[i, origin]", "out[n, column] = 0"),
]
WORD_MUTANTS = [
    KernelMutant("what was never seen is there", "meet_words", "if row >= 0:", "if True:"),
    KernelMutant("nothing has changed", "meet_words", "held ^= beside[row]", "pass"),
    KernelMutant("negation means nothing", "meet_words", "~held if negated else held", "held"),
    KernelMutant(
        "what held before is forgotten", "put_words", "words[k] ^ _unchanged(status[row], bit, every)", "words[k]"
    ),
    KernelMutant("all facts change", "put_words", "if beside[row] != difference:", "if True:"),
    KernelMutant("a deletion wins", "explicit_words", "word | later[part] if part & 1 else word &", "word &"),
    KernelMutant("no fact was there", "_unchanged", "every if state & bit else int64(0)", "int64(0)"),
    KernelMutant(
        "every fact given is an effect",
        "explicit_words",
        "int64(before != (word >> (update + 1)) & 1)",
        "1",
    ),
    KernelMutant("unchanged facts change", "explicit_words", "if word != 0 and word != every:", "if True:"),
    KernelMutant("the old count is forgotten", "count_words", "counts[:] = counters[row]", "counts[:] = 0"),
    KernelMutant(
        "instances of before count twice", "count_words", "((word >> state) & 1) - counted", "(word >> state) & 1"
    ),
    KernelMutant("what has no instance holds", "count_words", "if counts[state] > 0:", "if counts[state] >= 0:"),
    KernelMutant("counters go on from others", "recount", "counters[found[k]] = before[k]", "pass"),
    KernelMutant("counters lose what held", "recount", "int64(words[k] & known != 0)", "1"),
    KernelMutant("facts only come", "count_moves", "2 * step + ((word >> (step + 1)) & 1) + 1", "2 * step + 2"),
    KernelMutant("facts come a step late", "list_moves", "(word >> (step + 1)) & 1)", "(word >> step) & 1)"),
    KernelMutant("all moves of a list are one", "list_moves", "places[place] += 1", "pass"),
]


@contextmanager
def plain(mutant: KernelMutant | None = None) -> Iterator[None]:
    """All kernels in plain Python meanwhile."""
    written = _functions()
    space = {name: value for file in FILES for name, value in vars(file).items()} | NUMBERS
    for name, source in written.items():
        exec(_changed(source, mutant if mutant is not None and mutant.kernel == name else None), space)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        for name in written.keys() & vars(kernels).keys():
            patch.setattr(kernels, name, space[name])
        for name in ("expand", "tally", "reject"):
            patch.setattr(join, f"_{name}", space[name])
        yield


NUMBERS = {name: getattr(np, name) for name in ("int64", "int32", "uint64", "uint8")}
"""Numba's types as NumPy's, so that what is computed with them wraps around as in the compiled code."""


def _functions() -> dict[str, str]:
    """The text of each kernel and helper without its decorator, whichever way they were compiled."""
    found: dict[str, str] = {}
    for text in map(inspect.getsource, FILES):
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        found |= {node.name: ast.get_source_segment(text, node) or "" for node in functions}
    return found


def _changed(source: str, mutant: KernelMutant | None) -> str:
    if mutant is None:
        return source
    assert source.count(mutant.line) == 1, f"{mutant.kernel} has no longer one {mutant.line!r}"
    return source.replace(mutant.line, mutant.instead)
