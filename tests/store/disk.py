"""A disk that fails on demand, and knows what would be left of it after a power cut.

The calls happen for real.  Beside that each file is known as it is and as it was when it was last synced, and each
folder with its names now and when it was last synced, so that at any moment the folder can be made as it might be found
after the process was killed, or after the power was cut.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest

from holdfast.store import copying, opening, rewinding
from holdfast.store.files import Files

SECTOR = 512
ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO}


class File:
    """A file as it is, and as it is on the disk."""

    def __init__(self) -> None:
        self.live, self.synced, self.is_lost = bytearray(), b"", False
        self._rewritten = 0  # bytes from the beginning, without a gap

    def write(self, data: bytes, offset: int) -> None:
        if offset in (0, self._rewritten):
            self._rewritten = offset + len(data)
        self.live[offset : offset + len(data)] = data
        if self._rewritten >= len(self.live):  # all of it is to be written again
            self.is_lost = False

    def sync(self) -> None:
        if not self.is_lost:  # after a sync that failed, the system forgets what it had to write
            self.synced = bytes(self.live)

    def lose(self) -> None:
        """A sync failed."""
        self.is_lost, self._rewritten = True, 0

    def torn(self, random: random.Random) -> bytes:
        """Some sectors as they are, some as they were."""
        size = random.randint(*sorted((len(self.live), len(self.synced))))
        new, old = bytes(self.live).ljust(size, b"\0"), self.synced.ljust(size, b"\0")
        sectors = [random.choice((new, old))[start : start + SECTOR] for start in range(0, size, SECTOR)]
        return b"".join(sectors)[:size]


class Folder:
    """A folder with its names now, and those that are on the disk."""

    def __init__(self) -> None:
        self.live: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}


class Disk(Files):
    """Counts the calls; `fault` says for a call by its number and name what goes wrong with it."""

    syncs_aside = False  # the calls have numbers

    def __init__(self, root: Path, fault: Callable[[int, str], str | None] | None = None) -> None:
        self.root, self.tree = root, Folder()
        self.calls: list[str] = []
        self.fault = fault or (lambda number, name: None)
        self.watch: Callable[[], None] = lambda: None  # called before each call
        self._open: dict[int, File] = {}

    # --- calls -------------------------------------------------------------------------------------------

    def create(self, path: Path) -> int:
        self._begin("create")
        handle = super().create(path)
        file = self._names(path).setdefault(path.name, File())
        assert isinstance(file, File)
        file.live.clear()
        self._open[handle] = file
        return handle

    def open(self, path: Path) -> int:
        handle = super().open(path)
        file = self._names(path)[path.name]
        assert isinstance(file, File)
        self._open[handle] = file
        return handle

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        kind = self._begin("write", may=("short",))
        if kind == "short":
            data = data[: max(1, len(data) // 2)]
        written = super().write(handle, data, offset)
        self._open[handle].write(bytes(data[:written]), offset)
        return written

    def truncate(self, handle: int, size: int) -> None:
        self._begin("truncate")
        super().truncate(handle, size)
        del self._open[handle].live[size:]

    def sync(self, handle: int) -> None:
        try:
            self._begin("sync")
        except OSError:
            self._open[handle].lose()
            raise
        self._open[handle].sync()

    def sync_folder(self, path: Path) -> None:
        self._begin("sync folder")
        folder = self._folder(path)
        if folder is not None:
            folder.synced = dict(folder.live)

    def replace(self, old: Path, new: Path) -> None:
        self._begin("replace")
        super().replace(old, new)
        self._names(new)[new.name] = self._names(old).pop(old.name)

    def unlink(self, path: Path) -> None:
        self._begin("unlink")
        super().unlink(path)
        del self._names(path)[path.name]

    def mkdir(self, path: Path) -> None:
        self._begin("mkdir")
        super().mkdir(path)
        self._names(path)[path.name] = Folder()

    def rmdir(self, path: Path) -> None:
        self._begin("rmdir")
        super().rmdir(path)
        del self._names(path)[path.name]

    def _begin(self, name: str, may: tuple[str, ...] = ()) -> str | None:
        self.watch()
        kind = self.fault(len(self.calls), name)
        self.calls.append(name)
        if kind in ERRORS:
            raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]))
        return kind if kind in may else None

    def _folder(self, path: Path) -> Folder | None:
        """What stands for a folder; None if it is outside."""
        if not path.absolute().is_relative_to(self.root):
            return None
        node: File | Folder = self.tree
        for part in path.absolute().relative_to(self.root).parts:
            assert isinstance(node, Folder)
            node = node.live[part]
        assert isinstance(node, Folder)
        return node

    def _names(self, path: Path) -> dict[str, File | Folder]:
        folder = self._folder(path.parent)
        assert folder is not None
        return folder.live

    def holding(self, tree: Folder) -> Disk:
        """This disk, with a folder as another one has it."""
        _make(tree, self.root, lambda folder: folder.live, lambda file: bytes(file.live))
        self.tree = deepcopy(tree)
        return self

    # --- what is left ------------------------------------------------------------------------------------

    def after_kill(self, to: Path) -> None:
        """The folder as it is."""
        _make(self.tree, to, lambda folder: folder.live, lambda file: bytes(file.live))

    def after_power_cut(self, to: Path) -> None:
        """The folder with nothing but what was synced."""
        _make(self.tree, to, lambda folder: folder.synced, lambda file: file.synced)

    def after_torn_writes(self, to: Path, random: random.Random) -> None:
        """The folder with some of what was not synced."""

        def names(folder: Folder) -> dict[str, File | Folder]:
            either = {name: random.choice((folder.live, folder.synced)) for name in {**folder.live, **folder.synced}}
            return {name: chosen[name] for name, chosen in either.items() if name in chosen}

        _make(self.tree, to, names, lambda file: file.torn(random) if file.live != file.synced else file.synced)


def _make(
    folder: Folder, to: Path, names: Callable[[Folder], dict[str, File | Folder]], content: Callable[[File], bytes]
) -> None:
    to.mkdir()
    for name, node in names(folder).items():
        if isinstance(node, Folder):
            _make(node, to / name, names, content)
        else:
            (to / name).write_bytes(content(node))


@contextmanager
def mounted(disk: Disk | None) -> Iterator[None]:
    """Stores that are opened inside the block are on the disk; with None, on that of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (opening, copying, rewinding):
            patch.setattr(module, "Files", Files if disk is None else lambda: disk)
        yield
