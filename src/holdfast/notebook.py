"""HTML representations of our objects for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table; all texts are escaped."""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    top = f"<caption>{escape(caption)}</caption><thead><tr>{_cells('th', head)}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _cells(kind: str, texts: Iterable[str]) -> str:
    return "".join(f"<{kind}>{escape(text)}</{kind}>" for text in texts)
