"""`holdfast graph`: the hyper-nodes of a program and what each one reads."""

from __future__ import annotations

import json as json_module
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import files, options, terminal
from holdfast.cli.check import load
from holdfast.cli.command_line import Option

if TYPE_CHECKING:
    from holdfast.program.model import Program

EXAMPLE = "holdfast graph examples/policy/policy.dl --format svg -o policy.svg"


class Format(StrEnum):
    """The output format of the graph."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"


def graph(
    program: options.ProgramFile,
    format: Annotated[Format, Option("--format", help="How to draw it.")] = Format.TEXT,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE", help="Write to a file instead of printing.")
    ] = None,
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Show the hyper-nodes in evaluation order.

    A hyper-node is a group of relations that depend on each other and are evaluated together.
    """
    files.writable_file(output)
    drawing = _drawn(load(program, macro, include, writes=output), Format.JSON if json else format)
    if output is None:
        terminal.text(drawing)
    else:
        files.write_text(output, drawing)
        terminal.note(f"wrote {output}")


def _drawn(program: Program, format: Format) -> str:
    import holdfast.program.graph_views as graph_views

    match format:
        case Format.TEXT:
            drawing = graph_views.graph_text(program)
        case Format.DOT:
            drawing = graph_views.graph_dot(program)
        case Format.SVG:
            drawing = graph_views.graph_svg(program)
        case Format.JSON:
            drawing = json_module.dumps(graph_views.graph_json(program), ensure_ascii=False, indent=2)
    return drawing if drawing.endswith("\n") else drawing + "\n"
