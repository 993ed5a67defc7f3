# SPDX-License-Identifier: BSD-2-Clause
"""tamis serve over loopback, beside redis-server; part of guard.py and serve_filters.py."""
import csv
import io
import os
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

from redis import Server, end_with_parent, pin
from timed import need

CLIENTS, PIPELINE, REQUESTS, HOT = 50, 16, 1_000_000, 1000
VALUE = "v" * 100

CONFIG = """
database:
  sqlite: memory
  init: rows.sql
keyspaces:
  - keys: "item:*"
    row: SELECT value FROM items WHERE id = ?1
    all_keys: SELECT id FROM items
    fpr: 0.001
    cache: 64MiB
    cache_life: 1h
"""

# redis-benchmark writes random numbers in twelve digits.
ROWS = f"""
CREATE TABLE items (id TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < 99999)
INSERT INTO items SELECT printf('%012d', i), '{VALUE}' FROM numbers;
"""


class Serve:
    """A tamis serve on a free port, whose filters are ready. It ends with this process."""

    def __init__(self, tamis, core, config, files=()):
        self.directory = tempfile.mkdtemp(prefix="tamis-bench-")
        self.port = random.randrange(10_000, 32_000)  # below the ports that systems give to clients
        for name, text in (*files, ("serve.yaml", f"listen: 127.0.0.1:{self.port}\n{config}")):
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text)
        with open(os.path.join(self.directory, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [tamis, "serve", os.path.join(self.directory, "serve.yaml")], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=lambda: (core is None or pin(core), end_with_parent()))
        self.wait()

    def wait(self):
        for _ in range(1500):
            time.sleep(0.02)
            try:
                if self.is_ready():
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            need(False, f"tamis serve does not start: {log.read()}")

    def is_ready(self):
        info = self.call("INFO guards")
        return ",absent=" in info and "filter=0" not in info

    def call(self, command):
        """The text of a bulk reply."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(command.encode() + b"\r\n")
            with connection.makefile("rb") as replies:
                line = replies.readline()
                need(line[:1] == b"$", f"{command}: {line.decode().strip()}")
                return replies.read(int(line[1:])).decode()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_benchmark(server, core, words, numbers, requests, clients=CLIENTS, pipeline=PIPELINE):
    """Commands a second, milliseconds p50 and p99, and microseconds of the server's CPU a command."""
    before = cpu_seconds(server.process)
    done = subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-c", str(clients), "-P", str(pipeline), "-n", str(requests), "-r",
         str(numbers), "--csv", *words], capture_output=True, preexec_fn=lambda: pin(core))
    need(done.returncode == 0, f"redis-benchmark: {done.stderr.decode().strip()}")
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout.decode())) if row.get("rps")]
    need(len(rows) == 1, f"redis-benchmark: {done.stdout.decode()}")
    return [float(rows[0]["rps"]), float(rows[0]["p50_latency_ms"]), float(rows[0]["p99_latency_ms"]),
            (cpu_seconds(server.process) - before) / requests * 1e6]


def measure(tamis, runs, scale):
    """Bars of GETs over loopback."""
    cores = sorted(os.sched_getaffinity(0))
    ours = Serve(tamis, cores[0], CONFIG, [("rows.sql", ROWS)])
    theirs = Server(cores[0])
    requests = max(int(REQUESTS * scale), 10_000)
    absent, hit = ("GET", "item:x__rand_int__"), ("GET", "item:__rand_int__")
    ways = {(name, what): (server, words, numbers)
            for what, words, numbers in (("absent", absent, 10**9), ("hit", hit, HOT))
            for name, server in (("tamis serve", ours), ("redis-server", theirs))}
    try:
        run_benchmark(theirs, cores[-1], ("SET", hit[1], VALUE), HOT, 20 * HOT)
        run_benchmark(ours, cores[-1], hit, HOT, 20 * HOT)
        results = {way: [] for way in ways}
        for _ in range(runs):
            for way, (server, words, numbers) in ways.items():
                results[way].append(run_benchmark(server, cores[-1], words, numbers, requests))
        info = ours.call("INFO guards")
    finally:
        ours.stop()
        theirs.stop()
    medians = {way: [statistics.median(column) for column in zip(*rows)] for way, rows in results.items()}
    print(f"\nGET over loopback, {CLIENTS} clients, {PIPELINE} in flight each, a core for the server and one for "
          f"redis-benchmark\n\n{'':<24}{'':<10}{'GETs a second':>14}{'p50 ms':>10}{'p99 ms':>10}{'server us':>11}")
    for (name, what), (rate, p50, p99, cpu) in medians.items():
        print(f"{name:<24}{what:<10}{rate:>14.0f}{p50:>10.3f}{p99:>10.3f}{cpu:>11.3f}", flush=True)
    check_levels(info, runs * requests)
    bars = []
    for what in ("absent", "hit"):
        mine, its = medians["tamis serve", what], medians["redis-server", what]
        bars += [(f"GETs a second, {what}, to redis-server's", 0.9, mine[0] / its[0]),
                 ("the same, p99 of the latency to redis-server's", None, mine[2] / its[2]),
                 ("the same, CPU of the server a GET to redis-server's", None, mine[3] / its[3])]
    return bars


def check_levels(info, requests):
    """Fails if the GETs were not answered by the levels that are measured."""
    fields = dict(field.split("=") for field in info.split("keys=item:*,")[1].split("\r\n")[0].split(","))
    need(int(fields["absent"]) >= 0.99 * requests, f"tamis serve: the filter answered {fields['absent']} of {requests}")
    need(int(fields["cache_hits"]) >= 0.99 * requests,
         f"tamis serve: the cache answered {fields['cache_hits']} of {requests}")
