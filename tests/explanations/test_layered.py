"""Random programs of layers, each a shape over earlier ones, under updates of facts and rules and every algorithm.

All facts have accepted proofs, all others over the values that occur accepted absences, and what the checker accepts
of their corruptions, or of other versions, is true.  `python -m tests.explanations.test_layered 600 1` goes on for so
many seconds.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from copy import deepcopy
from itertools import product
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast import ProofError, Type, Update
from holdfast.errors import HoldfastError
from holdfast.explanations.terms import fact_text
from holdfast.language import parse, tree
from holdfast.language.editing import name_of
from holdfast.language.printer import show_rule
from holdfast.maintenance.algorithms import ALGORITHMS
from holdfast.modules import MODULES

from ..amounts import amount
from .judging import explicit
from .test_checker import CORRUPTIONS, LOOSER, other_goal, other_types
from .test_soundness import is_true

WRONG = [each for each in (*CORRUPTIONS, *LOOSER) if each is not other_goal]

VALUES = range(4)
LAYERS = {
    "right recursion": "{new}(x, y) :- {old}(x, y).\n{new}(x, z) :- {old}(x, y), {new}(y, z).",
    "transitive": "{new}(x, y) :- {old}(x, y).\n{new}(x, z) :- {new}(x, y), {new}(y, z).",
    "symmetric": "{new}(x, y) :- {old}(x, y).\n{new}(y, x) :- {new}(x, y).\n{new}(x, z) :- {new}(x, y), {new}(y, z).",
    "negation": "{new}(x, y) :- {old}(x, y), !{other}(y, x).",
    "open negation": "{new}(x, y) :- {old}(x, y), !{other}(y, _).",
    "negated conjunction": "{new}(x, y) :- {old}(x, y), !({other}(y, x), {old}(y, _)).",
    "count": "{new}(x, c) :- {old}(x, _), c = count : {{ {other}(x, _) }}.",
    "sum": "{new}(x, s) :- {old}(x, _), s = sum y : {{ {other}(x, y), y < 3 }}.",
    "max": "{new}(x, m) :- {old}(x, _), m = max y : {{ {other}(x, y) }}.",
    "head aggregate": "{new}(x, count(y)) :- {old}(x, y).",
    "limit": "{new}(x, min(y)) :- {old}(x, y).\n{new}(y, min(n + 1)) :- {new}(x, n), {other}(x, y), n < 4.",
    "widest": "{new}(x, max(y)) :- {old}(x, y).\n{new}(y, max(n)) :- {new}(x, n), {other}(x, y).",
    "disjunction": "{new}(x, y) :- ({old}(x, y) ; {other}(y, x)), x != y.",
    "arithmetic": "{new}(x, y + 1) :- {old}(x, y), y < 3.",
    "records": ".type R{n} = [a: number, b: number]\n.decl {new}r(r: R{n})\n{new}r([x, y]) :- {old}(x, y).\n"
    "{new}(y, x) :- {new}r([x, y]), {other}(y, _).",
    "growing count": "{new}m(x, y) :- {old}(x, y).\n{new}(x, count(y)) :- {new}m(x, y).\n"
    "{new}m(x, z) :- {new}(x, n), n > 1, {other}(z, x).",
    "growing sum": "{new}m(x, y) :- {old}(x, y).\n{new}(x, sum(y)) :- {new}m(x, z), {other}(z, y).\n"
    "{new}m(z, x) :- {new}(x, n), n > 2, {old}(x, z).",
    "floats": ".decl {new}f(z: number, x: float, y: float)\n{new}f(x, itof(x), itof(y)) :- {old}(x, y).\n"
    "{new}(x, z) :- {new}f(x, a, b), {other}(x, z), b != 0, a / b < 0.6.",
    "greatest float": ".decl {new}f(z: number, x: float)\n{new}f(x, m) :- {old}(x, _), "
    "m = max itof(y) / 3.0 : {{ {other}(x, y) }}.\n"
    "{new}(x, y) :- {new}f(x, z), {other}(x, y), z > itof(y) / 4.0.",
    "mutual": "{new}(x, y) :- {old}(x, y).\n{new}(x, z) :- {new}m(x, y), {other}(y, z).\n"
    "{new}m(x, z) :- {new}(x, y), {old}(y, z).",
}


def layered(dice: Random, used: Counter[str]) -> str:
    """A program of some layers over e and f."""
    known, text = ["e", "f"], ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\n"
    for n in range(dice.randint(1, 4)):
        name = dice.choice(list(LAYERS))
        used[name] += 1
        more = [f"q{n}", *([f"q{n}m"] if "{new}m" in LAYERS[name] else [])]
        text += "".join(f".decl {each}(x: number, y: number)\n" for each in more)
        text += LAYERS[name].format(new=f"q{n}", old=dice.choice(known[-2:]), other=dice.choice(known), n=n) + "\n"
        known.append(f"q{n}")
    return text


def update_of(kb: holdfast.KnowledgeBase, dice: Random, removed: list[str]) -> Update:
    """Some facts go and come, and sometimes a rule."""
    delete = {name: dice.sample(sorted(kb.explicit(name)), min(2, len(kb.explicit(name)))) for name in ("e", "f")}
    insert = {name: [(dice.choice(VALUES), dice.choice(VALUES)) for _ in range(dice.randint(0, 2))] for name in "ef"}
    if removed and dice.random() < 0.5:
        return Update(delete, insert, [removed.pop()], ())
    rules = {name_of(item): item for item in parse(kb.rules_text(), "").items if isinstance(item, tree.Rule)}
    if len(rules) > 2 and dice.random() < 0.5:
        name = dice.choice(sorted(rules))
        removed.append(show_rule(rules[name]))
        return Update(delete, insert, (), [name])
    return Update(delete, insert)


def judged(kb: holdfast.KnowledgeBase, dice: Random, share: float, earlier: list[dict[str, Any]]) -> Counter[str]:
    """Explain facts and what is none, and corrupt the explanations; gives how many of which kind.

    Those of earlier versions may be true still.  They are wrong in many places at once, all of which agree.
    """
    rules, given, done = parse(kb.rules_text(), "<rules>"), explicit(kb), Counter[str]()
    for shown in earlier:
        try:
            holdfast.check_proof(shown, rules, given)
        except ProofError:
            done["outdated"] += 1
        else:
            assert is_true(kb, shown), shown
            done["true still"] += 1
    earlier.clear()
    for name in kb.relations:
        rows = set(kb[name])
        wanted = rows | (set(product(VALUES, VALUES)) if kb[name].types == (Type.NUMBER,) * 2 else set())
        for row in (row for row in sorted(wanted, key=str) if dice.random() < share):
            text = fact_text((name, row))
            found = kb.why(text, seconds=None) if row in rows else kb.why_not(text, seconds=None)
            assert found is not None, text
            shown = found.as_json()
            assert holdfast.check_proof(found.to_json(), rules, given) == text
            done["proofs" if row in rows else "absences"] += 1
            earlier.append(shown)
            if any(each.endswith("r") for each in kb.relations):
                continue  # the corruptions know no records
            wrong, corrupt = deepcopy(shown), dice.choice(WRONG)
            if corrupt(wrong, dice) and wrong != shown:
                try:
                    holdfast.check_proof(wrong, rules, given)
                except ProofError:
                    done["rejected"] += 1
                else:
                    assert is_true(kb, wrong), (corrupt.__name__, wrong)
                    assert corrupt is not other_types, wrong
                    done["true anyway"] += 1
    return done


def explored(seed: int, share: float) -> tuple[Counter[str], Counter[str]]:
    """Judge one program after each of some updates; gives which shapes came, and how many explanations."""
    dice, used, done = Random(seed), Counter[str](), Counter[str]()
    rules = layered(dice, used)
    facts = {n: sorted({(dice.choice(VALUES), dice.choice(VALUES)) for _ in range(4)}) for n in "ef"}
    engine, modules = dice.choice(("memory", "memory", "parted[2]")), dice.choice(((), MODULES))
    try:
        kb = holdfast.from_text(rules, facts=facts, engine=engine, modules=modules)
    except HoldfastError:
        return Counter(), done
    used[engine] += 1
    removed: list[str] = []
    earlier: list[dict[str, Any]] = []
    done += judged(kb, dice, share, earlier)
    for _ in range(3):
        update, algorithm = update_of(kb, dice, removed), dice.choice([*ALGORITHMS])
        try:
            kb.apply(update, algorithm=algorithm)
        except HoldfastError:
            continue
        used[algorithm] += 1
        used["rule change"] += bool(update.remove_rules or update.add_rules)
        done += judged(kb, dice, share, earlier)
    return used, done


@pytest.mark.only_in_memory("has engines of its own")
def test_layers_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.knowledge.far_lookup.SMALL", 2)
    done = sum((explored(seed, 0.15)[1] for seed in range(1, 1 + amount(40, 10))), Counter[str]())
    assert min(done[kind] for kind in ("proofs", "absences", "rejected", "outdated", "true still")) > 20
    assert done["true anyway"] < done["rejected"] / 10


def main(seconds: float, first: int) -> None:
    """Go through seeds until time is over, and say which fail and which shapes came."""
    end, seed, used, done = time.process_time() + seconds, first, Counter[str](), Counter[str]()
    while time.process_time() < end:
        try:
            more = explored(seed, 0.5)
            used, done = used + more[0], done + more[1]
        except Exception as error:
            print(f"{seed}: {type(error).__name__} {str(error)[:500]}", flush=True)
        seed += 1
    print(f"seeds {first} to {seed - 1}: {dict(done)}\n{dict(used)}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
