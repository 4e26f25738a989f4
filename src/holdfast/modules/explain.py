"""Explains which module serves which rules, as text and as data, and why another does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.modules.allotment import allot
from holdfast.modules.interface import Module
from holdfast.program.model import HyperNode, Program, Rule


def module_lines(node: HyperNode, program: Program, modules: Sequence[Module]) -> Iterator[str]:
    """The explanation as text."""
    allotment = allot(node, program.relations, modules)
    for service in allotment.services:
        to_itself = ", and serves the hyper-node alone" if service.alone else ""
        yield f"{service.module.name} serves {_names(service.rules)}{to_itself}"
    for name, declined in allotment.declined:
        yield f"{name} does not serve {_names(declined.rules)}: {declined.why}"


def module_data(node: HyperNode, program: Program, modules: Sequence[Module]) -> dict[str, object]:
    """The same as data."""
    allotment = allot(node, program.relations, modules)
    return {
        "modules": [{"module": s.module.name, "rules": _listed(s.rules), "alone": s.alone} for s in allotment.services],
        "declined": [
            {"module": name, "rules": _listed(declined.rules), "why": declined.why}
            for name, declined in allotment.declined
        ],
    }


def _listed(rules: Sequence[Rule]) -> list[str]:
    return list(dict.fromkeys(rule.name for rule in rules))


def _names(rules: Sequence[Rule]) -> str:
    return ", ".join(_listed(rules))
