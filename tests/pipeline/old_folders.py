"""Writes snapshots as pipelines did before they kept a store."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import holdfast
from holdfast.pipeline.keeping import PipelineProgress
from holdfast.pipeline.old_snapshots import FORMAT, Logged, Manifest, OldSnapshots, Part
from holdfast.store.files import file_digest
from holdfast.store.reading import read_store


def manifest_text(manifest: Manifest) -> str:
    """The manifest's text, with the hash of its content."""
    content = asdict(manifest)
    return _json({**content, "sha256": hashlib.sha256(_json(content).encode()).hexdigest()})


def _json(content: dict[str, object]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)


def write_part(folder: Path, path: str, relation: str, rows: pa.Table, kind: str = "facts") -> Part:
    """Rows as a Parquet file."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / path)
    return Part(relation, path, rows.num_rows, {path: file_digest(folder / path)}, kind)


def commit(folder: Path, manifest: Manifest) -> None:
    """Make this the newest snapshot; the manifests before it stay."""
    pointer = folder / "CURRENT"
    before = json.loads(pointer.read_text("utf-8")) if pointer.exists() else {"snapshot": None}
    linked = replace(manifest, previous=before["snapshot"], previous_sha256=before.get("sha256", ""), format=FORMAT)
    text = manifest_text(linked)
    path = folder / f"manifests/{manifest.number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    for later in folder.glob("manifests/[0-9]*.json"):
        if int(later.stem) > manifest.number:
            later.unlink()
    pointer.write_text(json.dumps({"snapshot": manifest.number, "sha256": digest}) + "\n", encoding="utf-8")


def store_with(folder: Path, numbers: int = 4, program: str = "p(x) :- edge(x, _).", source: str = "") -> OldSnapshots:
    """A snapshot after each of some updates; facts whole after updates 0, 3, 6 …"""
    facts: tuple[Part, ...] = ()
    updates: tuple[Logged, ...] = ()
    of, sizes = 0, {"edge": 0, "p": 0}
    for number in range(numbers):
        inserted = pa.table({"a": [number], "b": [1]})
        sizes = {name: size + 1 for name, size in sizes.items()}
        if number % 3 == 0:
            every = pa.table({"a": list(range(number + 1)), "b": [1] * (number + 1)})
            facts = (write_part(folder, f"facts/{number}/0.parquet", "edge", every),)
            of, updates = number, ()
        else:
            part = write_part(folder, f"updates/{number}/0.parquet", "edge", inserted, "insert")
            updates = (*updates, Logged(number, (part,), ('{"insert": {"edge": []}}',)))
        commit(folder, Manifest(number, source, program, facts, of, updates, sizes))
    return OldSnapshots(folder)


def as_before(folder: Path) -> None:
    """Make the manifests those of the format without hashes, as an older holdfast wrote them."""
    new = ("sha256", "previous", "previous_sha256", "parts_of", "taken")
    for path in (folder / "manifests").iterdir():
        content = {key: value for key, value in json.loads(path.read_text("utf-8")).items() if key not in new}
        path.write_text(json.dumps({**content, "format": 1}), encoding="utf-8")
    newest = json.loads((folder / "CURRENT").read_text("utf-8"))["snapshot"]
    digest = hashlib.sha256((folder / f"manifests/{newest}.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(json.dumps({"snapshot": newest, "sha256": digest}), encoding="utf-8")


def as_old_folder(folder: Path) -> None:
    """Make the store of a pipeline the snapshots that an older holdfast would have written."""
    stored = read_store(folder)
    versions = [stored.manifest.version, *(record.version for record in stored.log.applied())]
    with holdfast.open(folder, read_only=True) as kb:
        earlier = {version: kb.at(version) for version in versions}
    progress = {version: PipelineProgress.of_store(stored.at(version)) for version in versions}
    for name in ("HOLDFAST", "CURRENT", "CLOSED"):
        (folder / name).unlink(missing_ok=True)
    for name in ("manifests", "facts", "log", "derived"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for version, then in earlier.items():
        facts = tuple(
            write_part(folder, f"facts/{version}/{place}.parquet", name, then.explicit(name).to_arrow())
            for place, name in enumerate(then)
            if then.explicit(name)
        )
        position, engine, sizes = progress[version]
        manifest = Manifest(version, stored.manifest.source, then.rules_text(), facts, version, (), sizes, *position)
        commit(folder, replace(manifest, engine=engine))
