# SPDX-License-Identifier: BSD-2-Clause
"""two_servers.py TAMIS CONFIG DATABASE REDIS_PID: two servers with one Redis and one SQLite database. A row that a client of one
server writes is never missing at the other one, also while Redis stops."""
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import redis

TAMIS, CONFIG, DATABASE, REDIS = *sys.argv[1:4], int(sys.argv[4])


def start():
    """A server and a client of it, once its filter answers."""
    server = subprocess.Popen([TAMIS, "serve", CONFIG], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        found = re.search(r"serving at 127\.0\.0\.1:([0-9]+)", line)
        if found:
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server, int(found[1])


def client_of(port):
    return redis.Redis(port=port, socket_timeout=30)


def write(client, number):
    """A row, as the guide says. Returns False if the server refuses."""
    try:
        client.execute_command("GUARD.ADD", f"item:{number}")
    except redis.ResponseError:
        return False
    with sqlite3.connect(DATABASE, timeout=30, isolation_level=None) as database:
        database.execute("INSERT INTO items VALUES (?, ?)", (number, f"new {number}"))
    written.append(number)
    while True:  # the mark keeps the row from being missing until then
        try:
            client.delete(f"item:{number}")
            return True
        except redis.ResponseError:
            time.sleep(0.05)


def write_at_last(client, number):
    while not write(client, number):
        time.sleep(0.05)


def read_rows(port):
    """Each row that is written exists."""
    client = client_of(port)
    while not is_over:
        for number in written[-20:]:
            try:
                value = client.get(f"item:{number}")
            except redis.ResponseError as error:
                if not str(error).startswith(("TIMEOUT", "BUSY")):
                    failures.append(str(error))
                continue
            if value != b"new %d" % number:
                failures.append(f"item:{number} is {value} at port {port}")


written, failures, is_over = [], [], False
servers = [start(), start()]
clients = [client_of(port) for _, port in servers]
for client in clients:
    assert client.get("item:17") == b"item number 17"
    assert client.get("item:5000") is None

# 40 writers wait together, not one after the other.
begin = time.monotonic()
writers = [threading.Thread(target=write_at_last, args=(client_of(servers[0][1]), 2000 + i)) for i in range(40)]
for writer in writers:
    writer.start()
for writer in writers:
    writer.join()
seconds = time.monotonic() - begin
assert len(written) == 40 and 0.2 <= seconds < 6, seconds
for number in written:
    assert clients[1].get(f"item:{number}") == b"new %d" % number, number

readers = [threading.Thread(target=read_rows, args=(port,)) for _, port in servers]
for reader in readers:
    reader.start()
refused = 0
for i in range(12):
    if i % 3 == 2:
        os.kill(REDIS, signal.SIGSTOP)
        threading.Timer(0.3 * (i % 2 + 1), os.kill, (REDIS, signal.SIGCONT)).start()
    while not write(clients[i % 2], 3000 + i):
        refused += 1
        time.sleep(0.05)
is_over = True
for reader in readers:
    reader.join()
assert not failures, failures[:5]
for server, _ in servers:
    server.terminate()
    assert server.wait() == 0
print(f"two servers: {len(written)} rows, {refused} writes refused while Redis was stopped, {seconds:.2f} s for 40 writers")
