"""`holdfast bench compare`: what became slower between two results of `make bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.command_line import Exit, Option, Positional
from holdfast.errors import Diagnostic, ExitCode, UsageError

if TYPE_CHECKING:
    from holdfast.cli.bench_results import Difference, Figure

EXAMPLE = "holdfast bench compare before.json after.json --threshold 1.2"


def compare(
    before: Annotated[Path, Positional(metavar="A.json", help="The earlier result.")],
    after: Annotated[Path, Positional(metavar="B.json", help="The later result.")],
    threshold: Annotated[
        float, Option("--threshold", metavar="X", help="Treat figures below this ratio as the same.")
    ] = 1.1,
    system: Annotated[
        str | None,
        Option("--system", metavar="NAME", show_default=False, help="Only this system: holdfast, duckdb, …"),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Compare two results; exit code 1 if something got slower.

    Figures are matched by table, row, system and variant. A figure is slower if its median is beyond the threshold and
    its runs do not overlap with the earlier ones, or if it no longer finishes.
    """
    from holdfast.cli.bench_results import differences, read

    if not 1 <= threshold < float("inf"):
        raise UsageError(
            Diagnostic(
                codes.BAD_THRESHOLD,
                f"--threshold {threshold:g} is below 1",
                help="1.1 treats figures up to a tenth slower as the same",
            )
        )
    first, second = read(before), read(after)
    found = [one for one in differences(first, second) if system in (None, one.place[2])]
    if not found:
        raise UsageError(Diagnostic(codes.NOTHING_IN_COMMON, f"the files have no figures of {system} in common"))
    slower = [one for one in found if one.slower(threshold)]
    quicker = [one for one in reversed(found) if one.quicker(threshold)]
    same = len(found) - len(slower) - len(quicker)
    missing, new = (
        sum(place not in other.figures for place in one.figures if system in (None, place[2]))
        for one, other in ((first, second), (second, first))
    )
    if json:
        terminal.json(
            {
                "ok": not slower,
                "threshold": threshold,
                "before": first.commit,
                "after": second.commit,
                "slower": [_as_json(one) for one in slower],
                "quicker": [_as_json(one) for one in quicker],
                "same": same,
                "missing": missing,
                "new": new,
                "machines": [first.machine, second.machine],
            }
        )
    else:
        if first.machine != second.machine:
            terminal.line(
                f"different machines: {before} is of {first.machine or 'an unnamed machine'}, {after} "
                f"of {second.machine or 'an unnamed machine'}; times differ by that alone"
            )
        _show("slower", slower)
        _show("quicker", quicker)
        terminal.line(
            f"{len(slower)} slower, {len(quicker)} quicker, {same} the same within the threshold of "
            f"{threshold:g} or the spread of the runs; {missing} only in {before}, {new} only in {after}"
        )
    if slower:
        raise Exit(ExitCode.CHECK_FAILED)


def _show(word: str, some: list[Difference]) -> None:
    if not some:
        return
    terminal.heading(word)
    terminal.table(
        ("table", "row", "system", "before", "after", "times"),
        [
            (
                one.place[0],
                one.place[1],
                " ".join(one.place[2:]).strip(),
                _figure(one.before),
                _figure(one.after),
                f"{one.ratio:.2f}" if one.after.runs else "",
            )
            for one in some
        ],
    )


def _figure(figure: Figure) -> str:
    if not figure.runs:
        return figure.failure or "no runs"
    low, high = figure.range
    spread = f" ({low:.4g}–{high:.4g})" if len(figure.runs) > 1 else " (1 run)"
    return f"{figure.median:.4g} {figure.unit}{spread}"


def _as_json(one: Difference) -> dict[str, object]:
    table, row, system, variant = one.place
    return {
        "table": table,
        "row": row,
        "system": system,
        "variant": variant,
        "unit": one.before.unit,
        "before": one.before.median,
        "after": one.after.median if one.after.runs else None,
        "times": one.ratio if one.after.runs else None,
        "failure": one.after.failure,
    }
