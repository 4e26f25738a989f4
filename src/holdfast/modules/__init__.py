"""Modules: special algorithms for recursive rules of certain shapes."""

from collections.abc import Iterable

from holdfast.arguments import expect
from holdfast.errors import Diagnostic, UsageError
from holdfast.modules.allotment import Allotment, allot
from holdfast.modules.interface import Changed, Declined, Module, ModuleContext, Rows, Service
from holdfast.modules.reflexive_closure import Equivalence, ReflexiveTransitiveClosure
from holdfast.modules.symmetric_transitive_closure import SymmetricTransitiveClosure
from holdfast.modules.transitive_closure import TransitiveClosure
from holdfast.program.similar import similar

MODULES: tuple[Module, ...] = (
    Equivalence(),
    SymmetricTransitiveClosure(),
    ReflexiveTransitiveClosure(),
    TransitiveClosure(),
)
"""All built-in modules, those that serve more rules first."""


def named(modules: Iterable[str | Module]) -> tuple[Module, ...]:
    """Modules given by name or as objects."""
    if isinstance(modules, str):
        modules = (modules,)
    expect(modules, Iterable, "modules are a list of names and modules")
    known, found = {module.name: module for module in MODULES}, list[Module]()
    for module in modules:
        if isinstance(module, str):
            if module not in known:
                help = similar(module, list(known)) or f"the modules are {', '.join(known)}"
                raise UsageError(Diagnostic("E0915", f"unknown module {module}", help=help))
            found.append(known[module])
        else:
            expect(module, Module, "a module is a name or a Module")
            found.append(module)
    return tuple(found)


__all__ = [
    "MODULES",
    "Allotment",
    "Changed",
    "Declined",
    "Module",
    "ModuleContext",
    "Rows",
    "Service",
    "allot",
    "named",
]
