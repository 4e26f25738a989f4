"""TLS for the connections of shards: all processes of a knowledge base have one key, and trust its certificate alone.

Java, which is there wherever Spark is, makes the key and signs; the certificate is put together here.  Both reach the
tasks inside Spark's jobs.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
import tempfile
from base64 import encodebytes
from collections.abc import Callable
from functools import lru_cache, partial
from threading import Lock
from typing import Any

from holdfast.quick_dataclass import dataclass

_LENGTH = struct.Struct("!Q")
_PIECE = 1 << 18  # bytes that are encrypted or received at once
_SEQUENCE, _SET, _INTEGER, _BITS, _TEXT, _TIME, _VERSION = 0x30, 0x31, 0x02, 0x03, 0x0C, 0x18, 0xA0
_ECDSA_WITH_SHA256 = bytes.fromhex("300a06082a8648ce3d040302")
_COMMON_NAME = bytes.fromhex("0603550403")


@dataclass(frozen=True)
class Identity:
    """A key and its certificate, as PEM texts."""

    key: str
    certificate: str

    def wrap(self, opened: socket.socket, *, is_host: bool) -> SecureConnection:
        """The connection over a socket, when both sides have shown that they have the key."""
        return SecureConnection(opened, self._context(is_host=is_host), is_host=is_host)

    @lru_cache(maxsize=4)  # noqa: B019  they are few, and made for each connection otherwise
    def _context(self, *, is_host: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_host else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.certificate)
        if is_host:
            context.num_tickets = 0  # they would make a connection readable that has no message
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:  # which only we can read
            file.write(self.key + self.certificate)
            file.flush()
            context.load_cert_chain(file.name)
        return context


class SecureConnection:
    """As `multiprocessing.connection.Connection`, encrypted.  One thread may send while another receives."""

    def __init__(self, opened: socket.socket, context: ssl.SSLContext, *, is_host: bool) -> None:
        self._socket, self.closed = opened, False
        self._came, self._leaves = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._leaves, server_side=is_host)
        self._using, self._sending = Lock(), Lock()  # OpenSSL's object is for one thread at a time
        self._done(self._tls.do_handshake)

    def _done(self, step: Callable[[], Any]) -> Any:
        """What a step of TLS gives; before that, receive what it needs and send what it leaves."""
        while True:
            with self._using:
                try:
                    result, needs = step(), False
                except ssl.SSLWantReadError:
                    result, needs = None, True
            if self._leaves.pending and self._sending.acquire(blocking=False):  # else another thread sends it
                try:
                    self._flush()
                finally:
                    self._sending.release()
            if not needs:
                return result
            came = self._socket.recv(_PIECE)
            if not came:
                raise EOFError
            with self._using:
                self._came.write(came)

    def _flush(self) -> None:
        with self._using:
            leaving = self._leaves.read()
        self._socket.sendall(leaving)

    def send_bytes(self, data: bytes) -> None:
        """Send a message."""
        whole = memoryview(_LENGTH.pack(len(data)) + data)
        with self._sending:  # a thread that receives must never wait for one that sends: its peer may do the same
            for begin in range(0, len(whole), _PIECE):
                with self._using:
                    self._tls.write(whole[begin : begin + _PIECE])
                self._flush()

    def recv_bytes(self, most: int | None = None) -> bytes:
        """The next message, of at most so many bytes."""
        (length,) = _LENGTH.unpack(self._received(_LENGTH.size))
        if most is not None and length > most:
            self.close()
            raise OSError("a message is too long")
        return bytes(self._received(length))

    def _received(self, length: int) -> bytearray:
        found = bytearray()
        while len(found) < length:
            piece = self._done(partial(self._tls.read, min(_PIECE, length - len(found))))
            if not piece:
                raise EOFError
            found += piece
        return found

    def fileno(self) -> int:
        """Of the socket."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._socket.close()

    def __del__(self) -> None:
        """Close it, as any connection."""
        self._socket.close()


# --- certificates --------------------------------------------------------------------------------------


def made_identity(java: Any) -> Identity:
    """A new key and a certificate that it has signed itself."""
    maker = java.java.security.KeyPairGenerator.getInstance("EC")
    maker.initialize(256)
    pair = maker.generateKeyPair()
    factory, named = java.java.security.KeyFactory.getInstance("EC"), java.java.lang.Class.forName

    def encoded(key: Any, form: str) -> bytes:  # the classes of keys are internal, those of their forms are not
        return bytes(factory.getKeySpec(key, named(f"java.security.spec.{form}EncodedKeySpec")).getEncoded())

    name = _der(_SEQUENCE, _der(_SET, _der(_SEQUENCE, _COMMON_NAME, _der(_TEXT, b"holdfast"))))
    times = _der(_SEQUENCE, _der(_TIME, b"20200101000000Z"), _der(_TIME, b"99991231235959Z"))
    content = _der(
        _SEQUENCE,
        _der(_VERSION, _der(_INTEGER, b"\2")),
        _der(_INTEGER, b"\1" + secrets.token_bytes(15)),
        _ECDSA_WITH_SHA256,
        name,
        times,
        name,
        encoded(pair.getPublic(), "X509"),
    )
    signing = java.java.security.Signature.getInstance("SHA256withECDSA")
    signing.initSign(pair.getPrivate())
    signing.update(content)
    certificate = _der(_SEQUENCE, content, _ECDSA_WITH_SHA256, _der(_BITS, b"\0", bytes(signing.sign())))
    return Identity(_pem("PRIVATE KEY", encoded(pair.getPrivate(), "PKCS8")), _pem("CERTIFICATE", certificate))


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _pem(kind: str, content: bytes) -> str:
    return f"-----BEGIN {kind}-----\n{encodebytes(content).decode()}-----END {kind}-----\n"
