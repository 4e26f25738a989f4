"""Connections between the driver and tasks, and between tasks: authenticated by the secret of a job, then pickled.

Both sides prove that they know the secret, which Spark's job carries to the tasks, before anything is unpickled.  If
the key of the job has a certificate, all of that is encrypted (`tls.py`).
"""

from __future__ import annotations

import hmac
import io
import pickle
import secrets
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, TypeAlias

from holdfast.backends.parted.partition import AnyParted, PartedAggregate, PartedPlan, RankedPlan
from holdfast.backends.spark_parted.tls import Identity, SecureConnection
from holdfast.errors import SourceText
from holdfast.plans.model import GOAL
from holdfast.quick_dataclass import dataclass

SocketAddress: TypeAlias = tuple[str, int]
Link: TypeAlias = Connection | SecureConnection
KnownThing: TypeAlias = AnyParted | SourceText
"""What shards know by number."""

_NONCE = 32
_PATIENCE = 30  # seconds that a stranger may stay silent
_KINDS = (PartedPlan, PartedAggregate, RankedPlan)


@dataclass(frozen=True)
class JobKey:
    """What the processes of one job have: a secret, and what encrypts their connections, if anything does."""

    secret: bytes
    identity: Identity | None = None


def new_key(identity: Identity | None) -> JobKey:
    """The key of a new job."""
    return JobKey(secrets.token_bytes(32), identity)


class Door:
    """Accepts the connections of one job."""

    def __init__(self, host: str, key: JobKey, welcome: Callable[[Link, Any], None]) -> None:
        self._key, self._welcome = key, welcome
        self._socket = socket.create_server((host, 0), backlog=128)
        Thread(target=self._accept, name="holdfast-door", daemon=True).start()

    @property
    def address(self) -> SocketAddress:
        """The address to connect to."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Stop accepting connections."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # otherwise the thread would not wake up
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                came, _ = self._socket.accept()
            except OSError:
                return
            Thread(target=self._meet, args=(came,), name="holdfast-guest", daemon=True).start()

    def _meet(self, came: socket.socket) -> None:
        """Admit peers that know the secret; a thread each, so that a silent peer does not delay the others."""
        try:
            connection = _connection(came, self._key, is_host=True)
            nonce = secrets.token_bytes(_NONCE)
            connection.send_bytes(nonce)
            answer = connection.recv_bytes(2 * _NONCE)
            theirs, proof = answer[:_NONCE], answer[_NONCE:]
            if not hmac.compare_digest(proof, _proof(self._key.secret, b"guest", nonce, theirs)):
                connection.close()
                return
            connection.send_bytes(_proof(self._key.secret, b"host", nonce, theirs))
            hello = pickle.loads(connection.recv_bytes())
            _wait_for_ever(connection)
        except (EOFError, OSError):
            return
        self._welcome(connection, hello)


def own_address(other: SocketAddress) -> str:
    """The address of this machine in the network in which it reaches another address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:  # to connect it sends nothing
        unused.connect(other)
        return str(unused.getsockname()[0])


def connected(address: SocketAddress, key: JobKey, hello: Any) -> Link:
    """A connection to a door."""
    connection = _connection(socket.create_connection(address), key, is_host=False)
    theirs, nonce = connection.recv_bytes(_NONCE), secrets.token_bytes(_NONCE)
    connection.send_bytes(nonce + _proof(key.secret, b"guest", theirs, nonce))
    if not hmac.compare_digest(connection.recv_bytes(_NONCE), _proof(key.secret, b"host", theirs, nonce)):
        connection.close()
        raise ConnectionRefusedError("the other side does not know the secret of this job")
    connection.send_bytes(pickle.dumps(hello))
    _wait_for_ever(connection)
    return connection


def _proof(key: bytes, role: bytes, host: bytes, guest: bytes) -> bytes:
    return hmac.digest(key, role + host + guest, "sha256")


def _connection(opened: socket.socket, key: JobKey, *, is_host: bool) -> Link:
    opened.setblocking(True)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _PATIENCE, 0))
    return Connection(opened.detach()) if key.identity is None else key.identity.wrap(opened, is_host=is_host)


def _wait_for_ever(connection: Link) -> None:
    opened = socket.socket(fileno=connection.fileno())
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
    finally:
        opened.detach()


def shut(connection: Link) -> None:
    """Close a connection that another thread may be using."""
    if connection.closed:
        return
    opened = socket.socket(fileno=connection.fileno())
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)
    opened.detach()
    connection.close()


# --- plans ---------------------------------------------------------------------------------------------


class PlanNumbers:
    """Messages to shards: a plan is sent once and then named by number, since a shard keeps what it prepared for it.
    So is a program's text, to which all positions in plans and relations refer."""

    def __init__(self) -> None:
        self._numbers: dict[AnyParted, int] = {}
        self._texts: dict[int, tuple[int, SourceText]] = {}  # by identity; kept, so that no other has it
        self._count = 0
        self._sent: set[int] = set()

    def sent_nothing(self) -> None:
        """Note that the shards know no plans."""
        self._sent.clear()

    def forget(self, plans: Iterable[AnyParted]) -> None:
        """Forget plans that will not be sent again."""
        for plan in plans:
            self._sent.discard(self._numbers.pop(plan, -1))

    def packed(self, message: Any) -> tuple[bytes, frozenset[int]]:
        """A message with the plans that were not sent yet, and their numbers; call `note_sent` when it has arrived."""
        used, texts = dict[int, AnyParted](), dict[int, SourceText]()
        data = self._pickled(message, used, texts)
        plans = {number: plan for number, plan in used.items() if number not in self._sent}
        inside = self._pickled(plans, None, texts)
        new = {number: text for number, text in texts.items() if number not in self._sent}
        return pickle.dumps((pickle.dumps(new, 5), inside, data)), frozenset((*plans, *new))

    def note_sent(self, numbers: Iterable[int]) -> None:
        """Note that all shards have these plans."""
        self._sent.update(numbers)

    def _pickled(self, thing: Any, used: dict[int, AnyParted] | None, texts: dict[int, SourceText]) -> bytes:
        out = io.BytesIO()
        _Pickler(out, self, used, texts).dump(thing)
        return out.getvalue()

    def number(self, plan: AnyParted) -> int:
        """The number of a plan."""
        if plan not in self._numbers:
            self._count += 1
            self._numbers[plan] = self._count
        return self._numbers[plan]

    def number_of_text(self, text: SourceText) -> int:
        """The number of a program's text."""
        if id(text) not in self._texts:
            self._count += 1
            self._texts[id(text)] = self._count, text
        return self._texts[id(text)][0]


class _Pickler(pickle.Pickler):
    """Notes the texts that it replaces, and the plans if it is to replace them."""

    def __init__(
        self,
        out: io.BytesIO,
        numbers: PlanNumbers,
        used: dict[int, AnyParted] | None,
        texts: dict[int, SourceText],
    ) -> None:
        super().__init__(out, 5)
        self._numbers, self._used, self._texts = numbers, used, texts

    def persistent_id(self, thing: object) -> object:
        """Replaces plans and texts by numbers, and names the variable that is known by its identity."""
        if thing is GOAL:
            return "goal"
        if self._used is not None and isinstance(thing, _KINDS):
            number = self._numbers.number(thing)
            self._used[number] = thing
            return number
        if isinstance(thing, SourceText):
            number = self._numbers.number_of_text(thing)
            self._texts[number] = thing
            return number
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, known: Mapping[int, KnownThing]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = known

    def persistent_load(self, name: Any) -> object:
        """The object that `persistent_id` has named."""
        return GOAL if name == "goal" else self._known[name]


def unpacked(data: bytes, known: dict[int, KnownThing]) -> Any:
    """Reads a message of `PlanNumbers` and keeps the plans and texts in it."""
    texts, plans, message = pickle.loads(data)
    known |= pickle.loads(texts)
    known |= _Unpickler(plans, known).load()
    return _Unpickler(message, known).load()
