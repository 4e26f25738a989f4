"""Tables on a screen."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from bench.sheets import Sheet

_NAME = 16  # columns of a screen at least for the names of rows, however wide the figures are


def on_screen(sheet: Sheet, console: Console) -> None:
    """Show a table."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in sheet.headings:
        first = heading == sheet.headings[0]
        table.add_column(
            heading, justify="left" if first else "right", overflow="fold", min_width=_NAME if first else None
        )
    for row in sheet.rows:
        table.add_row(*(cell.replace("**", "") for cell in row))
    console.print(table, markup=False)
    for note in sheet.notes:
        console.print(f"  {note}", markup=False)
    console.print()
