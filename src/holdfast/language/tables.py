"""The parser's tables, made when the package is built: to make them from the grammar takes longer than a small program.

They fit one grammar; if they do not match or are missing, lark makes them again.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.language.lalr import GrammarRule, ParserTables

if TYPE_CHECKING:
    import lark

TABLES = Path(__file__).with_name("grammar.pickle")
_GRAMMAR = Path(__file__).with_name("grammar.lark")


def stored(tables: ParserTables) -> bytes:
    """The tables as `fitting` reads them."""
    states, rules = [dict(state) for state in tables.states], [tuple(rule) for rule in tables.rules]
    return pickle.dumps((_GRAMMAR.read_bytes(), states, rules, tables.starts, tables.ends))


def fitting(file: Path = TABLES) -> ParserTables | None:
    """The stored tables, None if they do not match this grammar."""
    try:
        grammar, states, rules, starts, ends = pickle.loads(file.read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError):
        return None
    if grammar != _GRAMMAR.read_bytes():
        return None
    return ParserTables(states, [GrammarRule(*rule) for rule in rules], starts, ends)


def from_grammar() -> ParserTables:
    """The tables as lark makes them."""
    import lark
    from lark.parsers.lalr_analysis import Reduce

    made = lark.Lark.open(
        str(_GRAMMAR), parser="lalr", lexer="basic", start=["program", "query"], maybe_placeholders=False
    )
    table = made.parser.parser._parse_table
    numbers = {rule: number for number, rule in enumerate(made.rules)}
    states = [
        {str(kind): ~numbers[arg] if action is Reduce else arg for kind, (action, arg) in table.states[state].items()}
        for state in range(len(table.states))
    ]
    return ParserTables(states, [_rule(rule) for rule in made.rules], table.start_states, table.end_states)


def _rule(rule: lark.grammar.Rule) -> GrammarRule:
    """A rule whose name begins with `_` has no callback: it is a list, which the rules around it take over.  No
    terminal is left out, since all of them have names."""
    spliced = tuple(symbol.name.startswith("_") for symbol in rule.expansion)
    return GrammarRule(
        str(rule.origin.name),
        len(rule.expansion),
        str(rule.alias or rule.origin.name),
        spliced if any(spliced) else None,
        rule.options.expand1 and not rule.alias,
    )
