"""What `hatch_build.py` tells the builder of a wheel."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("hatchling")

import hatch_build
from tools import build_kernels


class Hook(hatch_build.PlatformWheel):
    """The hook without a build around it."""

    target_name = "wheel"
    metadata = SimpleNamespace(core=SimpleNamespace(optional_dependencies={"jit": ["numba>=0.61"]}))

    def __init__(self) -> None:
        self.reported: list[str] = []

    @property
    def app(self) -> Any:
        return SimpleNamespace(display_warning=self.reported.append)

    def _tables(self, out: Path) -> bool:
        return True


@pytest.fixture
def data() -> dict[str, Any]:
    return {"dependencies": [], "force_include": {}, "pure_python": True}


def test_a_wheel_with_kernels_is_for_a_platform(monkeypatch: pytest.MonkeyPatch, data: dict[str, Any]) -> None:
    def build(out: Path) -> None:
        out.parent.mkdir()
        out.write_bytes(b"needs GLIBC_2.2.5 and GLIBC_2.14")

    monkeypatch.setattr(build_kernels, "build", build)
    hook = Hook()
    hook.initialize("standard", data)
    hook.finalize("standard", data, "the wheel")
    assert (data["pure_python"], data["dependencies"], hook.reported) == (False, [], [])
    assert data["tag"] == f"cp311-abi3-manylinux_2_17_{build_kernels.machine()}"
    assert set(data["force_include"].values()) == {"holdfast/_kernels.abi3.so", "holdfast/language/grammar.pickle"}


def test_a_wheel_without_kernels_asks_for_numba_and_says_why(
    monkeypatch: pytest.MonkeyPatch, data: dict[str, Any]
) -> None:
    def build(out: Path) -> None:
        raise build_kernels.CannotBuildError("there is no C compiler")

    monkeypatch.setattr(build_kernels, "build", build)
    hook = Hook()
    hook.initialize("standard", data)
    hook.finalize("standard", data, "the wheel")
    assert (data["pure_python"], data["dependencies"]) == (True, ["numba>=0.61"])
    assert "tag" not in data
    assert set(data["force_include"].values()) == {"holdfast/language/grammar.pickle"}
    assert "there is no C compiler" in hook.reported[0]


def test_a_newer_c_library_is_said_in_the_tag(tmp_path: Path) -> None:
    module = tmp_path / "module.so"
    module.write_bytes(b"needs GLIBC_2.34")
    assert build_kernels.platform_tag(module) != f"manylinux_2_17_{build_kernels.machine()}"
