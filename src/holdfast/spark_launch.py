"""Passes Spark's settings to its JVM: in files that only the user can read, never on a command line."""

from __future__ import annotations

import shlex
import string
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_IN_PROPERTIES: Final = frozenset(string.ascii_letters + string.digits + "._-/,*[]@+;()$")


def submit_arguments(conf: Mapping[str, str], folder: Path, environ: Mapping[str, str]) -> str:
    """What `spark-submit` is started with: the name of a file with the settings, and what the user wants of it.

    With such a file Spark does not look for others, so what is in those comes first in it: what comes later counts.
    """
    asked, own = _without_properties(shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")))
    texts = [path.read_text(encoding="utf-8") for path in (own or _default_properties(environ)) if path.is_file()]
    settings = dict(conf)
    if JAVA_OPTIONS in settings:  # these would be on the command line; Java reads them from a file as well
        _private(folder / "java-options", "\n".join(map(_quoted, shlex.split(settings[JAVA_OPTIONS]))))
        settings[JAVA_OPTIONS] = f"@{folder / 'java-options'}"
    texts += [f"{_property(key)}={_property(value)}" for key, value in settings.items()]
    _private(folder / "settings", "\n".join(texts) + "\n")
    return shlex.join(["--properties-file", str(folder / "settings"), *asked])


def _without_properties(arguments: list[str]) -> tuple[list[str], list[Path]]:
    """Arguments of `spark-submit` without the settings' file, and that."""
    left, found = list[str](), list[Path]()
    words = iter(arguments)
    for word in words:
        if word == "--properties-file":
            found = [Path(next(words, ""))]
        elif word.startswith("--properties-file="):
            found = [Path(word.partition("=")[2])]
        else:
            left.append(word)
    return left, found


def _default_properties(environ: Mapping[str, str]) -> list[Path]:
    """Where Spark's own settings are on this machine."""
    from pyspark.find_spark_home import _find_spark_home

    folder = environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"
    return [Path(folder) / "spark-defaults.conf"]


def _private(path: Path, text: str) -> None:
    """A file that only its owner can read."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _quoted(word: str) -> str:
    """A word of a file of arguments for Java."""
    escaped = word.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def _property(text: str) -> str:
    """A key or value of a file of Java properties; Spark reads it as UTF-8 or Latin-1, so other letters are escaped."""
    units = struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be"))
    return "".join(chr(unit) if chr(unit) in _IN_PROPERTIES else f"\\u{unit:04x}" for unit in units)
