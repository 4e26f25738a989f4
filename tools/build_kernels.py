"""Compile the kernels ahead of time, into one extension module that needs neither Numba nor LLVM to run.

Numba translates every kernel, with the signature that it has in its source, into an object file for each CPU variant;
`tools/shim.py` writes the C code that makes a Python module of them; a C compiler links the two.

    python -m tools.build_kernels src/holdfast/_kernels.abi3.so

`CC` names the compiler, `HOLDFAST_TARGET` another machine than this one (aarch64-linux-gnu; then `CC` must be a cross
compiler, such as `python -m ziglang cc -target aarch64-linux-gnu.2.17`).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
TARGET = "HOLDFAST_TARGET"
_KERNEL_FILE = re.compile(r"^from holdfast\.compilation import ", re.MULTILINE)
_OUTSIDE = {"memset", "memcpy", "memmove", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor"}


class CannotBuildError(Exception):
    """The module cannot be built here; the message says why."""


@dataclass(frozen=True)
class Variant:
    """Machine code for one kind of CPU: what LLVM calls it, and what its symbols end in."""

    cpu: str
    suffix: str


VARIANTS: Mapping[str, tuple[Variant, ...]] = {
    "x86_64": (Variant("x86-64", ""), Variant("x86-64-v3", "_v3")),
    "aarch64": (Variant("generic", ""),),
}
"""For each machine the code that runs on all of its kind; then, for kernels that gain by it, what newer CPUs run."""


@dataclass(frozen=True)
class Kernel:
    """A function to compile, and Numba's signature of it."""

    name: str
    function: Any
    signature: Any
    newer: bool = False  # whether it gains by newer CPUs: its file says so
    few: int = 0  # rows of its first argument up to which it keeps Python's lock: its file says so

    def symbol(self, variant: Variant) -> str:
        """What it is called in an object file."""
        return f"holdfast_{self.name}{variant.suffix}"


def machine() -> str:
    """The kind of machine to build for."""
    name = os.environ.get(TARGET, "").partition("-")[0] or platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)


def kernel_files(package: Path) -> list[Path]:
    """The files that have kernels: those that take Numba's names from `holdfast.compilation`."""
    return sorted(file for file in package.rglob("*.py") if _KERNEL_FILE.search(file.read_text(encoding="utf-8")))


def collected(modules: Sequence[str]) -> list[Kernel]:
    """The kernels of some modules, imported without compiling any."""
    sys.modules["holdfast._kernels"] = None  # type: ignore[assignment]  # an older one must not stand in for them
    from numba import njit

    from holdfast import compilation

    found = list[Kernel]()

    def collect(signature: Any = None, *, cache: bool = False, **options: Any) -> Any:
        if signature is None or (callable(signature) and not hasattr(signature, "return_type")):
            return njit(signature, **options) if signature is not None else njit(**options)

        def decorate(function: Any) -> Any:
            name = compilation.built_name(function.__module__, function.__name__)
            says = function.__globals__.get
            newer, few = says("GAINS_BY_NEWER_CPUS", False), says("KEEPS_THE_LOCK", 0)
            found.append(Kernel(name, njit(**options)(function), signature, newer, few))
            return found[-1].function

        return decorate

    compilation.njit = collect
    for module in modules:
        importlib.import_module(module)
    return found


def object_code(kernels: Sequence[Kernel], variant: Variant, triple: str = "") -> bytes:
    """Machine code for some kernels, in one object file."""
    from numba.core import registry
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime import nrtdynmod

    compiler: Any = importlib.import_module("numba.core.compiler")  # mypy would take its own types at their word
    with global_compiler_lock:
        context = registry.cpu_target.target_context.with_aot_codegen("holdfast", cpu_name=variant.cpu)
        library = context.codegen().create_library("holdfast")
        library.add_ir_module(nrtdynmod.create_nrt_module(context)[0])  # type: ignore[no-untyped-call]
        flags = compiler.Flags()
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.nrt = True
        flags.error_model = "python"
        symbols = set[str]()
        for kernel in kernels:
            result = compiler.compile_extra(
                registry.cpu_target.typing_context,
                context,
                kernel.function.py_func,
                kernel.signature.args,
                kernel.signature.return_type,
                flags,
                locals={},
                library=library,
            )
            result.library.get_function(result.fndesc.llvm_func_name).name = kernel.symbol(variant)
            symbols.add(kernel.symbol(variant))
        library.finalize()
        for function in library.get_defined_functions():
            if function.name not in symbols:
                function.visibility, function.linkage = "default", "internal"  # each variant has its own
        return _emitted(library._final_module, variant, triple)


def _emitted(module: Any, variant: Variant, triple: str) -> bytes:
    """Optimised code as an object file for a machine, this one or another."""
    from llvmlite import binding

    if triple:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple or binding.get_process_triple())
    machine = target.create_target_machine(cpu=variant.cpu, opt=3, reloc="pic", codemodel="default")
    if triple:
        text = re.sub(r"(?m)^target triple = .*$", f'target triple = "{triple}"', str(module))
        text = re.sub(r"(?m)^target datalayout = .*$", f'target datalayout = "{machine.target_data}"', text)
        module = binding.parse_assembly(text)
    return bytes(machine.emit_object(module))


def compiler() -> list[str]:
    """The C compiler's command; `CC`, what the system has, or Zig's from PyPI."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CannotBuildError("there is no C compiler (cc, gcc, clang, or ziglang from PyPI)")


def build(out: Path) -> None:
    """Make the extension module, whole or not at all, unless it is there; raises `CannotBuildError`."""
    if sys.platform != "linux":
        raise CannotBuildError(f"it has been tried on Linux only, and this is {sys.platform}")
    if machine() not in VARIANTS:
        raise CannotBuildError(f"nobody has taught tools/build_kernels.py what code a {machine()} runs")
    if not importlib.util.find_spec("numba"):
        raise CannotBuildError("Numba, which compiles the kernels, is not installed")
    if out.exists() and _is_fresh(out):
        return
    variants, cc = VARIANTS[machine()], compiler()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".kernels-") as name:
        folder = Path(name)
        objects = _objects(folder, variants)
        made = folder / out.name
        _run([*cc, *_flags(), *map(str, [folder / "shim.c", *objects]), "-o", str(made)])
        if not os.environ.get(TARGET):
            _try(made)
        made.replace(out)


def _is_fresh(module: Path) -> bool:
    """Whether a module is what would be built: from these sources, by these tools."""
    load = (
        "import sys; sys.path.insert(0, sys.argv[1]); import _kernels;"
        "from tools.build_kernels import sources, tools;"
        "sys.exit((_kernels.SOURCES, _kernels.TOOLS) != (sources(), tools()))"
    )
    command = [sys.executable, "-c", load, str(module.parent)]
    return not subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=False).returncode


def sources() -> dict[str, str]:
    """The digests of the files that have kernels, by their place in the package."""
    from holdfast.compilation import digest

    package = SOURCE / "holdfast"
    return {file.relative_to(package).as_posix(): digest(file) for file in kernel_files(package)}


def tools() -> str:
    """A digest of what builds."""
    import numpy as np
    from llvmlite import __version__ as llvmlite
    from numba import __version__ as numba

    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("build_kernels.py", "shim.py")]
    return blake2b("\0".join([*texts, numba, llvmlite, np.__version__]).encode(), digest_size=16).hexdigest()


def platform_tag(module: Path) -> str:
    """What a wheel with the module is for: an old glibc if it asks for no newer, else this system."""
    asked = [(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", module.read_bytes())]
    if asked and max(asked) <= (2, 17):
        return f"manylinux_2_17_{machine()}"
    from packaging.tags import platform_tags

    return next(iter(platform_tags()))


def _objects(folder: Path, variants: Sequence[Variant]) -> list[Path]:
    """Compile each variant in a process of its own, all at once: Numba's settings are those of a process."""
    objects = [folder / f"kernels{variant.suffix}.o" for variant in variants]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tools.build_kernels", "--variant", str(number), str(file)],
            cwd=ROOT,
            env={**environment(), **_cpu(variant)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number, (variant, file) in enumerate(zip(variants, objects, strict=True))
    ]
    for process in running:
        said, _ = process.communicate()
        if process.returncode:
            raise CannotBuildError(f"Numba failed:\n{said}")
    return objects


def environment() -> dict[str, str]:
    """For processes that import this source tree, and Numba with its own settings."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    path = os.pathsep.join([str(SOURCE), str(ROOT), *filter(None, [own.get("PYTHONPATH")])])
    return {**own, "PYTHONPATH": path}


def _cpu(variant: Variant) -> dict[str, str]:
    """Helpers are compiled apart from the kernels that call them: also they must not suit only this machine's CPU."""
    host = platform.machine() == machine()
    return {"NUMBA_CPU_NAME": variant.cpu if host else "generic", "NUMBA_CPU_FEATURES": ""}


def _write_variant(number: int, file: Path) -> None:
    """In the process of one variant: its object file, and from the first also the C code."""
    from tools import shim

    variants = VARIANTS[machine()]
    kernels = collected([_module_name(one) for one in kernel_files(SOURCE / "holdfast")])
    wanted = [kernel for kernel in kernels if kernel.newer or number == 0]
    file.write_bytes(object_code(wanted, variants[number], os.environ.get(TARGET, "")))
    if number == 0:
        text = shim.source(kernels, variants, {"SOURCES": sources(), "TOOLS": tools()}, "_kernels")
        (file.parent / "shim.c").write_text(text, encoding="utf-8")


def _module_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts)


def _flags() -> Iterator[str]:
    import numpy as np

    yield from ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wno-unused-function")
    yield from ("-I", sysconfig.get_paths()["include"], "-I", np.get_include())
    if sys.platform == "darwin":
        yield from ("-undefined", "dynamic_lookup")


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuildError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def _try(module: Path) -> None:
    """Load the module once, in a process of its own: a symbol that is missing shows now."""
    load = "import sys; sys.path.insert(0, sys.argv[1]); import _kernels"
    _run([sys.executable, "-c", load, str(module.parent)])


def main(words: Sequence[str]) -> None:
    """The command line, and the processes that it starts."""
    match words:
        case ["--variant", number, file]:
            _write_variant(int(number), Path(file))
        case [out]:
            build(Path(out))
        case _:
            sys.exit("usage: python -m tools.build_kernels OUT")


if __name__ == "__main__":
    main(sys.argv[1:])
