"""A service that answers who may read which document, from a knowledge base in a store.

Install holdfast, fastapi and uvicorn, then run `STORE=kb uvicorn app:app` in this folder.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Update

RULES = """
.decl member(person: symbol, group: symbol)
.decl grant(group: symbol, document: symbol)
.decl blocked(person: symbol)
.decl may(person: symbol, document: symbol)
may(p, d) :- member(p, g), grant(g, d), !blocked(p).
"""


def service(store: str | Path) -> FastAPI:
    """The service on a store, which it opens when it starts and closes when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with holdfast.from_text(RULES, store=store) as kb:
            app.state.kb = kb
            yield

    app = FastAPI(lifespan=lifespan)

    def base() -> KnowledgeBase:
        found: KnowledgeBase = app.state.kb
        return found

    # Endpoints without `async` run in threads. Updates that wait for each other share a sync.

    @app.get("/may/{person}")
    def may(person: str) -> list[str]:
        return sorted(str(document) for (document,) in base().query("may($person, d)", {"person": person}))

    @app.post("/updates")
    def update(changes: dict[str, Any], user: Annotated[str, Header()] = "unknown") -> dict[str, Any]:
        given = Update.from_json({**changes, "note": {"user": user}})
        change = base().apply(given)
        return {"added": _rows(change.added), "removed": _rows(change.removed)}

    @app.get("/history")
    def history() -> list[dict[str, Any]]:
        return [{"version": c.version, "time": c.time.isoformat(), "notes": c.notes} for c in base().commits()]

    @app.post("/backups/{name}")
    def backup(name: str) -> dict[str, int]:
        base().backup(Path(store).with_name(Path(name).name))
        return {"version": base().version}

    @app.exception_handler(HoldfastError)
    def refused(_: Request, error: HoldfastError) -> JSONResponse:
        """A store that cannot be written is our trouble, everything else the client's; nothing has changed."""
        code = error.diagnostics[0].code
        return JSONResponse({"code": code, "error": str(error)}, 503 if code in ("E1304", "E1305") else 400)

    return app


def _rows(views: Any) -> dict[str, list[Any]]:
    return {name: sorted(view) for name, view in views.items()}


if "STORE" in os.environ:
    app = service(os.environ["STORE"])
