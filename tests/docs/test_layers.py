"""The order of the layers and the manners of library code, read from the source itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

from tests.docs.pages import ROOT

SOURCE = ROOT / "src/holdfast"
MODULES = sorted(SOURCE.rglob("*.py"))
LAYERS: tuple[tuple[str, ...], ...] = (
    ("lazy", "quick_dataclass", "idle_threads"),
    ("codes", "errors"),
    ("arguments", "boundary", "notebook"),
    ("redaction", "spark_launch"),
    ("deadline", "interrupts", "kernel_cache", "settings"),
    ("compilation", "exclusive", "spark_session"),
    ("values",),
    ("regular_expressions",),
    ("language",),
    ("program",),
    ("plans", "formats"),
    ("user_functors",),
    ("backends",),  # the protocol and the abilities
    ("modules",),
    ("maintenance",),
    ("backends/memory",),  # what implements the protocol: no algorithm may import it
    ("backends/parted",),
    ("backends/spark_parted",),
    ("relation_view",),
    ("updates",),
    ("update_lines",),
    ("streaming",),
    ("store",),
    ("explanations",),
    ("knowledge",),
    ("__init__",),
    ("pipeline",),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def part_of(path: Path) -> str:
    """The folder or file directly under holdfast/, or a backend's own folder."""
    first, *rest = path.relative_to(SOURCE).parts
    folder = f"{first}/{rest[0]}" if len(rest) > 1 else first
    return folder if folder in RANK else first.removesuffix(".py")


def imported_parts(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Parts of holdfast that a module imports, anywhere in it, types included."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from ((alias.name, node.lineno) for alias in names if alias.name.split(".")[0] == "holdfast")
            case ast.ImportFrom(module="holdfast", names=names):
                yield from ((f"holdfast.{alias.name}", node.lineno) for alias in names)
            case ast.ImportFrom(module=str(name), names=names) if name.startswith("holdfast."):
                yield from ((f"{name}.{alias.name}", node.lineno) for alias in names)


def target(name: str) -> str:
    """`holdfast.plans.model` is of plans; a name of the package itself is of `__init__`."""
    _, part, inner, *_ = [*name.split("."), "__init__", ""]
    if f"{part}/{inner}" in RANK:
        return f"{part}/{inner}"
    return part if part in RANK else "__init__"


def found_in(paths: Iterable[Path], walk: Callable[[ast.AST], Iterable[object]]) -> list[str]:
    """What a walk finds in some files, each with its place."""
    return [f"{path.relative_to(SOURCE)}:{found}" for path in paths for found in walk(syntax(path))]


@cache
def syntax(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in MODULES} <= RANK.keys(), "give it one in LAYERS"


def test_imports_point_one_way() -> None:
    def backwards(own: str, tree: ast.AST) -> Iterator[str]:
        for name, line in imported_parts(tree):
            if target(name) != own and RANK[target(name)] >= RANK[own]:
                yield f"{line} imports {name}"

    assert [wrong for path in MODULES for wrong in found_in([path], partial(backwards, part_of(path)))] == []


def test_every_part_is_in_the_architecture_page() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    parts = {part_of(path) for path in MODULES} - {"__init__"}
    assert [part for part in sorted(parts) if f"`{part}/`" not in page and f"`{part}.py`" not in page] == []


def test_the_walk_sees_imports_that_point_backwards() -> None:
    tree = ast.parse("import holdfast\nfrom holdfast import open\ndef f():\n    from holdfast.cli import main\n")
    assert {target(name) for name, _ in imported_parts(tree)} == {"__init__", "cli"}


def test_a_backend_is_a_part_of_its_own() -> None:
    tree = ast.parse(
        "from holdfast.backends.memory.store import MemoryBackend\nfrom holdfast.backends import spark_parted\n"
        "from holdfast.backends.protocol import Facts\n"
    )
    targets = [target(name) for name, _ in imported_parts(tree)]
    assert targets == ["backends/memory", "backends/spark_parted", "backends"]
    assert part_of(SOURCE / "backends/memory/window/module.py") == "backends/memory"
    assert RANK["maintenance"] < RANK["backends/memory"] < RANK["backends/spark_parted"]


def kinds_of_backends(tree: ast.AST) -> Iterator[str]:
    """Tests of what class a backend is: what it can do is asked by `ability`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "cast" as name), args=args):
                named = {n.id for a in args for n in ast.walk(a) if isinstance(n, ast.Name)}
                yield from (f"{node.lineno}: {name} {kind}" for kind in named if kind.endswith("Backend"))


def test_nobody_asks_what_class_a_backend_is() -> None:
    assert found_in(MODULES, kinds_of_backends) == []


def test_the_walk_sees_a_backend_recognised_by_its_class() -> None:
    assert list(kinds_of_backends(ast.parse("isinstance(kb._backend, MemoryBackend)")))


def private_to_others(tree: ast.AST) -> Iterator[str]:
    """Private names of other objects that nothing in this file defines."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    own = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in attributes:
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in own:
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_files_share_nothing_private() -> None:
    some = [path for path in MODULES if part_of(path) in {"knowledge", "values"}]
    assert some and found_in(some, private_to_others) == []


def test_the_walk_sees_what_is_private() -> None:
    source = "class A:\n    def f(self, other, kb):\n        return self._x == other._x and kb._guard"
    assert list(private_to_others(ast.parse(source))) == ["3: kb._guard"]


def outward(tree: ast.AST) -> Iterator[str]:
    """Printing, exiting, and reading the environment."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print" | "input" | "exit" | "quit" as name)):
                yield f"{node.lineno}: {name}()"
            case ast.Attribute(value=ast.Name(id="sys"), attr="exit" | "argv" | "stdout" | "stderr" | "stdin" as name):
                yield f"{node.lineno}: sys.{name}"
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "getenv" | "_exit" | "putenv" as name):
                yield f"{node.lineno}: os.{name}"


def test_library_code_does_not_print_exit_or_read_the_environment() -> None:
    # `idle_threads` sets a variable for another library, and is the one place that does
    library = [path for path in MODULES if part_of(path) not in {"cli", "spark_session", "idle_threads"}]
    assert found_in(library, outward) == []


def test_the_walk_sees_what_goes_outward() -> None:
    source = "print(1)\nsys.exit(2)\nos.environ['A']\nkb.exit()"
    assert list(outward(ast.parse(source))) == ["1: print()", "2: sys.exit", "3: os.environ"]
