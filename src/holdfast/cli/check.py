"""`holdfast check`: check a program and report everything wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli import files, options, terminal

if TYPE_CHECKING:
    from holdfast.program.model import Program

EXAMPLE = "holdfast check examples/policy/policy.dl"


def check(
    program: options.ProgramFile,
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Check a program without running it.

    All errors are reported at once: names, types, unbound variables, negation in cycles.
    """
    checked = load(program, macro, include)
    counts = _counts(checked)
    if json:
        warnings = [warning.to_json() for warning in checked.warnings]
        terminal.json({"ok": True, **counts, "diagnostics": warnings})
        return
    terminal.diagnostics(checked.warnings)
    terminal.line("ok: " + ", ".join(terminal.counted(number, noun) for noun, number in counts.items()))


def load(path: Path, macro: Sequence[str] = (), include: Sequence[Path] = (), *, writes: Path | None = None) -> Program:
    """Parse and check a file; `writes` are the command's outputs, none of which may be a file that it reads."""
    text = files.read_text(path)
    from holdfast import language
    from holdfast.program import check as check_tree

    parsed = language.parse(text, files.shown_name(path), options.preprocessing(macro, include))
    files.refuse_overwriting(writes, [path, *map(Path, parsed.source.files)])
    return check_tree(parsed)


def _counts(program: Program) -> dict[str, int]:
    """Count what the user wrote, not the relations and rules that the checker added."""
    return {
        "relations": sum(not relation.auxiliary for relation in program.relations.values()),
        "rules": len({rule.name for rule in program.rules} | {rule.name for rule in program.aggregates}),
        "hyper-nodes": len(program.nodes),
    }
