"""The service of docs/services.md runs: answers, updates, notes, errors, a backup, and the state after a restart."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("fastapi", reason="FastAPI is not installed: pip install fastapi httpx")
pytest.importorskip("httpx", reason="httpx, which FastAPI's test client needs, is not installed")


def client(store: Path) -> Any:
    from fastapi.testclient import TestClient

    spec = importlib.util.spec_from_file_location("service_example", ROOT / "examples/service/app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return TestClient(module.service(store))


@pytest.mark.filterwarnings("default")  # those of others
def test_the_service(tmp_path: Path) -> None:
    with client(tmp_path / "kb") as http:
        first = {"insert": {"member": [["ada", "staff"]], "grant": [["staff", "handbook"]]}}
        assert http.post("/updates", json=first, headers={"user": "ann"}).json()["added"]["may"] == [
            ["ada", "handbook"]
        ]
        assert http.get("/may/ada").json() == ["handbook"]
        assert http.get('/may/x", d), may(p').json() == []
        wrong = http.post("/updates", json={"insert": {"unknown": [[1]]}})
        assert (wrong.status_code, wrong.json()["code"][0]) == (400, "E")
        assert [commit["notes"] for commit in http.get("/history").json()] == [[{"user": "ann"}]]
        assert http.post("/backups/copy").json() == {"version": 1}
        http.post("/updates", json={"insert": {"blocked": [["ada"]]}})
    for store, documents in (("kb", []), ("copy", ["handbook"])):
        with client(tmp_path / store) as http:
            assert http.get("/may/ada").json() == documents


def test_the_page_has_the_example() -> None:
    page = (ROOT / "docs/services.md").read_text(encoding="utf-8")
    assert "examples/service/app.py" in page
