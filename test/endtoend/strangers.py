"""Who connects to the hosts of a run and is none of them, for tests: what hosts
say (HostMessages.h, HostSecret.h) said by another program, and said wrongly.
"""

import contextlib
import hashlib
import hmac
import os
import socket
import struct
import time

from conftest import HEADER

NONCE = bytes(range(32))


def frame(text, code=b""):
    return struct.pack("<I", len(text)) + text + code


def take(connection, count):
    """So many bytes; fewer if there are no more."""
    taken = b""
    while len(taken) < count:
        more = connection.recv(count - len(taken))
        if not more:
            break
        taken += more
    return taken


def take_frame(connection, code=0):
    length, = struct.unpack("<I", take(connection, 4))
    text = take(connection, length)
    take(connection, code)
    return text


class Secret:
    """What hosts with `key` and the artifact at `path` know."""

    def __init__(self, key, path):
        content = path.read_bytes()
        size, = struct.unpack("<I", content[12:16])
        digest = hashlib.sha256(content[HEADER:HEADER + size])
        assert digest.digest() == content[16:48], "the format has changed"
        self.key = self.code(key.encode(), b"hosts")
        self.artifact = self.code(self.key, b"artifact",
                                  digest.hexdigest().encode())

    @staticmethod
    def code(key, purpose, data=b""):
        return hmac.new(key, purpose + b"\0" + data, hashlib.sha256).digest()

    def prove(self, end, said, nonce):
        """To the greeting that was `said`."""
        return (self.code(self.key, end + b" proof", said + nonce)
                + self.code(self.artifact, end + b" proof", said + nonce))

    def frames(self, end, said, nonce):
        """A function that makes the frames of one direction."""
        key = self.code(self.artifact, end + b" texts", said + nonce)
        count = iter(range(1000))
        return lambda text: frame(
            text, self.code(key, str(next(count)).encode(), text))


def greeting(number):
    return b"divisi-hosts-1" + struct.pack("<I", number) + NONCE


def introduce(connection, secret, number=1):
    """As a host does that has the secret; gives what makes its frames."""
    said = greeting(number)
    connection.sendall(frame(said))
    nonce = take_frame(connection)[:32]
    connection.sendall(frame(secret.prove(b"other", said, nonce)))
    return secret.frames(b"other", said, nonce)


#===----------------------------------------------------------------------===#
# Who connects to the first host, and does not know the secret
#===----------------------------------------------------------------------===#

def silence(connection):
    connection.recv(1)


def short(connection):
    connection.sendall(frame(b"divisi"))
    connection.recv(1)


def long(connection):
    connection.sendall(struct.pack("<I", 0xffffffff) + b"x" * 100)
    connection.recv(1)


def garbage(connection):
    connection.sendall(os.urandom(1000))
    connection.recv(1)


def flood(connection):
    """As many bytes as anybody takes, in a text of the most that there may be,
    by four bytes or by eight."""
    connection.sendall(b"\0\0\0\x01" + bytes(4))
    block = bytes(1 << 20)
    for _ in range(2000):
        connection.sendall(block)


def slow(connection):
    for byte in frame(greeting(1)) * 100:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def zeros(connection):
    connection.sendall(frame(greeting(1)))
    take_frame(connection)
    connection.sendall(frame(bytes(64)))
    connection.recv(1)


def mirror(connection):
    """Gives back the first host's own proof."""
    connection.sendall(frame(greeting(1)))
    connection.sendall(frame(take_frame(connection)[32:]))
    connection.recv(1)


def page(connection):
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    connection.recv(1)


def unproved(connection):
    """What hosts said before they had a secret: a number, and a line."""
    for text in (b"1", b"job host 2 3\n"):
        connection.sendall(struct.pack("<Q", len(text)) + text)
    connection.recv(1)


STRANGERS = [silence, short, long, garbage, flood, slow, zeros, mirror, page,
             unproved]


def crowd(address, stop):
    """Connections without end, of which none says anything."""
    kept = []
    while not stop.is_set():
        with contextlib.suppress(OSError):
            kept.append(socket.create_connection(address, 1))
        del kept[:-400]
        time.sleep(0.002)


def replay(secret):
    """What a host has proved in another run."""
    old = secret.prove(b"other", greeting(1), bytes(32))

    def attack(connection):
        connection.sendall(frame(greeting(1)))
        take_frame(connection)
        connection.sendall(frame(old))
        connection.recv(1)
    return attack


def attack(address, act, stop):
    """Again and again, until `stop`."""
    while not stop.is_set():
        with contextlib.suppress(OSError, struct.error), \
                socket.create_connection(address, 1) as connection:
            connection.settimeout(1)
            act(connection)
        time.sleep(0.01)


#===----------------------------------------------------------------------===#
# Who knows the secret, and says what no host says
#===----------------------------------------------------------------------===#

LINE = b"job host 2 3\n"
NO_PROCESSES = "host 1 does not say which processes of the 4 it has"
ENDED = "of the 2 hosts GROUP_RANK 1 has ended while others waited"

# By name: the bytes of one that makes frames so, and what the first host says.
INSIDERS = {
    "no line": (lambda make: make(b""),
                "expected 2 hosts with 4 processes, got 1 with 2"),
    "a short line": (lambda make: make(b"job host"), NO_PROCESSES),
    "no processes": (lambda make: make(b"job host \n"), NO_PROCESSES),
    "one of the first's": (lambda make: make(b"job host 0 1\n"), NO_PROCESSES),
    "one of nobody's": (lambda make: make(b"job host 2 4000000000\n"),
                        NO_PROCESSES),
    "two lines": (lambda make: make(LINE + b"job host 0\n"),
                  "host 2 does not say which processes of the 4 it has"),
    "a name of more": (lambda make: make(b"job a,b;c 2 3\n"), NO_PROCESSES),
    "a long text": (lambda make: struct.pack("<I", 1 << 25), ENDED),
    "no code": (lambda make: frame(LINE) + bytes(32), ENDED),
    "a code of another text": (
        lambda make: frame(LINE, make(b"text")[-32:]), ENDED),
    "half a text": (lambda make: make(LINE)[:-40], ENDED),
}


#===----------------------------------------------------------------------===#
# Who listens in the place of the first host
#===----------------------------------------------------------------------===#

ABSENT = "of the 2 hosts GROUP_RANK 0 did not come within 1000 ms"
ANOTHER = "another program answers"
# By name: what is said at once to who connects, or a function that makes of
# frames what is answered by one that has the secret; and what the host says.
ANSWERS = {
    "nothing": (b"", ABSENT),
    "a short proof": (frame(b"0"), ABSENT),
    "zeros": (frame(bytes(96)), "has another key than GROUP_RANK 1"),
    "a long text": (b"\xff" * 100, ABSENT),
    "what was right before": (struct.pack("<Q", 2) + b"0\0", ABSENT),
    "an answer that is none": (lambda make: make(b"?"), ANOTHER),
    "a code that is none": (lambda make: make(b"77\0text"), ANOTHER),
    "no hosts": (lambda make: make(b"0\0"),
                 "expected 2 hosts with 4 processes, got 0 with 0"),
    "one host": (lambda make: make(b"0\0job a 0 1\n"),
                 "expected 2 hosts with 4 processes, got 1 with 2"),
    "processes of others": (
        lambda make: make(b"0\0job a 2 3\njob b 0 1\n"),
        "host 1 has other processes than this one, which is number 1, too"),
    "half an answer": (lambda make: make(b"0\0job a 0 1\n")[:-1],
                       "the first host's server did not answer within 4000 ms"),
}


def reply(connection, secret, answer):
    if isinstance(answer, bytes):
        connection.sendall(answer)
        return
    said = take_frame(connection)
    nonce = bytes(32)
    connection.sendall(frame(nonce + secret.prove(b"first", said, nonce)))
    take_frame(connection)
    connection.sendall(answer(secret.frames(b"first", said, nonce)))


def serve(listener, secret, answer, stop):
    """Answers all who come so, and stays."""
    listener.settimeout(0.1)
    kept = []
    while not stop.is_set():
        with contextlib.suppress(OSError, struct.error):
            connection, _ = listener.accept()
            connection.settimeout(1)
            kept.append(connection)
            reply(connection, secret, answer)
