"""Builds what a wheel carries beside its Python files: the kernels' machine code and the grammar's tables.

Where the kernels cannot be compiled (no C compiler, a platform that nobody has tried), the wheel is one for all
platforms and asks for Numba, which then compiles them on the user's machine.  An editable install has both in `src/`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools import build_kernels  # noqa: E402

_MODULE, _TABLES = "holdfast/_kernels.abi3.so", "holdfast/language/grammar.pickle"


class PlatformWheel(BuildHookInterface[Any]):
    """Makes a wheel one for this platform, or one that needs Numba."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build both files, beside the sources or into the wheel."""
        if self.target_name != "wheel":
            return
        folder = ROOT / "src" if version == "editable" else self._temporary()
        self._add(build_data, folder / _TABLES, _TABLES, self._tables(folder / _TABLES))
        try:
            build_kernels.build(folder / _MODULE)
        except build_kernels.CannotBuildError as reason:
            (folder / _MODULE).unlink(missing_ok=True)
            self.app.display_warning(f"holdfast's kernels are not compiled ahead: {reason}")
            self.app.display_warning("Numba is installed instead, and compiles them on their first use")
            build_data["dependencies"] += self.metadata.core.optional_dependencies["jit"]
        else:
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{build_kernels.platform_tag(folder / _MODULE)}"
            self._add(build_data, folder / _MODULE, _MODULE, True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is there: what it was made of can go."""
        if self._folder is not None:
            self._folder.cleanup()

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def _temporary(self) -> Path:
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-build-")
        return Path(self._folder.name)

    def _tables(self, out: Path) -> bool:
        """Make the grammar's tables; without them the parser starts slower, and that is all."""
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tools.build_grammar", str(out)]
        done = subprocess.run(command, cwd=ROOT, env=build_kernels.environment(), capture_output=True, check=False)
        if done.returncode:
            self.app.display_warning(f"the grammar's tables are not made: {done.stderr.decode()}")
        return not done.returncode

    def _add(self, build_data: dict[str, Any], file: Path, place: str, there: bool) -> None:
        if there:
            build_data["force_include"][str(file)] = place
