# SPDX-License-Identifier: BSD-2-Clause
"""hostile.py PORT PID SEED COUNT: clients that break the protocol, or nearly so. After each of them an ordinary one is
answered, and the server's memory stays small."""
import random
import socket
import struct
import sys
import time

PORT, PID, SEED, COUNT = (int(word) for word in sys.argv[1:5])
GET, VALUE = b"*2\r\n$3\r\nGET\r\n$7\r\nitem:17\r\n", b"$14\r\nitem number 17\r\n"


def connect(size=None):
    client = socket.socket()
    if size:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    client.settimeout(30)
    client.connect(("127.0.0.1", PORT))
    return client


def receive(client, size):
    received = bytearray()
    while len(received) < size:
        got = client.recv(min(size - len(received), 1 << 20))
        if not got:
            break
        received += got
    return bytes(received)


def check_alive():
    with connect() as client:
        client.sendall(GET)
        got = receive(client, len(VALUE))
        if got != VALUE:
            sys.exit(f"an ordinary client gets {got!r}")


def resident():
    with open(f"/proc/{PID}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def refused(sent, error):
    with connect() as client:
        client.sendall(sent)
        got = receive(client, 1 << 16)
        if got != b"-ERR Protocol error: " + error + b"\r\n":
            sys.exit(f"{sent[:40]!r} gets {got!r}")
    check_alive()


def check_errors():
    refused(b"*2\r\n$3\r\nGET\r\n$1073741824\r\n" + 1000 * b"x", b"invalid bulk length")
    refused(b"*1073741824\r\n", b"invalid multibulk length")
    refused(b"*1\r\n:1\r\n", b"expected '$', got ':'")
    refused(b"*1\r\n$-5\r\n", b"invalid bulk length")
    refused(100000 * b"x", b"too big inline request")
    refused(b'GET "item\r\n', b"unbalanced quotes in request")
    refused(b"*3\r\n" + 2 * (b"$600000\r\n" + 600000 * b"x" + b"\r\n"), b"too big query")


def check_random_bytes(source):
    """Bytes that are nearly commands. The server may answer whatever it likes, but it must end the connection or answer."""
    pieces = [b"*2\r\n", b"$3\r\nGET\r\n", b"$7\r\nitem:17\r\n", b"\r\n", b"*", b"$", b"-1", b"GET item:1\n", b"\0", b'"', b"*-1\r\n"]
    for _ in range(COUNT):
        with connect() as client:
            for _ in range(source.randrange(1, 6)):
                sent = b"".join(source.choice(pieces) if source.random() < 0.8 else source.randbytes(source.randrange(20))
                                for _ in range(source.randrange(20)))
                try:
                    client.sendall(sent)
                except OSError:
                    break
    check_alive()


def check_long_pipeline():
    with connect() as client:
        count = 100000
        sent = count * GET
        client.setblocking(False)
        received = bytearray()
        deadline = time.monotonic() + 60
        while len(received) < count * len(VALUE) and time.monotonic() < deadline:
            if sent:
                try:
                    sent = sent[client.send(sent[:1 << 16]):]
                except BlockingIOError:
                    pass
            try:
                received += client.recv(1 << 20)
            except BlockingIOError:
                pass
        if received != count * VALUE:
            sys.exit(f"10^5 commands get {len(received)} bytes, or wrong ones")
    check_alive()


def check_half_open():
    clients = [connect() for _ in range(300)]
    for i, client in enumerate(clients):
        client.sendall(GET[:i % len(GET)])
    check_alive()
    for i, client in enumerate(clients):
        if i % 2:  # with a reset
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    check_alive()


def check_half_closed():
    """The client closes its side: all that it has sent is answered, then the server closes its own."""
    with connect() as client:
        client.sendall(1000 * GET + GET[:-3])
        client.shutdown(socket.SHUT_WR)
        if receive(client, 1 << 20) != 1000 * VALUE:
            sys.exit("a client that has closed its side gets other replies")
    check_alive()


def check_slow_writers():
    """A command that comes byte by byte, from many clients at once."""
    clients = [connect() for _ in range(100)]
    for client in clients:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in GET:
        for client in clients:
            client.sendall(bytes((byte,)))
    for client in clients:
        if receive(client, len(VALUE)) != VALUE:
            sys.exit("a client that writes slowly gets another reply")
        client.close()


def check_slow_reader():
    """Sends for ever and reads nothing: the server stops reading, and cuts it."""
    with connect(4096) as client:
        before = resident()
        sent = 0
        client.settimeout(30)  # the server cuts it earlier
        try:
            while sent < 200 << 20:
                sent += client.send(1000 * GET)
        except OSError:
            pass
        if sent >= 200 << 20:
            sys.exit("a client that reads nothing is read on")
        if resident() - before > 50 << 20:
            sys.exit(f"memory grows by {resident() - before}")
    check_alive()


def check_limit():
    time.sleep(0.2)
    clients = [connect() for _ in range(510)]
    full = b"-ERR max number of clients reached\r\n"
    clients[-1].settimeout(30)
    if receive(clients[-1], len(full)) != full:
        sys.exit("no limit of clients")
    for client in clients:
        client.close()
    for _ in range(100):
        time.sleep(0.05)
        with connect() as client:
            client.sendall(GET)
            if receive(client, len(VALUE)) == VALUE:
                return
    sys.exit("clients that have gone still count")


def main():
    print(f"seed {SEED}")
    check_alive()
    before = resident()
    check_errors()
    check_random_bytes(random.Random(SEED))
    check_long_pipeline()
    check_half_open()
    check_half_closed()
    check_slow_writers()
    check_slow_reader()
    check_limit()
    if resident() - before > 100 << 20:
        sys.exit(f"memory grew by {resident() - before}")


main()
