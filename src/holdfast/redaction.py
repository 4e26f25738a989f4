"""Recognise passwords and keys by name, and remove them from texts.

Spark settings and options and the URLs of databases and object stores contain them, and messages and logs quote those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SECRET: Final = (
    r"secret|passw(?:or)?d|passphrase|passcode|pass(?![a-z])|pwd|token|credential|signature|jaas"
    r"|(?<![a-z])sas(?![a-z])|(?<![a-z])auth(?![a-z._-])"
    r"|(?:access|account|private|api|shared|storage|encryption|subscription|signing|master|client|function|host|ssl|hmac)"
    r"[._-]?key"
)
"""Names of secrets, in any case: Spark's own pattern, and the names that databases and clouds use."""
HIDDEN: Final = "*****"
_VALUE: Final = (
    r'"{3}.*?"{3}'
    r"|'{3}.*?'{3}"  # multi-line strings of TOML
    r'|\\"(?:(?!\\").)*\\"'  # a quoted value inside a string
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|\{[^{}]*\}|\[[^\[\]]*\]"  # a list or table, or an ODBC value
    r"|[^\s;&,)}\]]+"
)
_NAMED: Final = re.compile(rf"(?is)([\w.-]*(?:{SECRET})[\w.-]*)([\"']?\s*[=:]\s*)({_VALUE})")
_SIGNED: Final = re.compile(r"(?i)([?&;](?:sig|sv|key|code)=|\bBearer\s+)[^\s;&]+")
_USER: Final = re.compile(r"(://[^\s/:@]*:|jdbc:oracle:\w+:[^\s/@]*/)[^\s/]+@")
_SHORT: Final = 4  # shorter values occur in any text


def is_secret(name: str) -> bool:
    """Whether a name is that of a secret."""
    return re.search(SECRET, name, re.IGNORECASE) is not None


def redacted(text: str, values: Iterable[str] = ()) -> str:
    """The text without the values of secret names, and without the given values."""
    text = _USER.sub(rf"\1{HIDDEN}@", _SIGNED.sub(rf"\1{HIDDEN}", text))
    text = _NAMED.sub(rf"\1\2{HIDDEN}", text)
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN) if len(value) > _SHORT else text
    return text


def masked(text: str) -> str:
    """A TOML text with its secrets replaced by stars; all positions stay the same."""
    for pattern in (_NAMED, _SIGNED, _USER):
        text = pattern.sub(_stars, text)
    return text


def _stars(found: re.Match[str]) -> str:
    kept = found[1] + (found[2] if found.re is _NAMED else "")
    end = "@" if found.re is _USER else ""
    hidden = found[0][len(kept) : len(found[0]) - len(end)]
    inner = hidden.strip("\"'")
    return kept + hidden.replace(inner, re.sub(r"[^\n]", "*", inner), 1) + end if inner else found[0]
