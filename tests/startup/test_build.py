"""What `tools/build_kernels.py` makes of a kernel: the same results, exceptions and refusals as Numba's own."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")
from numba import boolean, int32, int64, njit, types, uint8, uint64, void

from tools import build_kernels, shim
from tools.build_kernels import Kernel, Variant

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are built ahead on Linux only"),
    pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler"),
]


def _total(numbers):  # type: ignore[no-untyped-def]
    total = int64(0)
    for number in numbers:
        total += number
    return total


def _spread(rows, factor, out):  # type: ignore[no-untyped-def]
    scratch = np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        scratch[k] = rows[k, 0] // factor
    for k in range(len(rows)):
        out[k] = scratch[k]
    return int64(len(rows)), int64(rows.shape[1])


def _set(flags, value, really):  # type: ignore[no-untyped-def]
    if really:
        for k in range(len(flags)):
            flags[k] |= value


def _too_large(bytes):  # type: ignore[no-untyped-def]
    return np.empty(bytes, np.uint8)[0] == 1


def _scaled(pair, rows, numbers):  # type: ignore[no-untyped-def]
    factors, (flags, shift) = pair
    total = int64(0)
    for k in range(len(numbers)):
        total += numbers[k] * factors[0] + flags[0] + shift + rows[0][k, 0] - rows[1][k, 0]
    return total


def _busy(numbers, steps):  # type: ignore[no-untyped-def]
    value = numbers[0]
    for step in range(steps):
        value = value * 31 + step
    return value


FEW = 4
SIGNATURES = {
    "total": (_total, int64(int64[::1])),
    "spread": (_spread, types.UniTuple(int64, 2)(int32[:, :], int64, int64[::1])),
    "set": (_set, void(uint64[::1], uint8, boolean)),
    "scaled": (
        _scaled,
        int64(
            types.Tuple((int64[::1], types.Tuple((uint8[::1], int64)))),
            types.Tuple((int32[:, :], int32[:, :])),
            int64[::1],
        ),
    ),
    "too_large": (_too_large, boolean(int64)),
}
LOCKED = {"busy": (_busy, int64(int64[::1], int64))}  # with a few rows


def kernels() -> list[Kernel]:
    free = [Kernel(name, njit(function), signature, True) for name, (function, signature) in SIGNATURES.items()]
    return free + [Kernel(name, njit(function), signature, True, FEW) for name, (function, signature) in LOCKED.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Object files and the C code of a module with these kernels."""
    folder = tmp_path_factory.mktemp("kernels")
    variants = build_kernels.VARIANTS.get(build_kernels.machine(), (Variant("generic", ""),))
    for variant in variants:
        (folder / f"code{variant.suffix}.o").write_bytes(build_kernels.object_code(kernels(), variant))
    (folder / "shim.c").write_text(shim.source(kernels(), variants, {"TOOLS": "none"}, "tiny"), encoding="utf-8")
    include = ["-I", sysconfig.get_paths()["include"], "-I", np.get_include()]
    files = [str(folder / "shim.c"), *map(str, sorted(folder.glob("*.o")))]
    subprocess.run(["cc", "-shared", "-fPIC", *include, *files, "-o", str(folder / "tiny.abi3.so")], check=True)
    return folder


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Iterator[Any]:
    """The module itself."""
    spec = importlib.util.spec_from_file_location("tiny", folder / "tiny.abi3.so")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module


def test_results_are_what_python_gives(tiny: Any) -> None:
    numbers = np.arange(-5, 100, dtype=np.int64)
    assert tiny.total(numbers) == sum(numbers.tolist())
    rows = np.arange(40, dtype=np.int32).reshape(4, 10)
    for view in (rows, rows.T, rows[::2], rows[:, ::3]):
        out = np.zeros(len(view), np.int64)
        assert tiny.spread(view, 3, out) == view.shape
        assert out.tolist() == [value // 3 for value in view[:, 0].tolist()]
    flags = np.zeros(3, np.uint64)
    assert tiny.set(flags, np.uint8(4), np.bool_(True)) is None
    assert tiny.set(flags, 2, False) is None
    assert flags.tolist() == [4, 4, 4]
    assert tiny.too_large(1) in (True, False)


FACTORS, FLAGS, ROWS = np.array([3]), np.array([5], np.uint8), np.arange(12, dtype=np.int32).reshape(4, 3)


def test_tuples_are_taken_apart(tiny: Any) -> None:
    numbers = np.arange(4, dtype=np.int64)
    assert tiny.scaled((FACTORS, (FLAGS, 7)), (ROWS, ROWS[:, 1:]), numbers) == 3 * 6 + 4 * (5 + 7) - 4


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((FACTORS, [FLAGS, 7]), "scaled: argument 0.1 must be a tuple of 2"),
        ((FACTORS, (FLAGS, 7), 1), "scaled: argument 0 must be a tuple of 2"),
        ((FACTORS, (FACTORS, 7)), "scaled: argument 0.1.0 must be a writable array of u1"),
        ((FACTORS, (FLAGS, "7")), "cannot be interpreted as an integer"),
        (FACTORS, "scaled: argument 0 must be a tuple of 2"),
    ],
)
def test_other_tuples_are_refused(pair: Any, message: str, tiny: Any) -> None:
    with pytest.raises(TypeError, match=message):
        tiny.scaled(pair, (ROWS, ROWS), FACTORS)


def read_only() -> np.ndarray[Any, Any]:
    array = np.arange(3, dtype=np.int64)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "argument",
    [
        [1, 2],
        np.arange(3, dtype=np.int32),
        np.arange(3, dtype=np.uint64),
        np.arange(3, dtype=np.float64),
        np.arange(6, dtype=np.int64)[::2],
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.arange(3, dtype=np.int64).astype(">i8"),
        np.frombuffer(bytearray(25), np.int64, 3, 1),
        read_only(),
    ],
    ids=["list", "int32", "uint64", "float", "strided", "2d", "swapped", "unaligned", "read-only"],
)
def test_what_a_kernel_was_not_compiled_for_is_refused(argument: Any, tiny: Any) -> None:
    with pytest.raises(TypeError, match="total: argument 0 must be a writable array"):
        tiny.total(argument)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((np.zeros(1, np.uint64), 256, True), OverflowError),
        ((np.zeros(1, np.uint64), -1, True), OverflowError),
        ((np.zeros(1, np.uint64), 1.5, True), TypeError),
        ((np.zeros(1, np.uint64), 1), TypeError),
        ((np.zeros(1, np.uint64), 1, True, 1), TypeError),
    ],
)
def test_numbers_that_do_not_fit_are_refused(arguments: tuple[Any, ...], error: type[Exception], tiny: Any) -> None:
    with pytest.raises(error):
        tiny.set(*arguments)
    assert arguments[0][0] == 0


def test_exceptions_keep_their_kind(tiny: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        tiny.spread(np.ones((2, 2), np.int32), 0, np.zeros(2, np.int64))
    with pytest.raises(MemoryError):
        tiny.too_large(1 << 60)
    with pytest.raises(OverflowError):
        tiny.too_large(1 << 63)


@pytest.fixture
def no_switches() -> Iterator[None]:
    """Python's lock changes hands only when a thread gives it away."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("no_switches")
def test_short_loops_keep_pythons_lock(tiny: Any) -> None:
    assert not any(_another_thread_ran(tiny, rows) for rows in (1, FEW) for _ in range(5))
    assert any(_another_thread_ran(tiny, FEW + 1) for _ in range(100))


def _another_thread_ran(tiny: Any, rows: int) -> bool:
    """While a kernel ran for some milliseconds."""
    gate, ran = threading.Lock(), []
    gate.acquire()
    thread = threading.Thread(target=lambda: ran.append(gate.acquire()))
    thread.start()
    time.sleep(0.001)
    gate.release()
    tiny.busy(np.ones(rows, np.int64), 10_000_000)
    found = bool(ran)
    thread.join()
    return found


def instructions(file: Path) -> str:
    if not shutil.which("objdump"):
        pytest.skip("there is no objdump")
    return subprocess.run(["objdump", "-d", str(file)], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(build_kernels.machine() != "x86_64", reason="it is about x86-64")
def test_the_baseline_runs_on_every_cpu_of_its_kind(folder: Path) -> None:
    baseline, v3 = instructions(folder / "code.o"), instructions(folder / "code_v3.o")
    assert "%xmm" in baseline
    assert "%ymm" in v3, "this test cannot see what newer instructions are"
    assert not newer(baseline)


def newer(code: str) -> list[str]:
    """Instructions that the first CPUs with 64 bits did not have."""
    new = re.compile(r"v(?!er[rw])|(sar|shl|shr|ror|mul)x|andn|bls|bextr|pdep|pext|popcnt|[lt]zcnt")
    words = [line.split("\t")[2].split()[0] for line in code.splitlines() if line.count("\t") >= 2]
    return [word for word in words if new.match(word)]


@pytest.mark.skipif(build_kernels.machine() != "x86_64", reason="it is about x86-64")
def test_the_faster_variant_is_taken_only_where_the_cpu_has_it(tiny: Any) -> None:
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")).split()
    v3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "sse4_2", "xsave"}
    assert ("x86-64-v3" if v3.issubset(flags) else "x86-64") == tiny.CPU


def test_object_code_for_aarch64_can_be_made_anywhere() -> None:
    code = build_kernels.object_code(kernels(), Variant("generic", ""), "aarch64-linux-gnu")
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 183  # AArch64
