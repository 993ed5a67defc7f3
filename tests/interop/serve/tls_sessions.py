# SPDX-License-Identifier: BSD-2-Clause
"""tls_sessions.py TAMIS DIRECTORY: a server that asks for certificates lets sessions be resumed. When it stops, a
handshake that has not begun costs no other connection its reply. DIRECTORY has cert.pem and key.pem."""
import os
import re
import socket
import ssl
import subprocess
import sys
import time

CONFIG = """listen: 127.0.0.1:0
database: {sqlite: memory}
tls: {cert: cert.pem, key: key.pem, cacert: cert.pem}
keyspaces:
  - {keys: 'long:*', timeout: 60s, row: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c
     WHERE n < 5000000) SELECT max(n) * 0 + ?1 FROM c"}
"""


def expect(client, command, reply):
    client.sendall(command)
    received = client.recv(len(reply))
    if received != reply:
        sys.exit(f"{received} instead of {reply} for {command}")


def main():
    tamis, directory = sys.argv[1], sys.argv[2]
    os.chdir(directory)
    with open("sessions.yaml", "w", encoding="ascii") as file:
        file.write(CONFIG)
    server = subprocess.Popen([tamis, "serve", "sessions.yaml"], stderr=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", server.stderr.readline()).group(1))
        context = ssl.create_default_context(cafile="cert.pem")
        context.check_hostname = False
        context.load_cert_chain("cert.pem", "key.pem")

        def connect(session=None):
            client = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), session=session)
            client.settimeout(30)
            expect(client, b"PING\r\n", b"+PONG\r\n")
            return client

        for version in ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2:
            context.maximum_version = version
            if not connect(connect().session).session_reused:
                sys.exit(f"{version.name}: the session was not resumed")
        waiting = connect()
        waiting.sendall(b"GET long:1\r\n")
        time.sleep(0.2)
        with socket.create_connection(("127.0.0.1", port)):
            time.sleep(0.2)
            server.terminate()
            expect(waiting, b"", b"$1\r\n1\r\n")
        if server.wait(30) != 0:
            sys.exit("wrong status at the end")
    finally:
        server.kill()


main()
