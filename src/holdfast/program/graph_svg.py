"""The graph of hyper-nodes as a drawing: layers from top to bottom, in an SVG that needs no other program."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from holdfast.program.graph import rule_names
from holdfast.program.model import HyperNode, Program

_CHARACTER, _LINE, _MARGIN, _GAP, _LAYER_GAP = 7.3, 17, 12, 28, 64
_MOST_LINES, _MOST_CHARACTERS = 8, 44
_STYLE = """
  text { font: 12px ui-monospace, monospace; fill: #1f2933 }
  .title { font-weight: 600 }
  .rules { fill: #616e7c }
  rect { fill: #f5f7fa; stroke: #3e4c59; stroke-width: 1.2 }
  .recursive { fill: #e3f1ff; stroke-width: 2.4 }
  .auxiliary { fill: #ffffff; stroke: #9aa5b1; stroke-dasharray: 4 3 }
  path { fill: none; stroke: #3e4c59; stroke-width: 1.2; marker-end: url(#positive) }
  .negative { stroke: #c0392b; stroke-dasharray: 6 4; marker-end: url(#negative) }
"""


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
    boxes = _placed(program)
    width = max((box.x + box.width for box in boxes), default=0) + _MARGIN
    height = max((box.y + box.height for box in boxes), default=0) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "<title>Hyper-nodes: solid edges are positive, dashed red ones negative</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_arrow('positive', '#3e4c59')}{_arrow('negative', '#c0392b')}</defs>",
    ]
    for box in boxes:
        parts += [_edge(boxes[n], box, "positive") for n in box.node.positive]
        parts += [_edge(boxes[n], box, "negative") for n in box.node.negative]
    parts += [_drawn(box, program) for box in boxes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def layers(nodes: tuple[HyperNode, ...]) -> list[list[int]]:
    """Each node one layer below the lowest that it reads, in an order that keeps readers near what they read."""
    depth: dict[int, int] = {}
    for node in nodes:  # in topological order
        depth[node.index] = 1 + max((depth[n] for n in _read(node)), default=-1)
    found: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for index, layer in depth.items():
        found[layer].append(index)
    place: dict[int, float] = {}
    for layer_nodes in found:
        layer_nodes.sort(key=lambda index: (_middle([place[n] for n in _read(nodes[index])]), index))
        place.update({index: position / len(layer_nodes) for position, index in enumerate(layer_nodes)})
    return found


def _read(node: HyperNode) -> set[int]:
    return {*node.positive, *node.negative} - {node.index}


def _middle(places: list[float]) -> float:
    return sum(places) / len(places) if places else 0.5


def _placed(program: Program) -> list[Box]:
    boxes = {node.index: Box(node, _lines(node, program)) for node in program.nodes}
    rows = layers(program.nodes)
    widths = [sum(boxes[i].width + _GAP for i in row) - _GAP for row in rows]
    widest, y = max(widths, default=0), float(_MARGIN)
    for row, width in zip(rows, widths, strict=True):
        x = _MARGIN + (widest - width) / 2
        for index in row:
            boxes[index] = Box(boxes[index].node, boxes[index].lines, x, y)
            x += boxes[index].width + _GAP
        y += max(boxes[i].height for i in row) + _LAYER_GAP
    return [boxes[node.index] for node in program.nodes]


def _lines(node: HyperNode, program: Program) -> tuple[str, ...]:
    names = [program.relations[name].display for name in node.predicates]
    return (*_wrapped(names), *_wrapped(rule_names(node)))


def _wrapped(words: list[str]) -> list[str]:
    """Words in lines; what would make the box too high is counted instead of shown."""
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


def _edge(source: Box, target: Box, kind: str) -> str:
    aside = 8 if kind == "negative" else -8  # two nodes may have an edge of each kind
    x1, y1 = source.x + source.width / 2 + aside, source.y + source.height
    x2, y2 = target.x + target.width / 2 + aside, target.y - 2
    bend = max(24.0, (y2 - y1) / 2)
    curve = f"M {x1:.1f} {y1:.1f} C {x1:.1f} {y1 + bend:.1f}, {x2:.1f} {y2 - bend:.1f}, {x2:.1f} {y2:.1f}"
    return f'<path class="{kind}" d="{curve}"/>'


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M 0 0 L 8 4 L 0 8 z" style="fill:{colour};stroke:none;marker-end:none"/></marker>'
    )
