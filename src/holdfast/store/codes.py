"""The error codes of stores, with their meanings."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E1301": "a folder is not a store",
    "E1302": "a store has a format that this version of holdfast does not read",
    "E1303": "another process or knowledge base has the store open for writing",
    "E1304": "a store cannot be read or written",
    "E1305": "a store is closed for writing",
    "E1306": "a store is damaged",
    "E1307": "the program is not the one that the store was made with",
    "E1308": "a knowledge base has no store, or its engine cannot have one",
    "E1309": "a store does not have the requested version",
    "E1310": "the destination of a copy exists",
    "E1311": "a store belongs to a pipeline, and can only be read",
}
