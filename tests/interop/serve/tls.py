# SPDX-License-Identifier: BSD-2-Clause
"""tls.py PORT CERTIFICATE PASSWORD: a long pipeline with TLS, sent and read side by side; then a handshake that is not one."""
import select
import socket
import ssl
import sys

COUNT = 50000
GET, VALUE = b"*2\r\n$3\r\nGET\r\n$7\r\nitem:17\r\n", b"$14\r\nitem number 17\r\n"


# One thread does both: Python may corrupt a connection that two threads use at once.
def send_and_receive(client, to_send, size):
    """Sends TO_SEND and receives SIZE bytes side by side."""
    received, sent = bytearray(), 0
    client.setblocking(False)
    while len(received) < size:
        wants_write = False
        try:
            while sent < len(to_send):
                sent += client.send(to_send[sent : sent + (1 << 14)])
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            wants_write = True
        try:
            while got := client.recv(1 << 16):
                received += got
            sys.exit(f"the connection ends after {len(received)} bytes")
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            wants_write = True
        if len(received) < size and not any(select.select([client], [client] if wants_write else [], [], 60)):
            sys.exit(f"nothing comes after {len(received)} bytes")
    return received


def main():
    port, certificate, password = int(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.sendall(b"PING\r\nPING\r\n" + 100 * b"x")
        plain.settimeout(20)
        try:
            while plain.recv(4096):
                pass
        except ConnectionResetError:
            pass
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port))) as client:
        client.settimeout(60)
        client.sendall(b'AUTH "' + password + b'"\r\n')
        if client.recv(5) != b"+OK\r\n":
            sys.exit("AUTH fails")
        if send_and_receive(client, COUNT * GET, COUNT * len(VALUE)) != COUNT * VALUE:
            sys.exit("wrong replies")


main()
