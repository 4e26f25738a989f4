"""Files of a store with bytes flipped or cut off: noticed when it is opened, or harmless."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import holdfast
from holdfast.errors import DamagedData, HoldfastError

from .histories import FACTS, PROGRAM, State, history, on_disk, state_of

WAYS = ("flip", "flip", "cut", "zero", "append", "delete")


def damages(tmp: Path, number: int, seed: int) -> Iterator[str]:
    """Damage a store in so many ways; says what became of each."""
    chance = random.Random(seed)
    whole = tmp / "whole"
    state = make_store(whole, seed)
    files = sorted(path for path in whole.rglob("*") if path.is_file() and path.name != "lock")
    for turn in range(number):
        copy = tmp / "damaged"
        shutil.copytree(whole, copy)
        path = copy / files[turn % len(files)].relative_to(whole)
        way = chance.choice(WAYS)
        harm(path, way, chance)
        yield f"{way}: {judged(copy, state)}"
        shutil.rmtree(copy)


def make_store(folder: Path, seed: int) -> tuple[int, State]:
    """A closed store with a snapshot and a log that has something in it."""
    with holdfast.from_text(PROGRAM, FACTS, store=folder) as kb:
        for action in history(12, seed):
            for update in action.updates:
                kb.apply(update)
            if kb.version == 4:
                kb.compact()
        return kb.version, state_of(kb)


def judged(folder: Path, state: tuple[int, State]) -> str:
    """What becomes of a damaged store: noticed or harmless, and nothing else."""
    try:
        found = on_disk(folder)
    except DamagedData:
        return "damaged"
    except HoldfastError as error:
        assert error.diagnostics[0].code == "E1301"
        return "no store"
    assert found == state
    return "harmless"


def harm(path: Path, way: str, chance: random.Random) -> None:
    """Do something to a file."""
    data = bytearray(path.read_bytes())
    place = chance.randrange(max(1, len(data)))
    match way:
        case "flip":
            data[place] ^= 1 << chance.randrange(8)
        case "cut":
            del data[place:]
        case "zero":
            data[place : place + 512] = bytes(len(data[place : place + 512]))
        case "append":
            data += chance.randbytes(20)
        case "delete":
            path.unlink()
            return
    path.write_bytes(data)
