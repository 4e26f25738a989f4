"""The words and signs of the language, and the kinds of tokens they are."""

from __future__ import annotations

import re
from typing import Final

from holdfast.language.operators import LEVELS

AGGREGATES: Final = frozenset({"count", "sum", "min", "max", "mean", "median"})
QUALIFIERS: Final = frozenset(
    {
        "btree",
        "btree_delete",
        "brie",
        "eqrel",
        "inline",
        "no_inline",
        "magic",
        "no_magic",
        "override",
        "overridable",
        "output",
        "input",
        "printsize",
    }
)
DIRECTIVES: Final = {
    ".decl": "DECL",
    ".type": "TYPE",
    ".pragma": "PRAGMA",
    ".input": "DIRECTIVE",
    ".output": "DIRECTIVE",
    ".printsize": "DIRECTIVE",
    ".limitsize": "DIRECTIVE",
    ".number_type": "BASE_TYPE",
    ".symbol_type": "BASE_TYPE",
    ".comp": "COMPONENT",
    ".init": "INIT",
    ".override": "OVERRIDE",
    ".plan": "PLAN",
    ".functor": "FUNCTOR",
}
_REFUSED_DIRECTIVES: Final = ("lattice", "include", "once")
KEYWORDS: Final = {
    "_": "WILDCARD",
    "not": "NOT",
    "true": "TRUE",
    "false": "FALSE",
    "bnot": "BITS_NOT",
    "lnot": "BITS_NOT",
    **{word: "OPERATOR" for word in LEVELS if word.isalpha()},
}
OPERATORS: Final = {
    ":-": "IF",
    "!=": "COMPARE",
    "<=": "COMPARE",
    ">=": "COMPARE",
    "<": "COMPARE",
    ">": "COMPARE",
    "=": "EQUALS",
    "<:": "SUBTYPE",
    "+": "OPERATOR",
    "*": "OPERATOR",
    "/": "OPERATOR",
    "%": "OPERATOR",
    "^": "OPERATOR",
    "-": "MINUS",
    "!": "NOT",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ";": "SEMICOLON",
    ":": "COLON",
    ".": "DOT",
    "|": "PIPE",
    "$": "DOLLAR",
}
ENDS_TERM: Final = frozenset(
    {
        "IDENT",
        "PREFIXED",
        "IRI",
        "QUOTED",
        "WILDCARD",
        "NUMBER",
        "STRING",
        "LANGUAGE",
        "TRUE",
        "FALSE",
        "RPAR",
        "RBRACE",
    }
)
ENDS_ITEM: Final = frozenset({"", "DOT", "RSQB"})
ENDS_TARGET: Final = frozenset({"COMMA", "SEMICOLON", "DOT", "IF", "EQUALS", "COMPARE", "NOT"})
ASKS_FOR_NAME: Final = frozenset(
    {
        *DIRECTIVES.values(),
        "REFUSED",
        "COMMA",
        "EQUALS",
        "SUBTYPE",
        "PIPE",
        "COLON",
        "LPAR",
        "LESS",
        "CHOICE",
    }
)

LOCAL: Final = re.compile(
    r"""
    (?: \w | :(?!-) | %[0-9A-Fa-f]{2} )
    (?: (?: [\w.-] | :(?!-) | %[0-9A-Fa-f]{2} )* (?: [\w-] | :(?!-) | %[0-9A-Fa-f]{2} ) )?
""",
    re.VERBOSE,
)
IRI: Final = re.compile(r"<[^\s<>\"{}|^`\\]*>")
PREFIX_LABEL: Final = re.compile(r"[\w.-]+")
DECLARED_PREFIX: Final = re.compile(r"@prefix\s+([^\s:<]*)\s*:")
LANGUAGE: Final = re.compile(r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*")
NUMBER: Final = re.compile(r"(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+)u?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
DIGITS: Final = re.compile(r"\d+(?:[eE][+-]?\d+)?", re.ASCII)  # of a number that lacks those before its point
BARE_POINT: Final = re.compile(r"\.(?:[eE][+-]?\d+)?(?=[ \t]*[,)}*+<>=!;^-])", re.ASCII)  # … that lacks those behind it
SCANNER: Final = re.compile(
    r"""
    (?P<NEWLINE>\n[ \t\r]*)
  | (?P<SPACE>[ \t\r\f\v\ufeff]+)
  | (?P<WORD>\?*[^\W\d][\w?]*(?:\.[^\W\d][\w?]*)*)
  | (?P<DIRECTIVE>(?:"""
    + "|".join(re.escape(name) for name in DIRECTIVES)
    + r""")\b)
  | (?P<REFUSED>\.(?:"""
    + "|".join(_REFUSED_DIRECTIVES)
    + r""")\b)
  | (?P<COMMENT>//[^\n]*|/\*[\s\S]*?\*/)
  | (?P<OPEN_COMMENT>/\*[\s\S]*)
  | (?P<NUMBER>(?:0[xXbB]|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*)
  | (?P<STRING>"(?:[^"\\\n]|\\.)*")
  | (?P<OPEN_STRING>"[^\n]*)
  | (?P<QUOTED>'(?:[^'\n]|'')*')
  | (?P<OPEN_QUOTED>'[^\n]*)
  | (?P<PREFIX>@prefix\b)
  | (?P<USER_FUNCTOR>@\w+)
  | (?P<ATTRIBUTE>\#\[)
  | (?P<PREPROCESSOR>\#[^\n]*)
  | (?P<MISTAKE>=\\=|\\==|\\=|\\\+|==|=<(?!\S*>)|=>|:=|<-|<>|&&|\|\||&|~|≠|≤|≥|¬|∧|∨|←)
  | (?P<OPERATOR>:-|!=|<=|>=|<:|[-+*/^%=<>!(){}\[\],;:.|$])
  | (?P<OTHER>[\s\S])
""",
    re.VERBOSE,
)
STANDARD_PREFIXES: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that every program has."""
