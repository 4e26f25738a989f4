"""`python -m tests.atomic.sweep`: every scene, interrupted at every call event.  `--step N` takes every N-th only."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from itertools import chain, count
from random import Random
from types import FrameType

from holdfast.maintenance.commit import commit

from .events import Shot, by_exception, by_signal, shot_at
from .judging import fingerprint, free, judge, key_of, sound
from .scenes import Scene, scenes

_JUDGED = 16  # times
KINDS: dict[str, Callable[[int], Shot]] = {"signal": by_signal, "exception": by_exception}


def sweep(scene: Scene, kind: str, numbers: Iterable[int]) -> int:
    """Interrupt a scene at some events, until one is behind its end; gives how often that was.

    If the state is the old one, later updates come only every few times, and it is interrupted again.
    """
    valid, done = states_of(scene), 0
    kb = scene.opened()
    before = fingerprint(kb)
    for number in numbers:
        shot = KINDS[kind](number)
        shot_at(shot, lambda kb=kb: scene.action(kb))  # type: ignore[misc]
        try:
            free(kb)
            sound(kb)
            if fingerprint(kb) != before or done % _JUDGED == 0:
                assert judge(kb, scene.later) in valid, "neither the old state nor the new one"
                kb = scene.opened()
        except BaseException as error:
            error.add_note(f"{scene.name}: {kind} at event {number}")
            raise
        if shot.met < number:
            break
        done += 1
    return done


def commits_of(scene: Scene, kind: str) -> tuple[list[range], int]:
    """The events inside of each commit of a scene, and how many there are in all."""
    scene.action(scene.opened())  # what is imported and prepared only once is behind us
    shot, ends, depth = KINDS[kind](0), list[int](), 0

    def noting(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth
        shot(frame, event, argument)
        if frame.f_code is commit.__code__ and event in ("call", "return"):
            before, depth = depth, depth + (1 if event == "call" else -1)
            if not before or not depth:  # commits of a window are inside another
                ends.append(shot.met)

    kb = scene.opened()
    shot_at(noting, lambda: scene.action(kb))
    return [range(first, last + 1) for first, last in zip(ends[::2], ends[1::2], strict=False)], shot.met


def sampled(scene: Scene, kind: str, inside: int, outside: int, dice: Random | None = None) -> list[int]:
    """Some events of a scene: so many inside of commits, and so many elsewhere."""
    dice, (commits, last) = dice or Random(scene.name + kind), commits_of(scene, kind)
    chosen = [dice.choice(dice.choice(commits)) for _ in range(inside if commits else 0)]
    return sorted([*chosen, *(dice.randrange(1, last + 1) for _ in range(outside))])


def states_of(scene: Scene) -> set[object]:
    """The states that an action may leave: the old one, the new one, and those between separate updates."""
    kb = scene.opened()
    found: set[object] = {key_of(kb)}
    kb._state.log = lambda _: found.add(key_of(kb))
    scene.action(kb)
    return found | {key_of(kb)}


def at_random(seed: int, seconds: float) -> int:
    """Some events of one scene after the other, for so long; a failing one is named by its number."""
    dice, begun, done = Random(seed), time.monotonic(), 0
    while not done or time.monotonic() - begun < seconds:
        scene, kind = dice.choice(scenes()), dice.choice(list(KINDS))
        done += sweep(scene, kind, sampled(scene, kind, inside=2, outside=4, dice=dice))
    print(f"{done:,} interrupts left the old state or the new one, seed {seed}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.atomic.sweep", description=__doc__)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--commits", action="store_true", help="only events inside of commits")
    parser.add_argument("--only", default="", help="scenes with this in their names")
    parser.add_argument("--kind", choices=[*KINDS], action="append")
    parser.add_argument("--seconds", type=float, help="random events of random scenes for so long, instead of all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.seconds is not None:
        return at_random(options.seed, options.seconds)
    for scene in scenes():
        for kind in options.kind or KINDS if options.only in scene.name else ():
            begun = time.process_time()
            numbers: Iterable[int] = count(options.first, options.step)
            if options.commits:
                numbers = list(chain.from_iterable(commits_of(scene, kind)[0]))[options.first - 1 :: options.step]
            done = sweep(scene, kind, numbers)
            print(f"{scene.name}: {done} times by {kind}, {time.process_time() - begun:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
