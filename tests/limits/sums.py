"""Random programs whose sums and counts depend on themselves: who controls whom, what falls with its neighbours.

`e`, `n` and `s` are given, as in `wide.py`; `hold` is a plain relation of the circle, `sm` a sum or count of two keys
and `cn` one of one key, `l` a limit relation that may be in the circle too.  The others read what is finished.
"""

from __future__ import annotations

from random import Random

from .wide import KEYS, Row, Script, Writer

COLUMNS = {
    "e": ("key", "key", "value"),
    "n": ("key", "value"),
    "s": ("key", "key"),
    "o": ("key",),
    "hold": ("key", "key"),
    "sm": ("key", "key", "value"),
    "cn": ("key", "value"),
    "l": ("key", "value"),
    "far": ("key", "value"),
    "miss": ("key",),
    "size": ("value",),
    "twice": ("key", "value"),
}
WEIGHTS = ((1, 2, 3), (0, 1, 2), (1,), (3, 5), (0, 4), (-1, 2, 3))


class _SumWriter(Writer):
    """Draws a script."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.type, self.values = "number", random.choice(WEIGHTS)
        self.own = [self.limits["l"]]

    def declarations(self) -> list[str]:
        return [f".decl {n}({', '.join(f'c{i}: number' for i in range(len(c)))})" for n, c in COLUMNS.items()]

    def rules(self) -> list[str]:
        random = self.random
        found = [rule for rule in self.circle() if random.random() < 0.8]
        return found + [rule for rule in self.others() if random.random() < 0.35]

    def bar(self) -> str:
        return f"{self.random.choice(['>', '>='] * 6 + ['<'])} {self.random.choice([0, 1, 2, 3, 5])}"

    def circle(self) -> list[str]:
        summed = self.random.choice(["sum(w)", "sum(w)", "sum(w)", "count(z)", "sum(w + 1)"])
        guard = self.random.choice(["", "", ", w >= 0", ", !s(x, z)", ", x != y", ", !o(y)"])
        neighbour = self.random.choice(["e(x, y, w), hold(y, y)", "e(x, y, w), hold(y, _)", "hold(x, y), n(y, w)"])
        enough = self.random.choice([f"v {self.bar()}", "n(x, k), k - v < 2", "n(x, k), v > k"])
        return [
            f"sm(x, y, {summed}) :- hold(x, z), e(z, y, w){guard}.",
            f"hold(x, y) :- sm(x, y, v), v {self.bar()}{self.random.choice(['', '', ', !s(x, y)'])}.",
            "hold(x, x) :- n(x, _).",
            f"cn(x, {self.random.choice(['count(y)', 'sum(w)'])}) :- {neighbour}.",
            f"hold(x, x) :- cn(x, v), {enough}.",
        ]

    def others(self) -> list[str]:
        return [
            "hold(x, z) :- hold(x, y), s(y, z).",
            "l(y, max(v)) :- sm(x, y, v).",
            f"hold(x, x) :- l(x, v), v {self.bar()}.",
            "o(x) :- s(x, _), !n(x, _).",
            "far(x, v) :- sm(x, _, v), v < 4.",
            "miss(x) :- n(x, _), !cn(x, _).",
            "size(c) :- c = count : { sm(_, _, _) }.",
            "twice(x, sum(v)) :- sm(x, y, v), y != x.",
        ]

    def recursive(self, limit: object) -> str:  # what an update may add
        return self.random.choice([*self.circle(), *self.others()])

    def amounts(self) -> dict[str, tuple[int, int]]:
        found = {"e": (3, 10), "n": (0, 3), "s": (0, 3), "hold": (0, 2)}
        return found | {name: (0, 1) for name in ("sm", "cn", "l", "twice") if self.random.random() < 0.15}

    def row(self, name: str) -> Row:
        return tuple(self.random.choice(KEYS if kind == "key" else self.values) for kind in COLUMNS[name])


def sums_script(seed: int) -> Script:
    """The script of a seed."""
    return _SumWriter(Random(seed)).script()
