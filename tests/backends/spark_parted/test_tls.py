"""Encrypted connections: only those with the key of the job get in, messages come whole, and shards work as before."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from holdfast.backends.spark_parted.links import Door, JobKey, connected
from holdfast.backends.spark_parted.task import LOOPBACK
from holdfast.backends.spark_parted.tls import Identity

from .test_shards import take
from .threads import Workers

pytestmark = pytest.mark.only_in_memory("has its own engine")
IDENTITY = Identity(
    """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9aoNUSpqUgVH83hi
CfE4+RIuX7NlHkShj1CmY0KeuZWhRANCAARrjrC2MJ7TE7cWfdyNbjkb5agoJwV5
GGMOQ3KrFedFDLXHTWMN5rC+P8KkeqmcKadKzWkcJlHayhguBX9O7c1Q
-----END PRIVATE KEY-----
""",
    """\
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUNX5OQvFh1QZZpjjxs2wKNNrMaiwwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMTgwMjQwMDFaGA8yMTI2MTAyNTAyNDAw
MVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGuO
sLYwntMTtxZ93I1uORvlqCgnBXkYYw5DcqsV50UMtcdNYw3msL4/wqR6qZwpp0rN
aRwmUdrKGC4Ff07tzVCjUzBRMB0GA1UdDgQWBBTBshWcoiPtJCWzJD0FMuZqnshk
EjAfBgNVHSMEGDAWgBTBshWcoiPtJCWzJD0FMuZqnshkEjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCAHh3GEWKiXPCsZbcRVWIc8MqEBkZ4NAfS
HQHxkKgcggIgeSBGifeMCiGJ39CqeGSs7j80OsCXU1jl5Ak4fR0+qYs=
-----END CERTIFICATE-----
""",
)
"""Of no use elsewhere."""
KEY = JobKey(b"k" * 32, IDENTITY)


def test_messages_go_both_ways_at_once(door: Door, guests: Any) -> None:
    mine = connected(door.address, KEY, "hello")
    theirs, hello = guests.get(timeout=10)
    assert hello == "hello"
    large = bytes(range(256)) * 20_000
    with ThreadPoolExecutor(4) as threads:
        sends = [threads.submit(each.send_bytes, large) for each in (mine, theirs)]
        came = [threads.submit(each.recv_bytes) for each in (mine, theirs)]
        assert all(each.result(20) == large for each in came)
        assert all(each.result(20) is None for each in sends)
    mine.send_bytes(b"")
    assert theirs.recv_bytes() == b""
    mine.close()
    with pytest.raises((EOFError, OSError)):
        theirs.recv_bytes()


def test_what_travels_is_not_readable(guests: Any) -> None:
    listening, seen = socket.create_server((LOOPBACK, 0)), bytearray()
    door = Door(LOOPBACK, KEY, lambda connection, hello: guests.put((connection, hello)))

    def forward(come: socket.socket, go: socket.socket) -> None:
        while data := come.recv(65_536):
            seen.extend(data)
            go.sendall(data)

    with ThreadPoolExecutor(3) as threads, listening:
        made = threads.submit(connected, listening.getsockname(), KEY, "a secret greeting")
        inner, outer = listening.accept()[0], socket.create_connection(door.address)
        for pair in ((inner, outer), (outer, inner)):
            threads.submit(forward, *pair)
        connection, theirs = made.result(10), guests.get(timeout=10)[0]
        connection.send_bytes(b"a secret message")
        assert theirs.recv_bytes() == b"a secret message"
        connection.close()
        theirs.close()
        for each in (inner, outer):
            each.shutdown(socket.SHUT_RDWR)
            each.close()
    door.close()
    assert len(seen) > 500
    assert b"secret" not in seen


@pytest.mark.parametrize("key", [JobKey(KEY.secret), JobKey(b"w" * 32, IDENTITY)], ids=["plain", "another secret"])
def test_a_stranger_is_not_let_in(door: Door, guests: Any, key: JobKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.spark_parted.links._PATIENCE", 1)
    with pytest.raises((EOFError, OSError)):
        connected(door.address, key, "hello")
    assert guests.empty()


def test_shards_work_while_workers_die(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.spark_parted.crew._TRIES", 200)
    direct.identity, direct.risk = IDENTITY, 0.002
    take(direct, 2, 2, count(910_000))
    assert direct.killed
