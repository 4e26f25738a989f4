"""Programs that are large in one way, each of a size that can be chosen."""

from __future__ import annotations

from collections.abc import Callable


def _each(count: int, text: Callable[[int], str], between: str = "\n") -> str:
    return between.join(map(text, range(count)))


SIZES: dict[str, Callable[[int], str]] = {
    "facts": lambda n: _each(n, lambda i: f'e({i}, "a{i}", {i}.5).'),
    "facts on one line": lambda n: _each(n, lambda i: f"e({i}).", " "),
    "chain of rules": lambda n: "p0(1).\n" + _each(n, lambda i: f"p{i + 1}(x) :- p{i}(x)."),
    "cycle of rules": lambda n: "p0(1).\n" + _each(n, lambda i: f"p{(i + 1) % n}(x) :- p{i}(x)."),
    "body of atoms": lambda n: f"e(1, 1). p(x0) :- {_each(n, lambda i: f'e(x{i}, x{i + 1})', ', ')}.",
    "equations": lambda n: f"e(1). p(x{n}) :- e(x0), {_each(n, lambda i: f'x{n - i} = x{n - i - 1} + 1', ', ')}.",
    "equal variables": lambda n: f"e(1). p(x{n}) :- e(x0), {_each(n, lambda i: f'x{n - i - 1} = x{n - i}', ', ')}.",
    "nesting": lambda n: f"e(1). p(x) :- e(x), x > {_each(n, lambda i: '(1 + 2) * 3', ', x > ')}.",
    "declarations": lambda n: _each(n, lambda i: f".decl p{i}(x: number, y: symbol)"),
    "types": lambda n: ".type T0 <: number\n" + _each(n, lambda i: f".type T{i + 1} <: T{i}") + f"\n.decl p(x: T{n})",
    "negations": lambda n: f"e(1). p(x) :- e(x), {_each(n, lambda i: f'!q{i}(x)', ', ')}.",
    "rules with negation": lambda n: "e(1). q(2).\n" + _each(n, lambda i: f"p{i}(x) :- e(x), !q(x)."),
    "rules with aggregates": lambda n: "e(1, 2).\n" + _each(n, lambda i: f"p{i}(m) :- m = {_greatest(i)}."),
    "aggregates in a body": lambda n: (
        f"e(1, 2). p(x) :- e(x, _), {_each(n, lambda i: f'm{i} = {_greatest(i)}', ', ')}."
    ),
    "disjunction": lambda n: f"e(1). p(x) :- {_each(n, lambda i: f'e(x), x != {i}', ' ; ')}.",
    "comparisons": lambda n: f"e(1). p(x) :- e(x), {_each(n, lambda i: f'x != {i}', ', ')}.",
    "columns": lambda n: f"e({_each(n, str, ', ')}). p({_each(n, _variable, ', ')}) :- e({_each(n, _variable, ', ')}).",
    "heads": lambda n: f"e(1). {_each(n, lambda i: f'p{i}(x)', ', ')} :- e(x).",
    "named rules": lambda n: "e(1).\n" + _each(n, lambda i: f'#[name("n{i}")] p(x) :- e(x), x != {i}.'),
    "ranges": lambda n: f"p(x0) :- {_each(n, lambda i: f'x{i} = range(0, 1)', ', ')}.",
    "names alike": lambda n: f"e(1). p(x) :- e(x), {_each(n, lambda i: f'!{_word(i)}(x)', ', ')}.",
    "syntax errors": lambda n: _each(n, lambda i: f"p({i} q)."),
    "unsafe variables": lambda n: f"e(1). p(x) :- e(x), {_each(n, lambda i: f'y{i} < z{i}', ', ')}.",
    "type errors": lambda n: "e(1).\n" + _each(n, lambda i: f'p{i}(x) :- e(x), x = "a".'),
}


def _variable(number: int) -> str:
    return f"x{number}"


def _greatest(number: int) -> str:
    return f"max y : {{ e(x, y), y > {number} }}"


def _word(number: int) -> str:
    """A name of letters only, so that it might be a slip of another one."""
    return "name_" + "".join("abcdefghij"[int(digit)] * 3 for digit in str(number))
