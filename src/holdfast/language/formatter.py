"""`holdfast fmt`: a program in canonical form, with its comments and blank lines.

A comment belongs to the item that contains it, that it follows on the same line, or that it precedes.  Inside a rule it
belongs to a literal, and the rule is then printed one literal per line, so that the comment stays beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from holdfast.errors import Span
from holdfast.language import tree
from holdfast.language.comments import Comment
from holdfast.language.parser import parse_with_comments
from holdfast.language.printer import INDENT, RulePart, component_head, pieces, show_attribute, show_item
from holdfast.quick_dataclass import dataclass


@dataclass
class _Block:
    """Lines that stay together, and their lines in the source."""

    lines: list[str]
    first: int
    last: int


@dataclass
class _Placed:
    """An item with the comments inside and after it."""

    item: tree.Item
    inside: list[Comment] = field(default_factory=list)
    behind: list[Comment] = field(default_factory=list)


def format_source(text: str, name: str = "<text>") -> str:
    """The canonical form of a program's text; formatting it again changes nothing."""
    program, comments = parse_with_comments(text, name)
    return "".join(line + "\n" for line in _lines(_blocks(program.items, comments)))


def _lines(blocks: list[_Block]) -> list[str]:
    """The lines of blocks, with runs of blank lines collapsed to one."""
    lines: list[str] = []
    for before, block in zip((None, *blocks), blocks, strict=False):
        if before is not None and block.first - before.last > 1:
            lines.append("")
        lines += block.lines
    return lines


def _blocks(items: Sequence[tree.Item], comments: Iterable[Comment]) -> list[_Block]:
    """Items and the comments between them, in source order."""
    placed = [_Placed(item) for item in items]
    blocks = []
    index = 0
    for comment in comments:
        while index < len(placed) and _end(placed[index].item.span) <= _start(comment.span):
            index += 1
        if index < len(placed) and _start(placed[index].item.span) <= _start(comment.span):
            placed[index].inside.append(comment)
        elif index and not comment.own_line and placed[index - 1].item.span.end_line == comment.span.line:
            placed[index - 1].behind.append(comment)
        else:
            blocks.append(_Block([_text(comment)], comment.span.line, _last_line(comment)))
    blocks += [_item_block(each) for each in placed]
    return sorted(blocks, key=lambda block: block.first)


def _item_block(placed: _Placed) -> _Block:
    span = placed.item.span
    last: list[Comment] = []
    if isinstance(placed.item, tree.Component):
        lines = _component(placed.item, placed.inside)
    elif isinstance(placed.item, tree.Rule):
        lines, last = _commented_rule(placed.item, placed.inside)
    else:
        lines, last = show_item(placed.item).split("\n"), placed.inside
    end = max([span.end_line, *map(_last_line, placed.behind)])
    return _Block([*lines[:-1], *_with_behind(lines[-1], "", [*last, *placed.behind])], span.line, end)


def _component(component: tree.Component, comments: list[Comment]) -> list[str]:
    """A component with its items and comments indented one step further; of a comment, only its first line."""
    blocks = _blocks(component.items, comments)
    inside = [INDENT + line if line else "" for line in _lines(blocks)]
    return [component_head(component), *inside, "}"]


def _commented_rule(rule: tree.Rule, comments: list[Comment]) -> tuple[list[str], list[Comment]]:
    """The lines of a rule with comments inside, and the comments to print after it."""
    parts = list(pieces(rule))
    before, behind = _by_piece(parts, comments)
    leading = list(map(_text, before[0]))
    if not any(before[1:]) and not any(behind[:-1]):
        return [*leading, *show_item(rule).split("\n")], behind[-1]
    lines = [*leading, *map(show_attribute, rule.attributes)]
    for i, piece in enumerate(parts):
        lines += [piece.indent + _text(comment) for comment in before[i] if i]
        lines += _with_behind(piece.indent + piece.text, piece.indent, behind[i] if i < len(parts) - 1 else [])
    return lines, behind[-1]


def _by_piece(parts: list[RulePart], comments: list[Comment]) -> tuple[list[list[Comment]], list[list[Comment]]]:
    """For each piece, the comments on lines before it and those after it."""
    before: list[list[Comment]] = [[] for _ in parts]
    behind: list[list[Comment]] = [[] for _ in parts]
    starts = [_start(piece.nodes[0].span) for piece in parts]
    for comment in comments:
        following = next((i for i, start in enumerate(starts) if start > _start(comment.span)), len(parts))
        if following < len(parts) and (comment.own_line or following == 0):
            before[following].append(comment)
        else:
            behind[following - 1].append(comment)
    return before, behind


def _with_behind(text: str, indent: str, comments: Sequence[Comment]) -> list[str]:
    """A text followed by comments: the first on the same line, the others below."""
    if not comments:
        return [text]
    rest = [indent + _text(comment) for comment in comments[1:]]
    return [f"{text}  {_text(comments[0])}", *rest]


def _text(comment: Comment) -> str:
    return "\n".join(line.rstrip() for line in comment.text.split("\n"))


def _last_line(comment: Comment) -> int:
    return comment.span.line + comment.text.count("\n")


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _end(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column
