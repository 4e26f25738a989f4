"""Refuses what Soufflé derives by chance or by order, since it cannot be maintained exactly; suggests a replacement."""

from __future__ import annotations

from holdfast.errors import Diagnostics
from holdfast.language import tree


def report_refused(program: tree.Program, diagnostics: Diagnostics) -> None:
    """Report choices, subsumptions and functors with a state."""
    for item in program.items:
        match item:
            case tree.Declaration(names=names, choices=[key, *_]):
                _choice(names[0], key, item, diagnostics)
            case tree.Subsumption(worse=worse):
                _subsumption(worse, item, diagnostics)
            case tree.FunctorDeclaration(name=name, stateful=True):
                message = f"@{name} is stateful: its result depends on when it is called"
                help = "make it pure (equal arguments give equal results) and remove `stateful`"
                diagnostics.error("E0217", message, item.span, help=help)


def _choice(name: tree.Name, key: tuple[str, ...], item: tree.Declaration, diagnostics: Diagnostics) -> None:
    columns = [attribute.name for attribute in item.attributes]
    rest = next((column for column in columns if column not in key), "x")
    other = next(name for name in ("y", "z", "one", "other") if name not in columns)
    inside = ", ".join(other if column == rest else column for column in columns)
    message = f"{name.text} has a `choice-domain`, so its result depends on the order of evaluation"
    help = f"derive all in all({', '.join(columns)}), and choose for each {', '.join(key)} by value: "
    help += f"{rest} = min {other} : {{ all({inside}) }}"
    diagnostics.error("E0217", message, item.span, help=help)


def _subsumption(worse: tree.Atom, item: tree.Subsumption, diagnostics: Diagnostics) -> None:
    name = worse.name.text
    message = f"{name} drops facts during evaluation (`<=`), so its result depends on the order of evaluation"
    help = "derive all, and keep the best in a relation of its own: "
    help += f"least(x, n) :- {name}(x, _), n = min m : {{ {name}(x, m) }}"
    diagnostics.error("E0217", message, item.span, help=help)
