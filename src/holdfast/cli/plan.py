"""`holdfast plan`: how each rule is evaluated."""

from __future__ import annotations

from holdfast.cli import options, terminal
from holdfast.cli.check import load

EXAMPLE = "holdfast plan examples/reachability/reachability.dl"


def plan(program: options.ProgramFile, json: options.AsJson = False) -> None:
    """Show join orders and delta rules."""
    checked = load(program)
    from holdfast import plans

    if json:
        terminal.json(plans.explain_json(checked))
    else:
        terminal.text(plans.explain(checked))
