"""The parser's tables, generated when the package is built: generating them takes longer than running a small program.

They are valid for one grammar; if they are missing or do not match it, lark generates them again.
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
    """Serialize the tables for `fitting`."""
    states, rules = [dict(state) for state in tables.states], [tuple(rule) for rule in tables.rules]
    return pickle.dumps((_GRAMMAR.read_bytes(), states, rules, tables.starts, tables.ends))


def fitting(file: Path = TABLES) -> ParserTables | None:
    """The stored tables; None if they do not match this grammar."""
    try:
        grammar, states, rules, starts, ends = pickle.loads(file.read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError):
        return None
    if grammar != _GRAMMAR.read_bytes():
        return None
    return ParserTables(states, [GrammarRule(*rule) for rule in rules], starts, ends)


def from_grammar() -> ParserTables:
    """Generate the tables with lark."""
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
    """Convert a rule of lark.

    A rule whose name begins with `_` has no callback: its children are spliced into the surrounding rules.  No terminal
    is left out, since all of them have names.
    """
    spliced = tuple(symbol.name.startswith("_") for symbol in rule.expansion)
    return GrammarRule(
        str(rule.origin.name),
        len(rule.expansion),
        str(rule.alias or rule.origin.name),
        spliced if any(spliced) else None,
        rule.options.expand1 and not rule.alias,
    )
