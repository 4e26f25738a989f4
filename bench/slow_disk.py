"""A simulated disk for measurements: each sync of a process takes at least a given time, and syncs are counted.

A shared library, compiled when it is needed, stands in front of the C library's `fsync` and `fdatasync`; the real call
happens, and then the rest of the time is slept.  So it holds for every system in the process, whatever its language.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_LIMIT = "BENCH_SYNC_MS"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_long calls;
static long least;  /* nanoseconds */
static int (*real_fsync)(int), (*real_fdatasync)(int);

long bench_syncs(void) { return calls; }

__attribute__((constructor)) static void prepare(void) {
    const char *given = getenv("BENCH_SYNC_MS");
    least = given ? (long)(atof(given) * 1e6) : 0;
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
}

static int slowly(int (*real)(int), int handle) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += least;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    int result = real(handle), error = errno;
    while (least && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, 0) == EINTR) {}
    calls++;
    errno = error;
    return result;
}

int fsync(int handle) { return slowly(real_fsync, handle); }
int fdatasync(int handle) { return slowly(real_fdatasync, handle); }
"""


def build(folder: Path) -> Path:
    """Compile the library into a folder."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        sys.exit("a simulated disk needs a C compiler (cc), and there is none; without --sync-ms none is needed")
    source, library = folder / "slow_disk.c", folder / "slow_disk.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def run(library: Path, milliseconds: float, module: str, arguments: Sequence[str]) -> None:
    """Run a module in a process whose syncs take at least so long."""
    others = [path for path in [os.environ.get("LD_PRELOAD")] if path]
    changed = {"LD_PRELOAD": ":".join([str(library), *others]), _LIMIT: str(milliseconds)}
    subprocess.run([sys.executable, "-m", module, *arguments], env={**os.environ, **changed}, check=True)


def syncs() -> int | None:
    """The syncs of this process so far; None if they are not counted."""
    count = getattr(ctypes.CDLL(None), "bench_syncs", None)
    if count is None:
        return None
    count.restype = ctypes.c_long
    return int(count())
