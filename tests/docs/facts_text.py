"""Derived facts as the documentation shows them: one a line, as the language writes them."""

from __future__ import annotations

from holdfast import KnowledgeBase
from holdfast.values import Value, quote


def facts_text(kb: KnowledgeBase) -> str:
    warnings = [warning.render() for warning in kb.program.warnings]
    facts = [f"{kb[name].name}({', '.join(map(_term, row))})" for name in _shown(kb) for row in kb[name].sorted_rows()]
    return "\n".join([*warnings, *facts])


def _shown(kb: KnowledgeBase) -> list[str]:
    outputs = [name for name in kb.relations if any(io.kind == "output" for io in kb.program.relations[name].io)]
    derived = {rule.predicate for rule in kb.program.rules} | {rule.predicate for rule in kb.program.aggregates}
    return outputs or [name for name in kb.relations if name in derived]


def _term(value: Value) -> str:
    return quote(value) if isinstance(value, str) else str(value)
