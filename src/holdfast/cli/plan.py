"""`holdfast plan`: how each rule is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli import options, terminal
from holdfast.cli.check import load
from holdfast.cli.evaluate import evaluate

if TYPE_CHECKING:
    from holdfast.plans import SizeStatistics

EXAMPLE = "holdfast plan examples/reachability/reachability.dl"


def plan(
    program: options.ProgramFile,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Show join orders, delta rules, and modules.

    With -F, derives everything that follows first, and plans for the real sizes.
    """
    modules = options.modules(no_module)
    sizes: SizeStatistics | None = None
    if facts:
        base = evaluate(program, facts, (None, None, None, None), no_module, macro=macro, include=include)
        checked, sizes = base.program, base.size_statistics
    else:
        checked = load(program, macro, include)
    from holdfast import plans
    from holdfast.modules.explain import module_data, module_lines

    if json:
        terminal.json(plans.explain_json(checked, lambda node: module_data(node, checked, modules), sizes))
    else:
        terminal.text(plans.explain(checked, lambda node: module_lines(node, checked, modules), sizes))
