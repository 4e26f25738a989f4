"""Where the kernels come from: the extension module built with this package, or Numba.

A kernel is a Python function under `@njit(signature, …)`.  `tools/build_kernels.py` compiles all of them when a wheel
is built, into `holdfast._kernels`; then neither Numba nor LLVM is needed, and nothing is compiled on a user's machine.
The module carries a digest of each file that it was made from.  Where there is no such module, or it was made from
other sources, Numba compiles the kernels when they are imported.

Kernel files import everything they need of Numba from here: this is the one place that decides how they get it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from holdfast.errors import Diagnostic, UsageError

BUILT = "holdfast._kernels"
_PACKAGE = Path(__file__).parent
_Function = TypeVar("_Function", bound=Callable[..., Any])


def digest(file: Path) -> str:
    """The digest of a file of kernels, as the built module records it."""
    return blake2b(file.read_bytes(), digest_size=16).hexdigest()


def built_name(module: str, name: str) -> str:
    """The name of a kernel in the built module."""
    return f"{module}.{name}".removeprefix("holdfast.").replace(".", "_")


def _fitting() -> ModuleType | None:
    """The built module, if it can be loaded and was built from the sources beside it."""
    try:
        module = importlib.import_module(BUILT)
    except ImportError:  # never built, or built for another platform
        return None
    return module if _made_from(module.SOURCES) else None


def _made_from(sources: Mapping[str, str]) -> bool:
    try:
        return all(digest(_PACKAGE / name) == made for name, made in sources.items())
    except OSError:
        return False


class _Unread:
    """Stands in for Numba's types: a built kernel checks its arguments itself."""

    def __getitem__(self, layout: object) -> _Unread:
        return self

    def __call__(self, *arguments: object) -> _Unread:
        return self

    def __getattr__(self, name: str) -> _Unread:
        return self


def _built_njit(signature: object = None, **options: object) -> Any:
    """Replaces `numba.njit` when the kernels are built: kernels are looked up there, helpers stay plain functions."""
    if isinstance(signature, FunctionType):
        return signature
    return _plain if signature is None else _replaced


def _plain(helper: _Function) -> _Function:
    return helper


def _replaced(kernel: Callable[..., Any]) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(built, built_name(kernel.__module__, kernel.__name__), None)
    if found is None:  # the kernel was added after the module was built
        raise ImportError(
            f"{kernel.__module__} has kernels that are not built yet: pip install --editable . builds them"
        )
    return found


built = _fitting()

boolean: Any
int32: Any
int64: Any
njit: Any
types: Any
uint8: Any
uint64: Any
void: Any

if built is not None:
    boolean = int32 = int64 = types = uint8 = uint64 = void = _Unread()
    njit = _built_njit
else:
    try:
        from numba import boolean, int32, int64, types, uint8, uint64, void  # noqa: F401  kernels take them

        from holdfast.kernel_cache import njit  # noqa: F401
    except ImportError as error:
        raise UsageError(
            Diagnostic(
                "E0930",
                "there are no compiled kernels for this machine, and Numba, which would compile them, is not installed",
                help="pip install 'holdfast[jit]'",
            )
        ) from error


def uncached() -> Diagnostic | None:
    """The warning that each process compiles the kernels again; issued once."""
    if built is not None:
        return None
    from holdfast import kernel_cache

    return kernel_cache.uncached()


def described() -> str:
    """Where the kernels come from, in a few words."""
    if built is not None:
        return f"kernels built ahead for {built.CPU}"
    return "kernels compiled by Numba on first use"
