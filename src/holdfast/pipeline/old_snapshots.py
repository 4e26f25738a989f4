"""The old snapshot format of pipelines, before they used a store: it can be read and restored, but not written.

    CURRENT                  the number of the newest snapshot, and the hash of its manifest
    manifests/12.json        the contents of the snapshot of update 12: files with hashes and row counts, rules, the
                             hash of all that, and the previous manifest, with its hash
    facts/10/0.parquet       all explicit facts after update 10
    updates/12/0.parquet     the rows of update 12

A snapshot consists of the facts after an earlier update and the updates since.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.errors import DamagedData, Diagnostic, UsageError
from holdfast.pipeline.batches import Position
from holdfast.store.files import Files, file_digest

FORMAT: Final = 2
_WITHOUT_HASH: Final = 1  # the format without manifest hashes


@dataclass(frozen=True)
class Part:
    """A Parquet file or folder with facts of a relation: all, or those that an update inserts or deletes."""

    relation: str
    path: str
    rows: int
    files: Mapping[str, str]  # hashes by file
    kind: str = "facts"


@dataclass(frozen=True)
class Logged:
    """The rows and lines of one update, in the order they are applied."""

    number: int
    parts: tuple[Part, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """The contents of a snapshot."""

    number: int
    source: str  # the hash of the initial program
    program: str  # the current rules
    facts: tuple[Part, ...]
    facts_of: int  # the update after which the facts were written
    updates: tuple[Logged, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)  # of all relations, including derived ones
    stream: str | None = None  # Spark's id of the stream
    place: int = -1  # the micro-batch of the last update
    parts: int = 0  # updates of that micro-batch that are done
    parts_of: int = 0  # all its updates; 0 if written by an older holdfast
    taken: str = ""  # the hash of the names of the files done
    engine: str = "memory"
    previous: int | None = None  # the previous newest snapshot
    previous_sha256: str = ""  # the hash of its manifest
    format: int = FORMAT

    @property
    def position(self) -> Position:
        """The progress of the stream."""
        return Position(self.stream, self.place, self.parts, self.parts_of, self.taken)

    @property
    def files(self) -> dict[str, str]:
        """All files of the snapshot, with their hashes."""
        parts = [*self.facts, *(part for update in self.updates for part in update.parts)]
        return {path: digest for part in parts for path, digest in part.files.items()}

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Parse a manifest; raises ValueError if its content does not match its hash."""
        content = json.loads(text)
        expected = content.pop("sha256", None)
        if (content["format"] == FORMAT or expected is not None) and expected != _content_digest(content):
            raise ValueError("the content does not match its hash")
        updates = tuple(
            Logged(u["number"], tuple(Part(**p) for p in u["parts"]), tuple(u["lines"])) for u in content.pop("updates")
        )
        return cls(facts=tuple(Part(**part) for part in content.pop("facts")), updates=updates, **content)


def _content_digest(content: Mapping[str, object]) -> str:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class _DamageError(Exception):
    """Damage in a snapshot; the message describes it."""


class OldSnapshots:
    """The snapshots of one pipeline in a folder."""

    def __init__(self, folder: Path, pipeline: str = "PIPELINE") -> None:
        self.folder = folder
        self._pipeline = pipeline  # its file, for suggested commands

    @property
    def _pointer(self) -> Path:
        return self.folder / "CURRENT"

    @property
    def is_there(self) -> bool:
        """Whether a folder has snapshots of this format and is not a store yet."""
        if not (self.folder / "HOLDFAST").exists():
            return self._pointer.exists() or bool(self._numbers())
        with suppress(OSError, ValueError, RecursionError):  # CURRENT is switched last
            pointer = json.loads(self._pointer.read_bytes())
            return isinstance(pointer, dict) and set(pointer) <= {"snapshot", "sha256"}
        return False

    # --- reading ---------------------------------------------------------------------------------------

    def current(self) -> Manifest | None:
        """The newest snapshot, with every file checked against its hash, or None."""
        if not self._pointer.exists():
            if self._numbers():
                self._damaged("CURRENT is missing")
            return None
        pointed = self._pointed()
        if pointed is None:
            self._damaged("CURRENT cannot be read")
        return None if pointed[0] is None else self.load(*pointed)

    def _pointed(self) -> tuple[int | None, str] | None:
        """The number and hash in CURRENT, with number None before the first snapshot; None if CURRENT is unreadable."""
        try:
            pointer = json.loads(self._pointer.read_text(encoding="utf-8"))
            return (None, "") if pointer["snapshot"] is None else (int(pointer["snapshot"]), str(pointer["sha256"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError, OSError):
            return None

    def load(self, number: int | None, digest: str | None = None) -> Manifest:
        """Load a snapshot by its number, checked."""
        assert number is not None
        try:
            return self._verified(number, digest)[0]
        except _DamageError as fault:
            self._damaged(str(fault), number)

    def faults(self) -> dict[int, str | None]:
        """The snapshots by number, with what is wrong with each, or None."""
        return {number: self._fault(number) for number in self._numbers()}

    def whole(self) -> list[int]:
        """The numbers of the usable snapshots."""
        return [number for number, fault in self.faults().items() if fault is None]

    def unverified(self) -> list[int]:
        """The numbers of snapshots whose manifests have no hash, in them or elsewhere."""
        read = {number: self._read(number) for number in self._numbers()}
        old = (number for number, manifest in read.items() if manifest and manifest.format == _WITHOUT_HASH)
        return [number for number in old if not any(self._witnesses(number))]

    def go_back(self, number: int, *, unverified: bool = False) -> Manifest:
        """Make an earlier snapshot the newest one; checks everything it needs before deleting anything.

        One whose manifest has no hash is accepted only with `unverified`.
        """
        if number not in self._numbers():
            kept = ", ".join(map(str, self._numbers())) or "none"
            raise UsageError(Diagnostic("E1114", f"there is no snapshot of update {number}", notes=(f"kept: {kept}",)))
        try:
            manifest, digest = self._verified(number)
        except _DamageError as fault:
            self._damaged(str(fault), number)
        if number in self.unverified() and not unverified:
            self._refuse_unverified(number)
        self._switch(number, digest)
        self._forget_after(number)
        return manifest

    def table(self, part: Part) -> pa.Table:
        """The rows of a part."""
        return pq.read_table(self.folder / part.path)

    def _fault(self, number: int) -> str | None:
        """What is wrong with a snapshot."""
        try:
            self._verified(number)
        except _DamageError as fault:
            return str(fault)
        return None

    def _verified(self, number: int, digest: str | None = None) -> tuple[Manifest, str]:
        """A manifest and its hash, if it and every file that it names are intact.

        Its content must match its own hash, and those in CURRENT and in the next manifest.
        """
        manifest, found = self._signed(number)
        if {digest or found, *self._witnesses(number)} != {found}:
            raise _DamageError(f"manifests/{number}.json does not match its hash")
        for name, expected in manifest.files.items():
            file = self.folder / name
            if not file.is_file():
                raise _DamageError(f"{name} is missing")
            if file_digest(file) != expected:
                raise _DamageError(f"{name} does not match its hash")
        return manifest, found

    def _signed(self, number: int) -> tuple[Manifest, str]:
        """A manifest whose content matches its own hash, and the hash of the file."""
        try:
            content = self._manifest(number).read_bytes()
            form = json.loads(content)["format"]
            if form not in (_WITHOUT_HASH, FORMAT):
                message = f"is of format {form}, and this holdfast reads {_WITHOUT_HASH} and {FORMAT}"
                raise _DamageError(f"manifests/{number}.json {message}")
            manifest = Manifest.from_json(content.decode())
        except OSError:
            raise _DamageError(f"manifests/{number}.json is missing") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise _DamageError(f"manifests/{number}.json cannot be read, or does not match its hash") from None
        if manifest.number != number:
            raise _DamageError(f"manifests/{number}.json is that of update {manifest.number}")
        return manifest, hashlib.sha256(content).hexdigest()

    def _witnesses(self, number: int) -> Iterator[str]:
        """The hashes recorded for a manifest in CURRENT and in the next manifest, if readable."""
        newest, digest = self._pointed() or (max(self._numbers(), default=None), "")
        if digest and newest == number:
            yield digest
        for later in self._numbers():
            if not number < later <= (newest or 0):  # left over from before a restore
                continue
            with suppress(_DamageError):
                manifest, _ = self._signed(later)
                if manifest.previous == number:
                    yield manifest.previous_sha256

    def _refuse_unverified(self, number: int) -> NoReturn:
        message = f"the manifest of update {number} has no hash, so damage to it cannot be detected"
        note = "an older holdfast wrote it; the fact files that it names are intact"
        help = "keep a copy of the folder, then use --unverified to restore the snapshot anyway"
        raise UsageError(Diagnostic("E1117", message, notes=(note,), help=help))

    def _damaged(self, fault: str, number: int | None = None) -> NoReturn:
        whole = [n for n in self.whole() if n != number]
        if whole:
            nearest = max((n for n in whole if number is None or n < number), default=whole[0])
            command = f"holdfast pipeline restore {shlex.quote(self._pipeline)} --update {nearest}"
            help = f"the snapshot of update {nearest} is intact: `{command}`"
        else:
            help = (
                "no other snapshot is intact: restore the folder from a backup, or start over with --mode batch --anew"
            )
        raise DamagedData(Diagnostic("E1112", f"the snapshots in {self.folder} are damaged: {fault}", help=help))

    def next_number(self) -> int:
        """The number after the newest one: a number is never reused for other contents."""
        pointed = self._pointed()
        newest = max(self._numbers(), default=-1) if pointed is None else pointed[0]
        return 0 if newest is None else newest + 1

    def _switch(self, number: int, digest: str) -> None:
        Files().replace_file(self._pointer, (json.dumps({"snapshot": number, "sha256": digest}) + "\n").encode())

    def _forget_after(self, number: int) -> None:
        for later in self._numbers():
            if later > number:
                self._manifest(later).unlink()

    def _read(self, number: int) -> Manifest | None:
        try:
            return self._signed(number)[0]
        except _DamageError:
            return None

    def _numbers(self) -> list[int]:
        stems = (path.stem for path in (self.folder / "manifests").glob("*.json"))
        return sorted(int(stem) for stem in stems if re.fullmatch(r"0|[1-9][0-9]{0,17}", stem))

    def _manifest(self, number: int) -> Path:
        return self.folder / f"manifests/{number}.json"
