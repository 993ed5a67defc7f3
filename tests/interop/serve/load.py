# SPDX-License-Identifier: BSD-2-Clause
"""load.py PORT PID: clients that send commands without a pause, until the server PID gets SIGTERM and ends. Prints the number
of whole replies of all clients. Each reply must be that of its command, and none may be cut."""
import os
import signal
import socket
import sys
import threading
import time

CLIENTS = 20
replies, failures = [0] * CLIENTS, []


def run(number, port):
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(30)
    received, position, count, sent = bytearray(), 0, 0, 0
    is_open = True
    while True:
        while is_open and sent - count < 2000:
            batch = b"".join(b"*2\r\n$3\r\nGET\r\n$%d\r\nitem:%d\r\n" % (5 + len(str(i)), i)
                             for i in ((sent + j) % 1200 for j in range(50)))
            try:
                client.sendall(batch)
                sent += 50
            except OSError:
                is_open = False
        try:
            got = client.recv(1 << 16)
        except OSError as error:
            failures.append(f"client {number}: {error}")
            return
        received += got
        while position < len(received):
            i = count % 1200
            value = b"item number %d" % i
            expected = b"$%d\r\n%s\r\n" % (len(value), value) if 1 <= i <= 1000 else b"$-1\r\n"
            part = received[position:position + len(expected)]
            if part != expected:
                if got and expected.startswith(part):
                    break
                failures.append(f"client {number}, reply {count}: {bytes(part)!r} instead of {expected!r}")
                return
            position += len(expected)
            count += 1
        if position > 1 << 20:
            del received[:position]
            position = 0
        replies[number] = count
        if not got:
            return


def main():
    port, pid = int(sys.argv[1]), int(sys.argv[2])
    threads = [threading.Thread(target=run, args=(i, port)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    os.kill(pid, signal.SIGTERM)
    for thread in threads:
        thread.join()
    if failures:
        sys.exit("\n".join(failures))
    print(sum(replies))


main()
