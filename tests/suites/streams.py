"""Replaying an update stream: the state as the sorted lines of which data/README.md defines a digest.

The lines are changed by what each update says it changed, so a wrong change shows as well as a wrong state; at the
end they are compared with the relations themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import holdfast
from holdfast.maintenance.algorithms import Choice
from holdfast.updates import Change, Update
from holdfast.values import Row

OTHERS = ("dred-counting", "backward-forward-counting", "dred", "backward-forward", "recompute")

JsonUpdate = Mapping[str, Mapping[str, list[list[Any]]]]


def line(name: str, row: Collection[Any]) -> bytes:
    """A fact as the digest takes it; of a name with two arities one relation is called `name/arity` by us."""
    plain = name.removesuffix(f"/{len(row)}")
    return json.dumps([plain, *row], ensure_ascii=False, separators=(",", ":")).encode()


class Replay:
    """A knowledge base that follows update streams, one after the other, and the lines of its state."""

    def __init__(self, rules: str) -> None:
        self.kb = holdfast.from_text(rules)
        self.lines: list[bytes] = []
        self.explicit: dict[str, set[Row]] = {}
        names = {re.sub("'(.*)'", r"\1", name) for name in re.findall(r"('[^']*'|\w+)\(", rules)}
        self.names = names & set(self.kb.relations)

    def apply(self, update: JsonUpdate, algorithm: str | Choice = "auto") -> Change:
        """One update."""
        change = self.kb.apply(self.known(update), algorithm=algorithm)
        self.note(update, change)
        return change

    def known(self, update: JsonUpdate) -> Update:
        """The update as the knowledge base takes it: facts of predicates that no rule mentions are left out."""
        return Update(
            *(
                {name: rows for name, rows in update[part].items() if name in self.names}
                for part in ("delete", "insert")
            )
        )

    def note(self, update: JsonUpdate, change: Change) -> None:
        """Change the lines; facts of predicates that no rule mentions are facts and nothing more."""
        gone, come = (
            [line(name, row) for name, rows in update[part].items() if name not in self.names for row in rows]
            for part in ("delete", "insert")
        )
        self._fold([*gone, *_lines(change.removed)], [*come, *_lines(change.added)])
        for name, rows in update["delete"].items():
            self.explicit[name] -= set(map(tuple, rows))
        for name, rows in update["insert"].items():
            self.explicit.setdefault(name, set()).update(map(tuple, rows))

    def _fold(self, gone: list[bytes], come: list[bytes]) -> None:
        removed = set(gone)
        assert len(removed) == len(gone)
        kept = [text for text in self.lines if text not in removed] if removed else self.lines
        assert len(kept) == len(self.lines) - len(gone), "what was not there is said to be removed"
        self.lines = sorted([*kept, *come])  # two sorted runs or nearly so: cheap

    def figures(self) -> list[object]:
        """As the expected results have them: explicit facts, all facts, digest."""
        digest = hashlib.sha256(b"\n".join(self.lines)).hexdigest()[:16]
        return [sum(map(len, self.explicit.values())), len(self.lines), digest]

    def compare_relations(self) -> None:
        """The folded changes are what the relations hold."""
        held = [line(name, row) for name, rows in self.kb.relations.items() for row in rows]
        held += [line(name, row) for name, rows in self.explicit.items() if name not in self.names for row in rows]
        assert sorted(held) == self.lines

    def empty(self, algorithm: str) -> None:
        """Back to no facts at all, by one more update."""
        everything = {name: [list(row) for row in rows] for name, rows in self.explicit.items()}
        self.apply({"delete": everything, "insert": {}}, algorithm)
        assert not self.lines


def _lines(facts: Mapping[str, Iterable[Row]]) -> list[bytes]:
    return [line(name, row) for name, rows in facts.items() for row in rows]
