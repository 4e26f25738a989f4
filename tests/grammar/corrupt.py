"""Texts that are nearly programs: random programs with something taken out, doubled, exchanged or put in."""

from __future__ import annotations

import re
from random import Random

from .programs import program

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[\w?]+|\s+|:-|!=|<=|>=|\^\^|.', re.DOTALL)
_ODD = [
    *('"', "'", "(", ")", "{", "}", "[", "]", "<", ">", ".", ",", ";", ":", ":-", "=", "!", "%", "//", "/*", "*/", "@"),
    *("\\", "\x00", "\x1b[31m", "\ud800", "\udfff", "é", "😀", "\u202e", "\ufeff", "\r", "\u2028", "٣", "²", "½"),
    *(
        "9" * 5000,
        "0x" + "f" * 5000,
        "1e" + "9" * 50,
        "1e999",
        "-9223372036854775809",
        "18446744073709551616u",
        "1.",
        ".5",
    ),
    *(
        '"\\ud800"',
        '"\\u12"',
        '"\\U00110000"',
        '"x"@',
        '"x"^^',
        "<a b>",
        "ex:",
        "nope:a",
        "_:b",
        "$",
        "nil",
        "autoinc()",
    ),
    *(
        ".decl",
        ".type",
        ".comp A { }",
        '.include "x"',
        ".plan",
        ".limitsize",
        "#[name(",
        "#include",
        "count :",
        "max(x)",
    ),
    *(
        "range(0, 1, 0)",
        "range(1, 9223372036854775807)",
        'match("(", "a")',
        "1 / 0",
        "x bshl 64",
        "as(1, T)",
        "as(x, any)",
    ),
    *(
        "count : { }",
        "sum x : { true }",
        "!(",
        "((((((((",
        "- - - -",
        "bnot",
        "true",
        "_",
        "p()",
        "p",
        "x = x",
        "eqrel",
    ),
    *(
        ".limitsize e0(n=" + "7" * 5000 + ")",
        '.input e0(columns="' + "7" * 5000 + '")',
        ".output nothing",
        "@prefix ex:",
    ),
]


def corrupted(seed: int) -> str:
    """The text of a seed."""
    random = Random(seed)
    tokens = _TOKEN.findall(program(seed).text)
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        place = random.randrange(len(tokens) + 1)
        match random.randrange(6):
            case 0:
                del tokens[place : place + random.choice([1, 1, 3])]
            case 1:
                tokens[place:place] = tokens[place : place + random.choice([1, 2, 10])]
            case 2:
                other = random.randrange(len(tokens) + 1)
                tokens[place : place + 1], tokens[other : other + 1] = (
                    tokens[other : other + 1],
                    tokens[place : place + 1],
                )
            case 3 | 4:
                tokens[place : place + random.choice([0, 1])] = [random.choice(_ODD)]
            case _:
                tokens[place:] = tokens[place : place + random.choice([0, 5, 500])]
    return "".join(tokens)
