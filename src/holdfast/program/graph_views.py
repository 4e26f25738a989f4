"""Shows the graph of hyper-nodes (HRDG) as text, as data, and for Graphviz.  graph_svg.py draws it."""

from __future__ import annotations

from holdfast.program.graph import rule_names
from holdfast.program.graph_svg import graph_svg
from holdfast.program.model import HyperNode, Program
from holdfast.program.show import show_rule

__all__ = ["GraphView", "graph_dot", "graph_json", "graph_svg", "graph_text", "node_title"]


class GraphView:
    """The graph of a program's hyper-nodes, which displays itself: drawn in a notebook, printed as text."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def svg(self) -> str:
        """The drawing."""
        return graph_svg(self._program)

    def dot(self) -> str:
        """The graph for Graphviz."""
        return graph_dot(self._program)

    def json(self) -> dict[str, object]:
        """The graph as data."""
        return graph_json(self._program)

    def __str__(self) -> str:
        return graph_text(self._program)

    def __repr__(self) -> str:
        nodes = len(self._program.nodes)
        return f"<graph: {nodes} hyper-node{'' if nodes == 1 else 's'}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def graph_text(program: Program) -> str:
    """Lists the hyper-nodes in the order of evaluation: predicates, rules, and what each reads."""
    return "\n\n".join(_node_text(node, program) for node in program.nodes) + "\n"


def node_title(node: HyperNode, program: Program) -> str:
    """The predicates of a hyper-node."""
    return ", ".join(program.relations[name].display for name in node.predicates)


def is_auxiliary(node: HyperNode, program: Program) -> bool:
    """Whether the node was made for an aggregate."""
    return all(program.relations[name].auxiliary for name in node.predicates)


def _node_text(node: HyperNode, program: Program) -> str:
    marks = ["recursive"] if node.is_recursive else []
    marks += ["made for an aggregate"] if is_auxiliary(node, program) else []
    lines = [f"hyper-node {node.index}: {node_title(node, program)}" + (f"  ({', '.join(marks)})" if marks else "")]
    groups = (("nonrecursive", node.nonrecursive), ("recursive", node.recursive), ("aggregate", node.aggregates))
    for kind, rules in groups:
        lines += [f"  {kind:<12}  {rule.name}: {show_rule(rule, program.relations)}" for rule in rules]
    for sign, numbers in (("+", node.positive), ("-", node.negative)):
        lines += [f"  reads {sign}       hyper-node {n}: {node_title(program.nodes[n], program)}" for n in numbers]
    return "\n".join(lines)


def graph_json(program: Program) -> dict[str, object]:
    """The graph as data for `--json`."""
    return {"nodes": [_node_json(node, program) for node in program.nodes]}


def _node_json(node: HyperNode, program: Program) -> dict[str, object]:
    def rules(kind: str) -> list[dict[str, str]]:
        return [{"name": r.name, "text": show_rule(r, program.relations)} for r in getattr(node, kind)]

    return {
        "index": node.index,
        "predicates": list(node.predicates),
        "auxiliary": is_auxiliary(node, program),
        "recursive": node.is_recursive,
        "rules": {kind: rules(kind) for kind in ("nonrecursive", "recursive", "aggregates")},
        "reads": {"positive": list(node.positive), "negative": list(node.negative)},
    }


def graph_dot(program: Program) -> str:
    """The graph in the language of Graphviz; negative edges are red and dashed, recursive nodes have two borders."""
    lines = ["digraph HRDG {", "  rankdir=TB;", '  node [shape=box, fontname="sans-serif"];']
    for node in program.nodes:
        style = ', style="rounded,dashed"' if is_auxiliary(node, program) else ""
        border = ", peripheries=2" if node.is_recursive else ""
        lines.append(f"  n{node.index} [label={_dot_quote(_label(node, program))}{style}{border}];")
    for node in program.nodes:
        lines += [f"  n{number} -> n{node.index};" for number in node.positive]
        lines += [f'  n{number} -> n{node.index} [style=dashed, color="#c0392b"];' for number in node.negative]
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: HyperNode, program: Program) -> str:
    rules = rule_names(node)
    return f"{node.index}: {node_title(node, program)}" + (f"\n{', '.join(rules)}" if rules else "")


def _dot_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
