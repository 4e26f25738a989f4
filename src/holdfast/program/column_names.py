"""Names for the columns of undeclared relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.language import tree


def column_names(atoms: Sequence[tree.Atom], arity: int) -> tuple[str, ...]:
    """Names each column after the first variable or aggregate at its position; names are unique.

    A column without such a variable is named by its number: c1, c2, …
    """
    found: list[str | None] = []
    for place in range(arity):
        name = next(_variables(atoms, place), None)
        found.append(name if name not in found else None)
    taken = {name for name in found if name is not None}
    return tuple(name if name is not None else _numbered(place, taken) for place, name in enumerate(found))


def _variables(atoms: Iterable[tree.Atom], place: int) -> Iterator[str]:
    for atom in atoms:
        match atom.arguments[place]:
            case tree.Variable(name=name):
                yield name.lstrip("?")
            case tree.HeadAggregate(function=function):
                yield function


def _numbered(place: int, taken: set[str]) -> str:
    name = f"c{place + 1}"
    while name in taken:
        name += "_"
    return name
