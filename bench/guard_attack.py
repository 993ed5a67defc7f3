# SPDX-License-Identifier: BSD-2-Clause
"""An attack of random ids on a PostgreSQL, through tamis serve and through a cache that is written by hand.

Part of guard.py. Both ways get the same requests at the same rate, from the clients of guard_clients.py.
PostgreSQL itself counts the queries (pg_stat_statements).
"""
import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from guard_serve import Serve
from redis import Server, end_with_parent
from timed import need

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, STEP, HOT = 100_000, 7919, 100  # as in guard_clients.py
FPR = 0.001
RATE, SECONDS = 2000, 35  # requests a second; longer than the 30 seconds that a null lives
LIMIT = 1.2  # of queries for absent keys, to those that the rate of the filter promises

SCHEMA = f"""
CREATE EXTENSION pg_stat_statements;
CREATE TABLE items (id bigint PRIMARY KEY, value text NOT NULL);
INSERT INTO items SELECT {STEP} * i, rpad('item ' || {STEP} * i, 100, '.') FROM generate_series(1, {ROWS}) AS i;
VACUUM ANALYZE items;
"""

CONFIG = """
redis: redis://127.0.0.1:{redis}/0
database:
  postgres: "{dsn}"
keyspaces:
  - keys: "item:*"
    row: SELECT value FROM items WHERE id = $1
    all_keys: SELECT id FROM items
    fpr: {fpr}
    cache: 16MiB
"""


def find_python():
    """A Python with redis-py and psycopg2, or None."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-I", "-c", "import psycopg2, redis"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def find_postgres():
    """The directory of PostgreSQL's programs, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[4]))
    return found[-1] if found else None


class Postgres:
    """A private PostgreSQL behind a Unix socket. It refuses to run as root, so it has another user then."""

    def __init__(self, programs):
        self.programs, self.user = programs, {}
        self.directory = tempfile.mkdtemp(prefix="tamis-bench-")
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            self.user = {"user": "postgres" if "postgres" in names else "nobody"}
            shutil.chown(self.directory, self.user["user"])
        self.dsn = f"host={self.directory} dbname=postgres user=bench"
        self.run("initdb", "--auth", "trust", "--username", "bench", "--no-sync", "--encoding", "UTF8", "--no-locale",
                 "--pgdata", self.data())
        with open(os.path.join(self.directory, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs, "postgres"), "-D", self.data(), "-k", self.directory, "-c", "listen_addresses=",
                 "-c", "shared_preload_libraries=pg_stat_statements", "-c", "fsync=off"], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd="/", preexec_fn=lambda: end_with_parent(signal.SIGQUIT), **self.user)
        self.wait()
        self.run("psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", self.dsn, text=SCHEMA)

    def wait(self):
        is_ready = [os.path.join(self.programs, "pg_isready"), "--quiet", "--host", self.directory]
        for _ in range(600):
            if subprocess.run(is_ready).returncode == 0:
                return
            need(self.process.poll() is None, f"postgres does not start: {os.path.join(self.directory, 'log')} says why")
            time.sleep(0.05)
        need(False, "postgres does not start within 30 s")

    def data(self):
        return os.path.join(self.directory, "data")

    def run(self, program, *arguments, text=""):
        done = subprocess.run([os.path.join(self.programs, program), *arguments], input=text.encode(), cwd="/",
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **self.user)
        need(done.returncode == 0, f"{program}: {done.stderr.decode().strip()}")

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


# ---- one way ----

class Attack:
    """The same requests to tamis serve, and to a cache that is written by hand."""

    def __init__(self, python, tamis, postgres, cache, seconds):
        self.python, self.tamis, self.postgres, self.cache, self.seconds = python, tamis, postgres, cache, seconds

    def run(self, way, port):
        done = subprocess.run([self.python, "-I", os.path.join(HERE, "guard_clients.py"), way, str(port),
                               str(self.cache.port), self.postgres.dsn, str(self.seconds), str(RATE), "7"],
                              stdout=subprocess.PIPE)
        need(done.returncode == 0, f"guard_clients.py {way}: exit status {done.returncode}")
        result = json.loads(done.stdout)
        need(result["wrong"] == 0, f"{way}: {result['wrong']} of {result['requests']} answers are wrong")
        need(result["selects"] >= len(result["rows"]), f"{way}: PostgreSQL has counted {result['selects']} queries for "
             f"{len(result['rows'])} rows: some queries are not counted")
        return result

    def by_hand(self):
        self.cache.call("FLUSHALL")
        return self.run("by-hand", self.cache.port)

    def guard(self):
        self.cache.call("FLUSHALL")
        server = Serve(self.tamis, None, CONFIG.format(redis=self.cache.port, dsn=self.postgres.dsn, fpr=FPR))
        try:
            return self.run("guard", server.port)
        finally:
            server.stop()


# ---- results ----

def print_table(results):
    print(f"{'':<24}{'requests':>10}{'a second':>10}{'queries':>10}{'peak a s':>10}{'p50 ms':>9}{'p99 ms':>9}"
          f"{'nulls':>9}{'bytes':>12}")
    for name, result in results.items():
        print(f"{name:<24}{result['requests']:>10}{result['requests'] / result['seconds']:>10.0f}"
              f"{result['selects']:>10}{max(result['each_second']):>10}{result['p50']:>9.2f}{result['p99']:>9.2f}"
              f"{result['nulls']:>9}{result['null_bytes']:>12}")


def queries_allowed(result):
    """First loads, and what false positives of the filter may add."""
    return len(result["rows"]) + result["absent"] * FPR * LIMIT


def svg_of(results):
    """A plot of queries a second over time."""
    width, height, left, top, right, bottom = 720, 360, 64, 36, 16, 44
    seconds = max(len(result["each_second"]) for result in results.values())
    peak = max(max(result["each_second"]) for result in results.values())
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**6) if size * 8 >= peak)
    ceiling = (peak // step + 1) * step

    def x(second):
        return left + (width - left - right) * second / seconds

    def y(value):
        return height - bottom - (height - top - bottom) * value / ceiling

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="20">Queries on the database a second; of {RATE} requests a second, 80 % are for random '
             'ids</text>']
    for value in range(0, ceiling + 1, step):
        parts.append(f'<path d="M{left} {y(value):.1f}H{width - right}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for second in range(0, seconds + 1, 5):
        parts.append(f'<text x="{x(second):.1f}" y="{height - bottom + 18}" text-anchor="middle">{second}</text>')
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 8}" text-anchor="middle">seconds</text>')
    for i, (name, result) in enumerate(results.items()):
        color = ("#c0392b", "#1f6fb2", "#2e8b57")[i]
        points = " ".join(f"{x(second + 0.5):.1f},{y(value):.1f}" for second, value in enumerate(result["each_second"]))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
                     f'<text x="{width - right - 8}" y="{top + 18 * (i + 1)}" text-anchor="end" fill="{color}">{name}'
                     '</text>')
    return "\n".join(parts) + "\n</svg>\n"


def measure(tamis, scale, plot):
    """Bars of the attack, and whether the database got no more queries than allowed."""
    python, programs = find_python(), find_postgres()
    if not python or not programs:
        print("attack: left out; it needs PostgreSQL, and Python with redis-py and psycopg2 (python3-redis, python3-psycopg2)")
        return [], True
    postgres = Postgres(programs)
    cache = Server(*sorted(os.sched_getaffinity(0))[:1], ["--maxmemory", "1gb"])
    try:
        attack = Attack(python, tamis, postgres, cache, max(SECONDS * scale, 5))
        results = {"cache written by hand": attack.by_hand(), "tamis serve": attack.guard()}
    finally:
        cache.stop()
        postgres.stop()
    hand, guard = results.values()
    print(f"\nAttack: 80 % of the requests are for random ids, 15 % for {HOT} rows, 5 % for any of {ROWS} rows. Queries: "
          "SELECTs that\nPostgreSQL has counted. nulls, bytes: entries of the Redis for ids without a row, after the run\n")
    print_table(results)
    allowed = queries_allowed(guard)
    print(f"\n{guard['absent']} absent ids at rate {FPR} and {len(guard['rows'])} first loads allow {allowed:.0f} queries: "
          f"got {guard['selects']}")
    with open(plot, "w", encoding="utf-8") as file:
        file.write(svg_of(results))
    print(f"plot: {plot}")
    bars = [("queries of tamis serve, to first loads + absent * rate * 1.2", -1, guard["selects"] / allowed),
            ("queries of the cache written by hand, to those of tamis serve", None, hand["selects"] / guard["selects"]),
            ("bytes of a null entry, of the cache written by hand", None, hand["null_bytes"] / max(hand["nulls"], 1))]
    return bars, guard["selects"] <= allowed
