"""Functors that a user writes in Python: `.functor f(number): symbol` declares one, `holdfast.functor` defines it.

A functor is pure: equal arguments always give equal results.  Maintenance relies on this, because it retracts derived
facts by computing them again.  A functor is called once for each distinct tuple of arguments in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeVar, overload

from holdfast.boundary import public
from holdfast.errors import Diagnostic, UsageError
from holdfast.program.model import Apply, Program, Rule, Term
from holdfast.quick_dataclass import dataclass
from holdfast.values.single_values import shown_repr

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class UserFunctor:
    """A Python function; a vectorised one takes a NumPy array for each parameter and returns one."""

    name: str
    function: Callable[..., Any]
    vectorised: bool = False


_REGISTERED: dict[str, UserFunctor] = {}
_sent: ContextVar[Mapping[str, UserFunctor]] = ContextVar("functors", default=MappingProxyType({}))


@overload
def functor(function: F) -> F: ...


@overload
def functor(*, name: str | None = None, vectorised: bool = False) -> Callable[[F], F]: ...


@public
def functor(function: F | None = None, *, name: str | None = None, vectorised: bool = False) -> F | Callable[[F], F]:
    """Register a Python function as a functor of programs; a decorator, with or without arguments.

    The functor has the name of the function, or `name`.  The function must be pure.  With `vectorised`, it takes and
    returns NumPy arrays, one value for each row of a batch.
    """

    @public
    def register(given: F) -> F:
        called = name or str(getattr(given, "__name__", ""))
        if not callable(given) or not called.isidentifier():
            message = f"a functor is a function with a name, not {shown_repr(given)}"
            raise UsageError(Diagnostic("E0926", message, help='@holdfast.functor(name="f") names a function'))
        _REGISTERED[f"@{called}"] = UserFunctor(called, given, vectorised)
        return given

    return register if function is None else register(function)


def registered(name: str) -> UserFunctor:
    """The functor that programs call `@name`."""
    return _sent.get().get(name) or _REGISTERED[name]


@contextmanager
def using(functors: Mapping[str, UserFunctor]) -> Iterator[None]:
    """Inside a `with` these functors hold, which another process has sent."""
    before = _sent.set(functors)
    try:
        yield
    finally:
        _sent.reset(before)


def require(program: Program) -> None:
    """Refuse a program that uses an unregistered functor."""
    for rule in program.rules:
        missing = [name for name in functors_of(rule) if name not in _REGISTERED]
        if missing:
            message = f"the functor {missing[0]} has no Python function"
            bare = missing[0].removeprefix("@")
            help = f"register one first: @holdfast.functor on `def {bare}(…)`; on the command line, --functors FILE.py"
            raise UsageError(Diagnostic("E0923", message, rule.span, help=help))


def functors_of(rule: Rule) -> list[str]:
    """The functors of the user that a rule calls."""
    return list(_used(_terms(rule.arguments, rule.body)))


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
