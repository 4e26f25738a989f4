"""`python -m tests.atomic.sweep`: every scene, interrupted at every call event.  `--step N` takes every N-th only."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from .events import Shot, by_exception, by_signal, shot_at
from .judging import fingerprint, free, judge, key_of, sound
from .scenes import Scene, scenes

_JUDGED = 16
KINDS: dict[str, Callable[[int], Shot]] = {"signal": by_signal, "exception": by_exception}


def sweep(scene: Scene, kind: str, step: int = 1, first: int = 1) -> int:
    """Interrupt a scene at events `first`, `first + step` … until it ends without; gives how often it was.

    If the state is the old one, later updates come only every few times, and it is interrupted again.
    """
    valid, number, done = states_of(scene), first, 0
    kb = scene.opened()
    before = fingerprint(kb)
    while True:
        shot = KINDS[kind](number)
        shot_at(shot, lambda: scene.action(kb))
        try:
            free(kb)
            sound(kb)
            if fingerprint(kb) != before or number % _JUDGED < step:
                assert judge(kb, scene.later) in valid, "neither the old state nor the new one"
                kb = scene.opened()
        except BaseException as error:
            error.add_note(f"{scene.name}: {kind} at event {number}")
            raise
        if shot.met < number:
            return done
        number, done = number + step, done + 1


def states_of(scene: Scene) -> set[object]:
    """The states that an action may leave: the old one, the new one, and those between separate updates."""
    kb = scene.opened()
    found: set[object] = {key_of(kb)}
    guarded = type(kb)._change

    def noting(self, *arguments):  # type: ignore[no-untyped-def]
        found.add(key_of(self))
        return guarded(self, *arguments)

    type(kb)._change = noting  # type: ignore[method-assign]
    try:
        scene.action(kb)
    finally:
        type(kb)._change = guarded  # type: ignore[method-assign]
    return found | {key_of(kb)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.atomic.sweep", description=__doc__)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", default="", help="scenes with this in their names")
    parser.add_argument("--kind", choices=[*KINDS], action="append")
    options = parser.parse_args()
    for scene in scenes():
        for kind in options.kind or KINDS if options.only in scene.name else ():
            begun = time.process_time()
            done = sweep(scene, kind, options.step, options.first)
            print(f"{scene.name}: {done} times by {kind}, {time.process_time() - begun:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
