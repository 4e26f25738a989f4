"""The error codes that belong to the command line itself."""

from __future__ import annotations

INTERNAL = "E0002"
BAD_USAGE = "E0010"
NO_SUCH_FILE = "E0011"
UNREADABLE = "E0012"
BAD_AMOUNT = "E0013"
CANNOT_WRITE = "E0014"
OUT_OF_MEMORY = "E0015"
NO_RESULT = "E1201"
OTHER_FORMAT = "E1202"
BAD_RESULT = "E1203"
OTHER_SIZE = "E1204"
NOTHING_IN_COMMON = "E1205"
BAD_THRESHOLD = "E1206"

ALL_CODES: dict[str, str] = {
    INTERNAL: "holdfast itself failed; this is a bug of ours",
    BAD_USAGE: "the command line is not one that the command takes",
    NO_SUCH_FILE: "a file or folder named on the command line is not there",
    UNREADABLE: "a file named on the command line cannot be read as text",
    BAD_AMOUNT: "an amount such as the one of --limit-memory is not a number with a known unit",
    CANNOT_WRITE: "a file or folder cannot be written",
    OUT_OF_MEMORY: "the machine has no memory left",
    NO_RESULT: "a file is no result of `make bench`",
    OTHER_FORMAT: "a result of `make bench` has a format that is not known",
    BAD_RESULT: "a result of `make bench` has something that cannot be there",
    OTHER_SIZE: "two results to compare are of different sizes",
    NOTHING_IN_COMMON: "two results to compare have nothing in common",
    BAD_THRESHOLD: "the threshold of a comparison is below 1",
}
