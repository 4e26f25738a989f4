"""Draws the graph of hyper-nodes: layers from top to bottom, in an SVG that needs no other program."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from holdfast.program.graph import rule_names
from holdfast.program.model import HyperNode, Program

_CHARACTER, _LINE, _MARGIN, _GAP, _LAYER_GAP, _LANE = 7.3, 17, 12, 28, 64, 24
_LEGEND_WIDTH = 440.0
_MOST_LINES, _MOST_CHARACTERS = 8, 44
_STYLE = """
  .paper { fill: #ffffff; stroke: none }
  text { font: 12px ui-monospace, monospace; fill: #1f2933 }
  .title { font-weight: 600 }
  .rules { fill: #616e7c }
  rect { fill: #f5f7fa; stroke: #3e4c59; stroke-width: 1.2 }
  .recursive { fill: #e3f1ff; stroke-width: 2.4 }
  .auxiliary { fill: #ffffff; stroke: #9aa5b1; stroke-dasharray: 4 3 }
  path { fill: none; stroke: #3e4c59; stroke-width: 1.2; marker-end: url(#positive) }
  .legend text { font-size: 11px; fill: #616e7c }
  .negative { stroke: #c0392b; stroke-dasharray: 6 4; marker-end: url(#negative) }
"""


LayerItem: TypeAlias = int | tuple[int, int]
"""An item of a layer: a node by its index, or the lane for the edges from a node through the layer."""


@dataclass(frozen=True)
class Lane:
    """A free path through a layer."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Box:
    """A hyper-node in the drawing."""

    node: HyperNode
    lines: tuple[str, ...]
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        """Wide enough for the longest line."""
        return max(len(line) for line in self.lines) * _CHARACTER + 2 * _MARGIN

    @property
    def height(self) -> float:
        """High enough for all lines."""
        return len(self.lines) * _LINE + 2 * _MARGIN - 4


def graph_svg(program: Program) -> str:
    """The drawing: data flows downwards; negative edges are red and dashed, recursive nodes blue."""
    rows = layers(program.nodes)
    boxes, lanes = _placed(program, rows)
    bottom = max((box.y + box.height for box in boxes), default=0) + _MARGIN
    width = max([_LEGEND_WIDTH, *(box.x + box.width for box in boxes), *(lane.x + _LANE for lane in lanes.values())])
    width, height = width + _MARGIN, bottom + 2 * _LINE + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "<title>Hyper-nodes: solid edges are positive, dashed red ones negative</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_arrow('positive', '#3e4c59')}{_arrow('negative', '#c0392b')}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    for box in boxes:
        parts += [_edge(boxes[n], box, "positive", lanes) for n in box.node.positive]
        parts += [_edge(boxes[n], box, "negative", lanes) for n in box.node.negative]
    parts += [_drawn(box, program) for box in boxes]
    return "\n".join([*parts, *_legend(bottom), "</svg>"]) + "\n"


def layers(nodes: tuple[HyperNode, ...]) -> list[list[LayerItem]]:
    """Puts each node one layer below the lowest that it reads, in an order that keeps readers near what they read.

    An edge that passes through a layer gets a lane in it, the place (node read, layer), so that it crosses no box.
    """
    depth: dict[int, int] = {}
    for node in nodes:  # in topological order
        depth[node.index] = 1 + max((depth[n] for n in _read(node)), default=-1)
    found: list[list[LayerItem]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for index, layer in depth.items():
        found[layer].append(index)
    last = {n: max(depth[m.index] for m in nodes if n in _read(m)) for m in nodes for n in _read(m)}
    for index, lowest in last.items():
        for layer in range(depth[index] + 1, lowest):
            found[layer].append((index, layer))
    return _ordered(found, nodes)


def _ordered(rows: list[list[LayerItem]], nodes: tuple[HyperNode, ...]) -> list[list[LayerItem]]:
    """Sorts each layer by the average position of what its places read."""
    where: dict[LayerItem, float] = {}

    def above(place: LayerItem, layer: int) -> list[float]:
        sources = _read(nodes[place]) if isinstance(place, int) else {place[0]}
        return [where.get((n, layer - 1), where.get(n, 0.5)) for n in sources]

    for layer, row in enumerate(rows):
        middles = {place: _middle(above(place, layer)) for place in row}
        row.sort(key=lambda place: (middles[place], isinstance(place, int), place))
        where.update({place: (position + 0.5) / len(row) for position, place in enumerate(row)})
    return rows


def _read(node: HyperNode) -> set[int]:
    return {*node.positive, *node.negative} - {node.index}


def _middle(places: list[float]) -> float:
    return sum(places) / len(places) if places else 0.5


def _placed(program: Program, rows: list[list[LayerItem]]) -> tuple[list[Box], dict[LayerItem, Lane]]:
    boxes = {node.index: Box(node, _lines(node, program)) for node in program.nodes}
    lanes: dict[LayerItem, Lane] = {}
    widths = [sum(_width(place, boxes) + _GAP for place in row) - _GAP for row in rows]
    widest, y = max(widths, default=0), float(_MARGIN)
    for row, width in zip(rows, widths, strict=True):
        x = _MARGIN + (widest - width) / 2
        height = max(boxes[place].height for place in row if isinstance(place, int))
        for place in row:
            if isinstance(place, int):
                boxes[place] = Box(boxes[place].node, boxes[place].lines, x, y)
            else:
                lanes[place] = Lane(x + _LANE / 2, y, y + height)
            x += _width(place, boxes) + _GAP
        y += height + _LAYER_GAP
    return [boxes[node.index] for node in program.nodes], lanes


def _width(place: LayerItem, boxes: dict[int, Box]) -> float:
    return boxes[place].width if isinstance(place, int) else _LANE


def _lines(node: HyperNode, program: Program) -> tuple[str, ...]:
    names = [program.relations[name].display for name in node.predicates]
    return (*_wrapped(names), *_wrapped(rule_names(node)))


def _wrapped(words: list[str]) -> list[str]:
    """Words in lines; those that would make the box too high are counted instead of shown."""
    lines: list[str] = []
    for shown, word in enumerate(words):
        if lines and len(lines[-1]) + len(word) + 2 <= _MOST_CHARACTERS:
            lines[-1] += f", {word}"
        elif len(lines) == _MOST_LINES:
            return [*lines, f"… and {len(words) - shown} more"]
        else:
            lines.append(word)
    return lines


def _drawn(box: Box, program: Program) -> str:
    kind = "recursive" if box.node.is_recursive else "plain"
    if all(program.relations[name].auxiliary for name in box.node.predicates):
        kind = "auxiliary"
    titles = len(_wrapped([program.relations[name].display for name in box.node.predicates]))
    texts = [
        f'<text class="{"title" if i < titles else "rules"}" x="{box.x + _MARGIN:.1f}" '
        f'y="{box.y + _MARGIN + 10 + i * _LINE:.1f}">{escape(line)}</text>'
        for i, line in enumerate(box.lines)
    ]
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    rect = f'<rect class="{kind}" x="{box.x:.1f}" y="{box.y:.1f}" {size} rx="6"/>'
    return "\n".join([f'<g id="node{box.node.index}">', rect, *texts, "</g>"])


def _edge(source: Box, target: Box, kind: str, lanes: dict[LayerItem, Lane]) -> str:
    aside = 8 if kind == "negative" else -8  # two nodes may have an edge of each kind
    x, y = source.x + source.width / 2 + aside, source.y + source.height
    path = f"M {x:.1f} {y:.1f}"
    passed = [lane for place, lane in lanes.items() if _passes(place, source, lane, target)]  # from top to bottom
    for lane in passed:
        path += _curve(x, y, lane.x + aside, lane.top) + f" V {lane.bottom:.1f}"
        x, y = lane.x + aside, lane.bottom
    path += _curve(x, y, target.x + target.width / 2 + aside, target.y - 2)
    return f'<path class="{kind}" d="{path}"/>'


def _passes(place: LayerItem, source: Box, lane: Lane, target: Box) -> bool:
    return isinstance(place, tuple) and place[0] == source.node.index and lane.top < target.y


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    bend = max(24.0, (y2 - y1) / 2)
    return f" C {x1:.1f} {y1 + bend:.1f}, {x2:.1f} {y2 - bend:.1f}, {x2:.1f} {y2:.1f}"


def _legend(top: float) -> list[str]:
    """The meaning of lines and boxes."""
    y = top + _LINE
    return [
        '<g class="legend">',
        *(f'<path class="{kind}" d="M {x:.1f} {y:.1f} h 30"/>' for kind, x in (("positive", 12), ("negative", 102))),
        f'<text x="50" y="{y + 4:.1f}">reads</text>',
        f'<text x="140" y="{y + 4:.1f}">reads when complete: negation, aggregate</text>',
        f'<rect class="recursive" x="13" y="{y + 11:.1f}" width="28" height="12" rx="3"/>',
        f'<text x="50" y="{y + 21:.1f}">recursive</text>',
        f'<rect class="auxiliary" x="139" y="{y + 11:.1f}" width="28" height="12" rx="3"/>',
        f'<text x="176" y="{y + 21:.1f}">made for an aggregate</text>',
        "</g>",
    ]


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M 0 0 L 8 4 L 0 8 z" style="fill:{colour};stroke:none;marker-end:none"/></marker>'
    )
