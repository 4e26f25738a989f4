"""The small files of a store, each with a hash of its own content.

HOLDFAST             the format, the features that a reader must support, and the store's id
CURRENT              the number of the current snapshot, and the hash of its manifest
manifests/12.json    the contents of the snapshot of version 12: rules, relations, files with hashes
facts/12/edge.parquet    the explicit facts of a relation
log/12.hfl           the updates since
derived/12/          a cache of derived facts (`derived.py`)
CLOSED               where the log ends, if the store was closed; deleted before the next write
lock                 locked while a process writes
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.errors import DamagedData, Diagnostic, HoldfastError, UsageError
from holdfast.updates import Note

FORMAT: Final = 1
PIPELINE: Final = "pipeline"  # the feature of a pipeline's store, with its progress in notes
FEATURES: Final = frozenset({PIPELINE})  # supported by this version


class StoreIdentity(NamedTuple):
    """The contents of HOLDFAST."""

    id: str
    features: frozenset[str]


@dataclass(frozen=True)
class StoredRelation:
    """A relation in a snapshot, including types and names that were once inferred from data."""

    name: str
    display: str
    declared: bool
    columns: tuple[tuple[str, str, str], ...]  # name, type, declared type


@dataclass(frozen=True)
class FactsFile:
    """A file with explicit facts of a relation; Spark writes several for one relation."""

    relation: str
    path: str
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True)
class StoreManifest:
    """The contents of a snapshot."""

    version: int
    program: str  # the rules
    source: str  # the hash of the last given program
    relations: tuple[StoredRelation, ...]
    facts: tuple[FactsFile, ...]
    note: Note = field(default_factory=dict)  # of the last update before the snapshot, if its owner needs it

    @cached_property
    def size(self) -> int:
        """The bytes of the facts."""
        return sum(file.size for file in self.facts)

    @property
    def path(self) -> str:
        """The path of the manifest."""
        return f"manifests/{self.version}.json"

    @property
    def log(self) -> str:
        """The path of the log of updates since."""
        return f"log/{self.version}.hfl"

    @property
    def derived(self) -> str:
        """The path of the cache of derived facts, which may not exist."""
        return f"derived/{self.version}"

    def to_bytes(self) -> bytes:
        """Serialize the manifest."""
        return sealed({key: value for key, value in asdict(self).items() if value or key != "note"})

    @classmethod
    def from_bytes(cls, data: bytes) -> StoreManifest:
        """Parse a manifest; raises `ValueError` if it is damaged."""
        content = unsealed(data)
        relations = tuple(
            StoredRelation(**{**each, "columns": tuple(map(tuple, each["columns"]))}) for each in content["relations"]
        )
        facts = tuple(FactsFile(**each) for each in content["facts"])
        return cls(content["version"], content["program"], content["source"], relations, facts, content.get("note", {}))


def sealed(content: Mapping[str, Any]) -> bytes:
    """JSON text with a hash of its content."""
    return _text({**content, "sha256": _hash(content)})


def unsealed(data: bytes) -> dict[str, Any]:
    """Parse such a text; raises `ValueError` if it does not match its hash."""
    content = json.loads(data)
    if not isinstance(content, dict) or content.pop("sha256", None) != _hash(content):
        raise ValueError("the content does not have its hash")
    if sealed(content) != data:
        raise ValueError("the text is not as it was written")
    return content


def _text(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(content)).hexdigest()


# --- errors ------------------------------------------------------------------------------------------


def damaged(folder: Path, fault: str) -> DamagedData:
    """The error for a damaged store."""
    help = "`holdfast store check` says what can be read; `holdfast store restore` makes a store from that or a backup"
    return DamagedData(Diagnostic("E1306", f"the store {folder.as_posix()} is damaged: {fault}", help=help))


def cannot(folder: Path, what: str, error: OSError) -> HoldfastError:
    """The error for a failed system call."""
    message = f"the store {folder.as_posix()} cannot be {what}: {(error.strerror or str(error)).lower()}"
    return HoldfastError(Diagnostic("E1304", message))


def read_identity(folder: Path) -> StoreIdentity:
    """Read the identity of a store; raises if the folder is not a store, or one of a newer format."""
    try:
        data = (folder / "HOLDFAST").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise not_a_store(folder) from None
    except OSError as error:
        raise cannot(folder, "read", error) from error
    try:
        content = unsealed(data)
    except (ValueError, RecursionError):
        raise damaged(folder, "HOLDFAST is not what was written") from None
    unknown = set(content["features"]) - FEATURES
    if content["format"] != FORMAT or unknown:
        what = f"needs {', '.join(sorted(unknown))}" if unknown else f"has format {content['format']}"
        message = f"the store {folder.as_posix()} {what}, and this version of holdfast reads format {FORMAT}"
        raise UsageError(Diagnostic("E1302", message, help="open it with the version that wrote it, or a later one"))
    return StoreIdentity(str(content["id"]), frozenset(content["features"]))


def identity(id: str, features: Iterable[str] = ()) -> bytes:
    """The contents of HOLDFAST, as text."""
    return sealed({"format": FORMAT, "features": sorted(features), "id": id})


def unfinished(folder: Path) -> HoldfastError:
    """The error for a store whose creation was interrupted."""
    message = f"{folder.as_posix()} is not a store yet: what made it ended before it held anything"
    return UsageError(Diagnostic("E1301", message, help="make it again, with its program or pipeline"))


def not_a_store(folder: Path) -> HoldfastError:
    """The error for a folder that is not a store."""
    if not folder.exists():
        message = f"there is no store {folder.as_posix()}"
        return UsageError(Diagnostic("E1301", message, help="holdfast.open(program, store=…) makes one"))
    is_pipeline = (folder / "CURRENT").exists() and not (folder / "log").exists()
    note = (f"{folder.as_posix()} holds the snapshots of a pipeline",) if is_pipeline else ()
    message = f"{folder.as_posix()} is not a store: it has no file HOLDFAST"
    return UsageError(Diagnostic("E1301", message, notes=note, help="give the store a folder of its own"))
