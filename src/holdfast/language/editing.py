"""Add and remove rules, as updates do; every other rule keeps its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from holdfast.errors import Diagnostic, ProgramError, UsageError, shortened
from holdfast.language.parser import parse
from holdfast.language.printer import show_rule
from holdfast.language.tree import Item, Program, Rule, RuleAttribute

ASSERTED = "Asserted"
"""What proofs write in place of a rule's name where a fact was given."""


def rules_named(program: Program) -> Program:
    """The program without its facts, each rule with a name."""
    named = with_names(program)
    return replace(named, items=tuple(i for i in named.items if not isinstance(i, Rule) or i.body is not None))


def with_names(program: Program) -> Program:
    """The program with a name for each rule that has a body: its own, or r1, r2 … by position."""
    given = {a.value for item in program.items if isinstance(item, Rule) for a in item.attributes if a.name == "name"}
    items: list[Item] = []
    place = 0
    for item in program.items:
        if isinstance(item, Rule) and item.body is not None:
            place += 1
            name = f"r{place}"
            while name in given:
                name += "'"
            items.append(_named(item, name))
        else:
            items.append(item)
    return replace(program, items=tuple(items))


def name_of(rule: Rule) -> str:
    """The name of a rule."""
    return next(attribute.value for attribute in rule.attributes if attribute.name == "name")


def rule_names(program: Program) -> set[str]:
    """The names of a program's rules."""
    return {name_of(item) for item in program.items if isinstance(item, Rule)}


def with_rules(program: Program, text: str, source: str) -> Program:
    """The program with the rules (and declarations) of a text added; `as_added` makes them fit."""
    return replace(program, items=_each_once((*program.items, *parse(text, source).items)))


def as_added(program: Program, taken: Iterable[str]) -> Program:
    """The program with its last items as an update adds them.

    A rule without a name gets the next free number, counting `taken` names too.  A declaration that is there already
    is left out, and a fact is refused.
    """
    names = {*taken, *(name_of(item) for item in program.items if isinstance(item, Rule) and _is_named(item))}
    items: list[Item] = []
    for item in _each_once(program.items):
        if not isinstance(item, Rule):
            items.append(item)
            continue
        if item.body is None:
            help = "facts are added by `insert`"
            raise ProgramError(Diagnostic("E0910", "a fact cannot be added as a rule", item.span, help=help))
        named = item if _is_named(item) else _named(item, _next_name(names))
        items.append(named)
        names.add(name_of(named))
    return replace(program, items=tuple(items))


def _each_once(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items without declarations that are equal to earlier ones."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Rule) or item not in found:
            found.append(item)
    return tuple(found)


def without_rules(program: Program, wanted: str, source: str) -> Program:
    """The program without the rule of this name, or without the rules of a text."""
    rules = [item for item in program.items if isinstance(item, Rule)]
    named = [rule for rule in rules if name_of(rule) == wanted][:1]
    if not named and ":-" not in wanted:
        raise _no_such(wanted, rules)
    going = {id(rule) for rule in named or _written_like(rules, wanted, source)}
    return replace(program, items=tuple(item for item in program.items if id(item) not in going))


def _written_like(rules: list[Rule], text: str, source: str) -> list[Rule]:
    """For each rule of a text, the first of the given rules with the same heads and body."""
    found: list[Rule] = []
    for wanted in parse(text, source).items:
        alike = [
            rule
            for rule in rules
            if isinstance(wanted, Rule) and rule not in found and (rule.heads, rule.body) == (wanted.heads, wanted.body)
        ]
        if not alike:
            raise _no_such(text, rules)
        found.append(alike[0])
    return found


def _no_such(wanted: str, rules: list[Rule]) -> UsageError:
    listed = "; ".join(f"{name_of(rule)} is {shortened(show_rule(replace(rule, attributes=())))}" for rule in rules[:5])
    notes = (f"the rules are: {listed}" + ("; …" if rules[5:] else ""),) if rules else ("there are no rules",)
    return UsageError(Diagnostic("E0911", f"there is no rule {shortened(wanted)} to remove", notes=notes))


def _is_named(rule: Rule) -> bool:
    return any(attribute.name == "name" for attribute in rule.attributes)


def _named(rule: Rule, name: str) -> Rule:
    if _is_named(rule):
        return rule
    return replace(rule, attributes=(*rule.attributes, RuleAttribute("name", name, span=rule.span)))


def _next_name(names: Iterable[str]) -> str:
    numbers = [int(name[1:]) for name in names if re.fullmatch(r"r[1-9][0-9]{0,8}", name)]
    return f"r{max(numbers, default=0) + 1}"
