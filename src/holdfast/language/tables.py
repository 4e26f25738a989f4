"""The parser's tables, made when the package is built: to make them from the grammar takes longer than a small program.

They are lark's own and fit one version of lark and one grammar; where they do not fit, or are not there, the grammar is
read as before.
"""

from __future__ import annotations

import pickle
from hashlib import blake2b
from pathlib import Path
from typing import Any

import lark

TABLES = Path(__file__).with_name("grammar.pickle")
_GRAMMAR = Path(__file__).with_name("grammar.lark")


def stored(parser: lark.Lark) -> bytes:
    """A parser's tables, as `fitting` reads them."""
    data, memo = parser.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
    data["options"] = {name: value for name, value in data["options"].items() if name != "transformer"}
    return pickle.dumps((_made_from(), data, memo))


def fitting(transformer: object, tables: Path = TABLES) -> lark.Lark | None:
    """The parser from its stored tables, None where there are none for this grammar and this lark."""
    try:
        made_from, data, memo = pickle.loads(tables.read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError):
        return None
    if made_from != _made_from():
        return None
    return lark.Lark._load_from_dict(data, memo, transformer=transformer)  # type: ignore[no-untyped-call, no-any-return]


def _made_from() -> tuple[Any, ...]:
    return lark.__version__, blake2b(_GRAMMAR.read_bytes(), digest_size=16).digest()
