"""Numba's `njit` for cached kernels, with a cache folder wherever one is writable.

Numba caches beside the source or in the user's cache folder, and raises if it can write to neither, as in a container
with a read-only package and no home.  We then use a private folder among the temporary files; without one, kernels are
compiled for this process only.

Numba invalidates a cached function only when its own file changes.  Our kernels use helpers from other files of their
folder, so our cache is invalidated when any file of the folder changes.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba

from holdfast.errors import Diagnostic, Severity

_uncached: list[str] = []  # kernels that are not cached; cleared after the warning


def njit(*signature: Any, **options: Any) -> Any:
    """Like `numba.njit`, but compiles without a cache where `cache=True` is impossible."""
    if not options.get("cache"):
        return numba.njit(*signature, **options)
    return lambda function: (
        _cached(function, lambda: _compiled(function, signature, options)) or _plain(function, signature, options)
    )


def uncached() -> Diagnostic | None:
    """The warning that each process compiles the kernels again; issued once."""
    if not _uncached:
        return None
    _uncached.clear()
    return Diagnostic(
        "W0015",
        "compiled kernels cannot be cached: no cache folder is writable, so every process compiles them again",
        help="make the user's cache folder or the folder for temporary files writable, or set NUMBA_CACHE_DIR",
        severity=Severity.WARNING,
    )


def _compiled(function: Any, signature: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The function with Numba's cache, invalidated by its folder instead of its file."""
    kernel: Any = numba.njit(**{**options, "cache": False})(function)
    kernel.enable_caching()
    kernel._cache._cache_file._source_stamp = folder_stamp(Path(function.__code__.co_filename).parent)
    for one in signature:
        kernel.compile(one)
    kernel.disable_compile()
    return kernel


@cache
def folder_stamp(folder: Path) -> str:
    """A digest of the Python files in a folder."""
    contents = (file.name.encode() + b"\0" + file.read_bytes() for file in sorted(folder.glob("*.py")))
    return blake2b(b"\0".join(contents), digest_size=16).hexdigest()


def _cached(function: Any, compile: Callable[[], Any]) -> Any:
    """The function compiled with the first usable cache folder, or None."""
    try:
        return compile()
    except Exception:  # no folder, full disk, damaged files; errors of the function itself are raised again later
        folder = private_folder()
    if folder is None:
        return None
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return compile()
    except Exception:
        return None
    finally:
        config.CACHE_DIR = before


def _plain(function: Any, signature: tuple[Any, ...], options: dict[str, Any]) -> Any:
    _uncached.append(function.__name__)
    return numba.njit(*signature, **{**options, "cache": False})(function)


@cache
def private_folder() -> Path | None:
    """A private folder among the temporary files; it must be private because cached kernels are executed."""
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / f"holdfast-kernels-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder if _is_ours(folder.lstat()) and _is_kept(parent.stat()) else None
    except (OSError, AttributeError):  # AttributeError: a system without user ids
        return None


def _is_ours(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def _is_kept(parent: os.stat_result) -> bool:
    """Whether other users cannot replace our folder."""
    shared = stat.S_IMODE(parent.st_mode) & 0o022
    return parent.st_uid in (0, os.geteuid()) and (not shared or bool(parent.st_mode & stat.S_ISVTX))
