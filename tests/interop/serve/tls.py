# SPDX-License-Identifier: BSD-2-Clause
"""tls.py PORT CERTIFICATE PASSWORD: a long pipeline with TLS, sent and read side by side; then a handshake that is not one."""
import socket
import ssl
import sys
import threading

COUNT = 50000
GET, VALUE = b"*2\r\n$3\r\nGET\r\n$7\r\nitem:17\r\n", b"$14\r\nitem number 17\r\n"


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
        sender = threading.Thread(target=client.sendall, args=(COUNT * GET,))
        sender.start()
        received = bytearray()
        while len(received) < COUNT * len(VALUE):
            got = client.recv(1 << 16)
            if not got:
                sys.exit(f"the connection ends after {len(received)} bytes")
            received += got
        sender.join()
        if received != COUNT * VALUE:
            sys.exit("wrong replies")


main()
