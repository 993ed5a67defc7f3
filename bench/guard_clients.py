#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of an attack on a cache, with redis-py and psycopg2: started by guard_attack.py.

Usage: python3 -I guard_clients.py WAY PORT REDIS_PORT DSN SECONDS RATE SEED

Of the requests, 80 % are for random keys without a row, 15 % for HOT rows by Zipf's law, and 5 % for any row.
WORKERS processes send RATE requests a second in all, each on time if the answers allow it. Both ways get the
same requests for a SEED. WAY is one of:

guard     GET from tamis serve at PORT, which uses the Redis
by-hand   GET from the Redis; on a miss SELECT, then SET with a time to live, also if there is no row

Meanwhile the number of SELECT is read from PostgreSQL each second. At the end, null entries of the Redis are
deleted, to see how much memory that frees. Prints one object of JSON. Option -I matters: bench/ has a module
named redis, too.
"""
import bisect
import json
import multiprocessing
import random
import sys
import time

import psycopg2
import redis

WORKERS, HOT, ROWS, STEP = 4, 100, 100_000, 7919  # the ids of rows are multiples of STEP
VALUE_LIFE, NULL_LIFE = 600, 30  # seconds
NULL = b"N"  # as for tamis serve
COUNT = """SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements
           WHERE query LIKE '%FROM items WHERE id =%' AND query NOT LIKE '%pg_stat_statements%'"""


def value_of(number):
    """The value of a row, or None if there is none."""
    return f"item {number}".ljust(100, ".").encode() if number % STEP == 0 else None


def make_requests(count, seed):
    source = random.Random(seed)
    weights, total = [], 0.0
    for rank in range(1, HOT + 1):
        total += 1 / rank
        weights.append(total)
    for _ in range(count):
        kind = source.random()
        if kind < 0.80:
            number = source.randrange(10**15)
            yield number + (number % STEP == 0)
        elif kind < 0.95:
            yield STEP * (1 + bisect.bisect(weights, source.random() * total))
        else:
            yield STEP * source.randrange(1, ROWS + 1)


class Guard:
    def __init__(self, port, _):
        self.cache = redis.Redis(port=port)

    def get(self, number):
        return self.cache.get(f"item:{number}")


class ByHand:
    def __init__(self, port, dsn):
        self.cache = redis.Redis(port=port)
        self.database = psycopg2.connect(dsn)
        self.database.autocommit = True
        self.cursor = self.database.cursor()

    def get(self, number):
        key = f"item:{number}"
        value = self.cache.get(key)
        if value is not None:
            return None if value == NULL else value
        self.cursor.execute("SELECT value FROM items WHERE id = %s", (number,))
        row = self.cursor.fetchone()
        if row is None:
            self.cache.set(key, NULL, ex=NULL_LIFE)
            return None
        self.cache.set(key, row[0], ex=VALUE_LIFE)
        return row[0].encode()


WAYS = {"guard": Guard, "by-hand": ByHand}


def work(way, arguments, numbers, rate, start, results):
    """Sends the requests of one worker: milliseconds of each, number of wrong answers, seconds of all."""
    cache, times, wrong = WAYS[way](*arguments), [], 0
    for i, number in enumerate(numbers):
        time.sleep(max(start + i / rate - time.monotonic(), 0))
        sent = time.monotonic()
        try:
            wrong += cache.get(number) != value_of(number)
        except (redis.RedisError, psycopg2.Error) as error:
            wrong += 1
            print(f"guard_clients.py: {error}", file=sys.stderr)
        times.append((time.monotonic() - sent) * 1e3)
    results.put((times, wrong, time.monotonic() - start))


def count_selects(cursor):
    cursor.execute(COUNT)
    return int(cursor.fetchone()[0])


def sample(cursor, start, results):
    """Numbers of SELECT in each second, and what the workers return when they are done."""
    counts, done, before = [], [], count_selects(cursor)
    while len(done) < WORKERS:
        time.sleep(max(start + len(counts) + 1 - time.monotonic(), 0))
        now = count_selects(cursor)
        counts.append(now - before)
        before = now
        while not results.empty():
            done.append(results.get())
    return counts, done


def delete_nulls(cache):
    """Number and bytes of null entries."""
    batch, count, before = 1000, 0, cache.info("memory")["used_memory"]
    keys = list(cache.scan_iter(count=batch, _type="string"))
    for first in range(0, len(keys), batch):
        part = keys[first:first + batch]
        nulls = [key for key, value in zip(part, cache.mget(part)) if value == NULL]
        count += cache.delete(*nulls) if nulls else 0
    return count, before - cache.info("memory")["used_memory"]


def main():
    way, port, dsn = sys.argv[1], int(sys.argv[2]), sys.argv[4]
    cache = redis.Redis(port=int(sys.argv[3]))
    seconds, rate, seed = float(sys.argv[5]), float(sys.argv[6]), int(sys.argv[7])
    lists = [list(make_requests(int(seconds * rate / WORKERS), seed + i)) for i in range(WORKERS)]
    results, start = multiprocessing.Queue(), time.monotonic() + 1
    for numbers in lists:
        multiprocessing.Process(target=work, args=(way, (port, dsn), numbers, rate / WORKERS, start, results),
                                daemon=True).start()
    database = psycopg2.connect(dsn)
    database.autocommit = True
    cursor = database.cursor()
    before = count_selects(cursor)
    time.sleep(max(start - time.monotonic(), 0))
    each_second, done = sample(cursor, start, results)
    selects, (nulls, null_bytes) = count_selects(cursor) - before, delete_nulls(cache)
    times = sorted(ms for result in done for ms in result[0])
    numbers = [number for numbers in lists for number in numbers]
    rows = {number for number in numbers if number % STEP == 0}
    print(json.dumps({
        "requests": len(times), "wrong": sum(result[1] for result in done), "rows": sorted(rows),
        "absent": sum(number % STEP != 0 for number in numbers), "seconds": max(result[2] for result in done),
        "selects": selects, "each_second": each_second[:int(seconds)], "nulls": nulls,
        "null_bytes": null_bytes, "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100]}))


if __name__ == "__main__":
    main()
