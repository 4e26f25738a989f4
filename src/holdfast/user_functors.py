"""Functors that a user writes in Python: `.functor f(number): symbol` declares one, `holdfast.functor` defines it.

A functor is pure: the same arguments always give the same result.  Maintenance relies on it, since what was derived is
taken back by computing it again.  It is called once for each different tuple of arguments of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from holdfast.errors import Diagnostic, UsageError
from holdfast.program.model import Apply, Program, Term
from holdfast.quick_dataclass import dataclass

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class UserFunctor:
    """A Python function; a vectorised one takes a NumPy array for each parameter and gives one."""

    name: str
    function: Callable[..., Any]
    vectorised: bool = False


_REGISTERED: dict[str, UserFunctor] = {}


@overload
def functor(function: F) -> F: ...


@overload
def functor(*, name: str | None = None, vectorised: bool = False) -> Callable[[F], F]: ...


def functor(function: F | None = None, *, name: str | None = None, vectorised: bool = False) -> F | Callable[[F], F]:
    """Give a functor of programs its meaning; as a decorator, with or without arguments.

    The functor is called as the function is, or `name`.  It must be pure.
    """

    def register(given: F) -> F:
        called = name or given.__name__
        _REGISTERED[f"@{called}"] = UserFunctor(called, given, vectorised)
        return given

    return register if function is None else register(function)


def registered(name: str) -> UserFunctor:
    """The functor that programs call `@name`."""
    return _REGISTERED[name]


def require(program: Program) -> None:
    """Refuse a program that uses a functor nobody gave a meaning."""
    for rule in program.rules:
        missing = [name for name in _used(_terms(rule.arguments, rule.body)) if name not in _REGISTERED]
        if missing:
            message = f"the functor {missing[0]} has no Python function"
            bare = missing[0].removeprefix("@")
            help = f"register one before: @holdfast.functor on `def {bare}(…)`; on the command line, --functors FILE.py"
            raise UsageError(Diagnostic("E0923", message, rule.span, help=help))


def _terms(arguments: Iterable[Term], body: Iterable[Any]) -> Iterable[Any]:
    from holdfast.plans.literals import terms

    yield from arguments
    for literal in body:
        yield from terms(literal)


def _used(terms: Iterable[Any]) -> Iterable[str]:
    for term in terms:
        if isinstance(term, Apply):
            if term.function.startswith("@"):
                yield term.function
            yield from _used(term.arguments)
