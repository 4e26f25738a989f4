"""The error codes of the pipeline, with their meanings."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E1101": "the pipeline file is not TOML",
    "E1102": "the pipeline file has an unknown key",
    "E1103": "the pipeline file lacks a required key",
    "E1104": "the pipeline file has an invalid value",
    "E1105": "the pipeline file names a relation or column that the program does not have",
    "E1106": "a source lacks a column that its relation needs",
    "E1107": "more rows fail their checks than the limit allows",
    "E1108": "a sink or source cannot be used in this way",
    "E1109": "a batch run would discard the state of earlier updates",
    "E1110": "a frame that the pipeline file declares is not given",
    "E1111": "another run of the same pipeline is under way",
    "E1112": "a snapshot is damaged or missing",
    "E1113": "the stream's checkpoint is ahead of the snapshots",
    "E1114": "the snapshot to restore does not exist",
    "E1115": "the program has changed since the first snapshot",
    "E1116": "a file does not have the columns that its source reads",
    "E1117": "a snapshot's manifest has no hash",
}
