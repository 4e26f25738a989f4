"""Checks of argument types at the start of a call."""

from __future__ import annotations

from typing import Any, NoReturn

from holdfast.errors import Diagnostic, UsageError


def expect(value: object, kinds: type | tuple[type, ...], message: str, help: str | None = None) -> None:
    """Raise `UsageError` unless the value is of one of the kinds.  The message ends before `, not a list`."""
    if not isinstance(value, kinds):
        refuse_kind(value, message, help)


def expect_number(value: object, name: str, *, whole: bool = True) -> None:
    """Raise `UsageError` unless the value is a number that is not negative, or None."""
    kinds = (int,) if whole else (int, float)
    if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value >= 0):
        what = "a whole number" if whole else "a number"
        message = f"{name} is {what} that is not negative, or None, not {value!r}"
        raise UsageError(Diagnostic("E0926", message))


def refuse_kind(value: object, message: str, help: str | None = None) -> NoReturn:
    """Raise `UsageError` because the value has the wrong type."""
    raise UsageError(Diagnostic("E0926", f"{message}, not {kind_of(value)}", help=help))


def kind_of(value: Any) -> str:
    """A value's type in words: `a list`, `an int`, `None`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


class NoSuchMethodError(UsageError, AttributeError):
    """A method that a knowledge base does not have, with what to write instead."""


_INSERT = 'with kb.update() as u: u.insert("edge", [(1, 2)])'
_DELETE = 'with kb.update() as u: u.delete("edge", [(1, 2)])'
_ADD = 'with kb.update() as u: u.add_rules("path(x, y) :- edge(x, y).")'
_REMOVE = 'with kb.update() as u: u.remove_rules("r1")'
_INSTEAD = {
    **dict.fromkeys(("insert", "add", "add_fact", "add_facts", "insert_facts", "assert_fact", "append"), _INSERT),
    **dict.fromkeys(("delete", "remove", "remove_fact", "remove_facts", "delete_facts", "retract", "discard"), _DELETE),
    **dict.fromkeys(("add_rule", "add_rules", "rule"), _ADD),
    **dict.fromkeys(("remove_rule", "remove_rules", "delete_rules"), _REMOVE),
    **dict.fromkeys(("ask", "select", "sql", "execute"), 'kb.query("path(1, x)")'),
    **dict.fromkeys(("relation", "get", "facts", "rows", "table"), 'kb["path"]'),
    **dict.fromkeys(("keys", "items", "values"), "kb.relations, which is a mapping"),
}
"""Methods that users of other libraries try on a knowledge base."""


def missing_method(owner: object, name: str) -> AttributeError:
    """The error for an attribute that a knowledge base lacks."""
    message = f"a knowledge base has no {name}"
    if name not in _INSTEAD:
        return AttributeError(message, name=name, obj=owner)  # Python suggests similar names
    return NoSuchMethodError(Diagnostic("E0927", message, help=f"write {_INSTEAD[name]}"))
