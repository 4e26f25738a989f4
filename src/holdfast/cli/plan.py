"""`holdfast plan`: how each rule is evaluated."""

from __future__ import annotations

from holdfast.cli import options, terminal
from holdfast.cli.check import load

EXAMPLE = "holdfast plan examples/reachability/reachability.dl"


def plan(
    program: options.ProgramFile,
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Show join orders, delta rules, and modules."""
    modules = options.modules(no_module)
    checked = load(program, macro, include)
    from holdfast import plans
    from holdfast.modules.explain import module_data, module_lines

    if json:
        terminal.json(plans.explain_json(checked, lambda node: module_data(node, checked, modules)))
    else:
        terminal.text(plans.explain(checked, lambda node: module_lines(node, checked, modules)))
