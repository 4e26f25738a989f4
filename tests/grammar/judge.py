"""What must hold of any text: it is a program that runs, or it gets typed errors; and what it derives is right.

An error is typed if it is a `HoldfastError` whose codes are documented.  E0001 and E0002 stand for what nobody thought
of, so they are failures here, as is any other exception.  What `check` accepts may only end in the errors of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import holdfast
from holdfast.errors import EvaluationError, HoldfastError, LimitReached, ProgramError, UsageError
from holdfast.language import parse, show
from holdfast.language.formatter import format_source
from holdfast.plans import explain, explain_json
from holdfast.program import check
from holdfast.settings import Limits
from holdfast.updates import Update

from ..oracle.evaluate import evaluate
from ..oracle.functors import UndefinedError
from ..oracle.strata import UnstratifiedError
from ..oracle.values import tag_row
from .programs import Written
from .terms import BEYOND_ORACLE

T = TypeVar("T")
LIMITS = Limits(facts=3000, rounds=60, seconds=60)
_SHORT = Limits(facts=3000, rounds=60, seconds=3)  # a text that nobody meant may have a range that never ends
_RUNS = (EvaluationError, LimitReached)  # how a program that was checked may end
_DOCUMENTED = Path(__file__).parents[2].joinpath("docs/errors.md").read_text(encoding="utf-8")


class BadError(AssertionError):
    """An error that no user should meet."""


def typed(action: Callable[[], T], *allowed: type[HoldfastError]) -> T | HoldfastError:
    """What an action gives, or the typed error that it ends in."""
    try:
        return action()
    except HoldfastError as error:
        codes = {found.code for found in error.diagnostics}
        if not codes or codes & {"E0001", "E0002"} or not all(f"### {code}" in _DOCUMENTED for code in codes):
            raise BadError(f"codes {codes}: {error}") from error
        str(error).encode()  # can be printed
        if allowed and not isinstance(error, allowed):
            raise BadError(f"a {type(error).__name__} where none may come: {error}") from error
        return error


def judge(written: Written) -> str:
    """Judge a program from its text to its updates; says how far it came."""
    kb = judge_text(written.text, LIMITS, may_read="input" in written.shapes)
    if not isinstance(kb, holdfast.KnowledgeBase):
        return kb
    for query in written.queries:
        typed(lambda query=query: kb.query(query), ProgramError, *_RUNS)  # type: ignore[misc]
    agreed = _agrees(written, kb)
    _judge_updates(written, kb)
    return "agreed" if agreed else "ran"


def judge_text(text: str, limits: Limits = _SHORT, *, may_read: bool = True) -> holdfast.KnowledgeBase | str:
    """Judge any text; gives the knowledge base, or how far it came."""
    tree = typed(lambda: parse(text), ProgramError)
    typed(lambda: format_source(text), ProgramError)
    if isinstance(tree, HoldfastError):
        return "not parsed"
    assert parse(show(tree)) == tree
    checked = typed(lambda: check(tree), ProgramError)
    if isinstance(checked, HoldfastError):
        assert isinstance(typed(lambda: holdfast.from_text(text, limits=limits), HoldfastError), HoldfastError)
        return "not checked"
    explain(checked)
    explain_json(checked)
    allowed = (*_RUNS, UsageError) if may_read else _RUNS
    kb = typed(lambda: holdfast.from_text(text, limits=limits), *allowed)
    return "stopped" if isinstance(kb, HoldfastError) else kb


def _agrees(written: Written, kb: holdfast.KnowledgeBase) -> bool:
    """Compare with the oracle, where it knows all that the program uses."""
    if written.shapes & BEYOND_ORACLE:
        return False
    relations = kb.program.relations
    columns = {name: tuple(type.value for type in relation.types) for name, relation in relations.items()}
    try:
        expected = evaluate(parse(written.text), {}, columns).facts
    except (UndefinedError, OverflowError, ZeroDivisionError):
        return False  # it computes what a comparison would have kept out
    except UnstratifiedError:
        return False  # it does not see that `false` in a body takes the rule away
    for name, view in kb.relations.items():
        assert {tag_row(row) for row in view} == expected.get(name, set()), name
    return True


def _judge_updates(written: Written, kb: holdfast.KnowledgeBase) -> None:
    """Updates are applied or refused; what is taken back leaves the state as it was."""
    if kb.program.size_limits:
        return
    before = _state(kb)
    for rule in written.rules:
        added = Update(add_rules=[rule])
        if not isinstance(typed(lambda added=added: kb.apply(added)), HoldfastError):  # type: ignore[misc]
            removed = Update(remove_rules=[rule])
            if isinstance(typed(lambda removed=removed: kb.apply(removed), LimitReached), HoldfastError):  # type: ignore[misc]
                return
        assert _state(kb) == before, f"after {rule}"
    for name in sorted(before)[:2]:
        facts = list(kb.relations[name])[:2]
        deleted = typed(lambda name=name, facts=facts: kb.apply(Update(delete={name: facts})))  # type: ignore[misc]
        insert = Update(insert={name: facts})
        if not isinstance(deleted, HoldfastError):
            inserted = typed(lambda insert=insert: kb.apply(insert), LimitReached)  # type: ignore[misc]
            if isinstance(inserted, HoldfastError):
                return
        assert _state(kb) == before, f"after facts of {name} went and came"


def _state(kb: holdfast.KnowledgeBase) -> dict[str, set[str]]:
    """All facts as text, in which NaN is equal to itself."""
    return {name: {repr(row) for row in view} for name, view in kb.relations.items() if len(view)}
