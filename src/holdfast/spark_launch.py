"""Passes Spark's settings to its JVM in files that only the user can read, never on a command line."""

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
    """Arguments for `spark-submit`: a file with the settings, and the user's own arguments.

    Given such a file, Spark reads no other, so ours starts with the contents of those; later lines win.
    """
    asked, own = _without_properties(shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")))
    texts = [path.read_text(encoding="utf-8") for path in (own or _default_properties(environ)) if path.is_file()]
    settings = dict(conf)
    if JAVA_OPTIONS in settings:  # these would appear on the command line; Java also reads them from a file
        _private(folder / "java-options", "\n".join(map(_quoted, shlex.split(settings[JAVA_OPTIONS]))))
        settings[JAVA_OPTIONS] = f"@{folder / 'java-options'}"
    texts += [f"{_property(key)}={_property(value)}" for key, value in settings.items()]
    _private(folder / "settings", "\n".join(texts) + "\n")
    return shlex.join(["--properties-file", str(folder / "settings"), *asked])


def _without_properties(arguments: list[str]) -> tuple[list[str], list[Path]]:
    """Split arguments of `spark-submit` into those without the properties file, and that file."""
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
    """The path of Spark's own settings on this machine."""
    from pyspark.find_spark_home import _find_spark_home

    folder = environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"
    return [Path(folder) / "spark-defaults.conf"]


def _private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _quoted(word: str) -> str:
    """Quote a word for a Java argument file."""
    escaped = word.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def _property(text: str) -> str:
    """Escape a key or value for a Java properties file: Spark reads it as UTF-8 or Latin-1, so only ASCII is safe."""
    units = struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be"))
    return "".join(chr(unit) if chr(unit) in _IN_PROPERTIES else f"\\u{unit:04x}" for unit in units)
