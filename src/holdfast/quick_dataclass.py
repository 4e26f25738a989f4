"""The standard library's `dataclass`, but cheap to import.

The standard one generates and compiles six functions for each frozen class, which takes about a millisecond: a tenth of
a second for the classes that even the smallest program needs.  Here a class gets its fields from the standard library,
functions that all classes share, and an `__init__` compiled when the first instance is created.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False, eq: bool = True) -> Any:
        """Like `dataclasses.dataclass`, with the options used here."""

        def decorate(cls: type) -> type:
            return _decorated(cls, frozen, eq)

        return decorate if cls is None else decorate(cls)


def _decorated(cls: Any, frozen: bool, eq: bool) -> Any:
    own = dict(vars(cls))
    if own.get("__hash__", False) is None and "__eq__" in own:
        del own["__hash__"]  # Python set it, not the class
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise the standard library inspects the signature, for 13 ms
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    functions: dict[str, Any] = {
        "__init__": _init_at_first_use(cls, frozen),
        "__repr__": _repr([field.name for field in fields if field.repr]),
    }
    if eq:
        compared = _values([field.name for field in fields if field.compare])
        hashed = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])
        functions |= {"__eq__": _eq(compared), "__hash__": _hash(hashed) if frozen else None}
    if frozen:
        functions |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
    for name in functions.keys() - own.keys():
        setattr(cls, name, functions[name])
    return cls


def _values(names: list[str]) -> Callable[[Any], Any]:
    """A getter for the values of some fields."""
    return attrgetter(*names) if names else lambda instance: ()


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _eq(values: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        if other.__class__ is self.__class__:
            return (values(self),) == (values(other),)  # inside tuples an object equals itself, even NaN
        return NotImplemented

    return __eq__


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _refuse_setting(self: Any, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _init_at_first_use(cls: Any, frozen: bool) -> Callable[..., None]:
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        cls.__init__ = _compiled_init(cls, frozen)
        cls.__init__(self, *arguments, **named)

    return __init__


def _compiled_init(cls: Any, frozen: bool) -> Any:
    """The `__init__` that the standard library would have generated."""
    fields = dataclasses.fields(cls)
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    for field in fields:
        known[f"_default_{field.name}"] = field.default
        known[f"_make_{field.name}"] = field.default_factory
    taken = [field for field in fields if field.init]
    plain = [_parameter(field) for field in taken if not field.kw_only]
    named = [_parameter(field) for field in taken if field.kw_only]
    parameters = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    body = [line for field in fields for line in _assignment(field, frozen)]
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    text = f"def __init__({parameters}):\n" + "".join(f"    {line}\n" for line in body or ["pass"])
    exec(text, known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _parameter(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}=_default_{field.name}"
    return field.name if field.default_factory is dataclasses.MISSING else f"{field.name}=_missing"


def _assignment(field: dataclasses.Field[Any], frozen: bool) -> Iterator[str]:
    name = field.name
    if field.default_factory is not dataclasses.MISSING:
        value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
    elif field.init:
        value = name
    else:
        return  # the class has the default, or `__post_init__` sets it
    yield f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}"
