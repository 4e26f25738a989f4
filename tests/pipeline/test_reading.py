"""Pipeline files: what is read, and which mistakes are reported.  Spark is not needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import pipeline
from holdfast.errors import SourceText, UsageError
from holdfast.pipeline.running import checked
from holdfast.pipeline.toml_places import TomlPlaces
from holdfast.redaction import masked, redacted
from tests.pipeline.graphs import PIPELINE, PROGRAM

MISTAKES = """\
[pipeline]
program = "reach.dl"
mode = "strem"

[sources.edges]
path = "edges"

[sources.nodes]
format = "jdbc"
url = 7

[updates.more]
format = "avro"
path = "x"
colums = { a = "b" }

[sinks.out]
path = "out.parquet"
write = "diff"

[engine]
limit = 0

[quarantine]
path = "bad"
limit = "many"

[snapshots]
keep = true

[extras]
"""
TOLD = """\
error[E1104]: unknown mode strem
error[E1103]: sources.edges has no format, and its path does not imply one
error[E1103]: sources.nodes has no table, which jdbc needs
error[E1104]: url is a string, not 7
error[E1104]: unknown format avro
error[E1102]: [updates.more] has no colums
error[E1104]: unknown write diff
error[E1104]: limit is at least 1, not 0
error[E1104]: 'many' is not a limit on rows
error[E1103]: [snapshots] lacks a folder: path = "snapshots"
error[E1104]: keep is a whole number, not True
error[E1102]: a pipeline file has no extras"""
LINES = [3, 5, 8, 10, 13, 15, 19, 22, 26, 28, 29, 31]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reach.dl").write_text(PROGRAM, encoding="utf-8")


def refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        checked(pipeline.from_text(text, "pipeline.toml"))
    return caught.value


def test_all_mistakes_are_told_with_their_lines() -> None:
    found = refused(MISTAKES).diagnostics
    assert "\n".join(item.render().split("\n")[0] for item in found) == TOLD
    assert [item.span.line for item in found if item.span] == LINES
    assert any(item.help and "stream" in item.help for item in found)


def test_what_is_not_toml_is_told_with_its_place() -> None:
    error = refused('[pipeline]\nprogram = reach.dl"\n').diagnostics[0]
    assert error.code == "E1101"
    assert error.span is not None and (error.span.line, error.span.column) == (2, 11)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"cannot read the pipeline nowhere\.toml: No such file"):
        pipeline.read("nowhere.toml")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('relation = "edge"\npath', 'relation = "egde"\npath', "help: did you mean edge?"),
        ('relation = "path"\nformat', 'relation = "way"\nformat', "help: it has edge, path"),
        ('path = "edges.csv"', 'path = "edges.csv"\ncolumns = { c = "x" }', "edge has no column c"),
        ('[snapshots]\npath = "state"\nevery = 3\nkeep = 2\n', "", "there is no [snapshots]"),
        ("[updates.more]", "[sources.more]", "E1102"),
    ],
)
def test_a_pipeline_is_held_against_its_program(old: str, new: str, expected: str) -> None:
    assert expected in str(refused(PIPELINE.replace(old, new)))


def test_a_source_of_an_undeclared_relation_is_told_the_declaration() -> None:
    Path("reach.dl").write_text("path(x, y) :- edge(x, y).", encoding="utf-8")
    assert "declare it in the program: .decl edge(" in str(refused(PIPELINE))


def test_places_of_keys() -> None:
    text = 'a = 1\n[b.c]\nd = """\nd = 2\n"""\n"e f" = [\n  "d = 3",\n]\ng.h = { i = 1 }\n'
    places = TomlPlaces(SourceText("x", text))
    wanted = {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 2,
        ("b", "c", "d"): 3,
        ("b", "c", "e f"): 6,
        ("b", "c", "g", "h"): 9,
        ("b", "c", "g", "h", "i"): 9,
        ("nothing",): 1,
    }
    assert {path: places.span(path).line for path in wanted} == wanted


def test_settings_of_spark_may_be_written_with_dots_or_quotes() -> None:
    read = pipeline.from_text(
        PIPELINE + '\n[spark]\nmaster = "local[1]"\n[spark.conf]\nspark.a.b = 1\n"spark.c" = true\n', "pipeline.toml"
    )
    assert (read.master, dict(read.conf)) == ("local[1]", {"spark.a.b": "1", "spark.c": "true"})


@pytest.mark.parametrize(
    "text",
    [
        '[sinks.db]\nformat = "jdbc"\npasswrod = 1\noptions = { user = "ann", password = "hidden-7" }, x\n',
        '[spark]\nconf = { "spark.hadoop.fs.s3a.secret.key" = "hidden-7", x = \n',
        "[spark.conf]\nspark.ssl.keyStorePassword = 'hidden-7' x\n",
        '[sources.reading]\nformat = "jdbc"\nurl = ["jdbc:derby:x;password=hidden-7"]\n',
        '[sources.reading]\nformat = "jdbc"\nurl = "jdbc:x://ann:hidden-7@h/d" x\n',
        '[spark]\nconf = "spark.token=hidden-7"\n',
    ],
)
def test_messages_about_a_pipeline_file_quote_no_secrets(text: str) -> None:
    message = str(refused(text))
    assert "E11" in message and "hidden-7" not in message


def test_what_is_not_secret_is_quoted_as_it_stands() -> None:
    text = '[pipeline]\nprogram = "rules.dl" # token\n[sinks.x]\nformat = "csv"\npath = "out/é"\n'
    assert masked(text) == text
    secret = '[spark.conf]\na.password = "x\\"é" # ö\nurl = "http://u:pw@h/?sig=abc&x=1"\n'
    assert masked(secret) == '[spark.conf]\na.password = "****" # ö\nurl = "http://u:**@h/?sig=***&x=1"\n'


# fmt: off
SPELLINGS = [
    "fs.s3a.secret.key", "fs.azure.account.key.acc", "fs.azure.sas.cont.acc", "trustStorePassword",
    "es.net.http.auth.pass", "spark.redis.auth", "dbPass", "DB_PASS", "passwords", "passphrase", "passcode",
    "accountKey", "SharedAccessKey", "Ocp-Apim-Subscription-Key", "signingKey", "master.key", "functionKey",
    "sslKey", "hmacKey", "sasToken", "sas", "kafka.sasl.jaas.config", "PGPASSWORD", "connectionPwd",
]
# fmt: on
VALUES = {
    "a string": 'NAME = "hunter-2"',
    "quotes in it": 'NAME = "hun\\"hunter-2 more"',
    "a literal string": "NAME = 'hunter-2'",
    "several lines": 'NAME = """\nhunter-2"""',
    "several lines, on one": 'NAME = """hunter-2"""',
    "several literal lines": "NAME = '''hunter-2'''",
    "a list": 'NAME = ["a", "hunter-2"]',
    "a table": 'NAME = { a = "hunter-2" }',
    "not closed": 'NAME = "my hunter-2',
    "a quoted key": '"NAME" = "hunter-2"',
    "inside a string": 'x = "a=b NAME=\\"my hunter-2\\";"',
    "of ODBC": 'url = "jdbc:sqlserver://h;NAME={a;hunter-2}"',
}
URLS = (
    "mongodb://u:p@hunter-2@host/db",
    "jdbc:oracle:thin:scott/hunter-2@//h:1521/db",
    "https://h/x?sig=hunter-2&a=b",
    "Authorization: Bearer hunter-2",
)


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("how", VALUES)
def test_a_secret_is_masked_however_it_is_spelled(name: str, how: str) -> None:
    text = VALUES[how].replace("NAME", name)
    hidden = masked(text)
    assert "hunter" not in hidden and "hunter" not in redacted(text), hidden
    assert len(hidden) == len(text) and hidden.count("\n") == text.count("\n")  # places stay what they are


@pytest.mark.parametrize("url", URLS)
def test_a_secret_in_a_url_is_masked(url: str) -> None:
    assert "hunter" not in masked(url) and "hunter" not in redacted(url)


@pytest.mark.parametrize(
    "name", ["spark.authenticate", "x.passThrough", "key", "primaryKey", "spark.sql.parser", "author"]
)
def test_what_is_no_secret_is_shown(name: str) -> None:
    assert masked(f'{name} = "shown"') == f'{name} = "shown"'
