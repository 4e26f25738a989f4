"""Passwords and keys: what is one by its name, and texts without them.

Settings and options of Spark, URLs of databases and object stores carry them, and messages and logs quote those.
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
"""What is secret by its name, in any case: Spark's own pattern, and what databases and clouds call theirs."""
HIDDEN: Final = "*****"
_VALUE: Final = (
    r'"{3}.*?"{3}'
    r"|'{3}.*?'{3}"  # TOML's strings of several lines
    r'|\\"(?:(?!\\").)*\\"'  # a quoted value inside a string
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|\{[^{}]*\}|\[[^\[\]]*\]"  # several, or a value of ODBC
    r"|[^\s;&,)}\]]+"
)
_NAMED: Final = re.compile(rf"(?is)([\w.-]*(?:{SECRET})[\w.-]*)([\"']?\s*[=:]\s*)({_VALUE})")
_SIGNED: Final = re.compile(r"(?i)([?&;](?:sig|sv|key|code)=|\bBearer\s+)[^\s;&]+")
_USER: Final = re.compile(r"(://[^\s/:@]*:|jdbc:oracle:\w+:[^\s/@]*/)[^\s/]+@")
_SHORT: Final = 4  # a value of so few characters is in every text


def is_secret(name: str) -> bool:
    """Whether something is secret by its name."""
    return re.search(SECRET, name, re.IGNORECASE) is not None


def redacted(text: str, values: Iterable[str] = ()) -> str:
    """A text without the values of secret names in it, and without some values."""
    text = _USER.sub(rf"\1{HIDDEN}@", _SIGNED.sub(rf"\1{HIDDEN}", text))
    text = _NAMED.sub(rf"\1\2{HIDDEN}", text)
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN) if len(value) > _SHORT else text
    return text


def masked(text: str) -> str:
    """A text of TOML with stars in place of what is secret in it; every character stays where it is."""
    for pattern in (_NAMED, _SIGNED, _USER):
        text = pattern.sub(_stars, text)
    return text


def _stars(found: re.Match[str]) -> str:
    kept = found[1] + (found[2] if found.re is _NAMED else "")
    end = "@" if found.re is _USER else ""
    hidden = found[0][len(kept) : len(found[0]) - len(end)]
    inner = hidden.strip("\"'")
    return kept + hidden.replace(inner, re.sub(r"[^\n]", "*", inner), 1) + end if inner else found[0]
