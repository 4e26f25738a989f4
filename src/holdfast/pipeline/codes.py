"""The error codes of the pipeline, with what each means."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E1101": "the pipeline file is not TOML",
    "E1102": "the pipeline file has a key that is not known",
    "E1103": "the pipeline file lacks something",
    "E1104": "the pipeline file has a value that cannot be there",
    "E1105": "the pipeline file names a relation or column that the program has not",
    "E1106": "a source lacks a column that its relation needs",
    "E1107": "rows fail their checks, more of them than are allowed",
    "E1108": "a sink or source cannot be used the way the pipeline is run",
    "E1109": "a batch run would put away the state of earlier updates",
    "E1110": "a frame is missing that the pipeline file says will be given",
    "E1111": "another run of the same pipeline is under way",
    "E1112": "a snapshot is damaged or missing",
    "E1113": "the stream has gone on without the snapshots",
    "E1114": "there is no snapshot to go back to",
    "E1115": "the program is not the one that the snapshots began with",
    "E1116": "a file has other columns than its source reads",
    "E1117": "a snapshot's manifest has no hash that it could be checked by",
}
