#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the vectors of tests/unit/test_redisbloom_cuckoo.c with a model of RedisBloom's cuckoo filter that was
written from its description alone: lists of buckets, tables of any number.

Usage: make_redisbloom_cuckoo.py
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "format"))
import tamis_hashes as hashes  # noqa: E402

# capacity, slots of a bucket, iterations, expansion, number of keys
CASES = [(1024, 2, 20, 1, 600), (1024, 2, 20, 1, 5000), (8, 2, 20, 1, 100), (100, 3, 7, 2, 3000), (64, 4, 500, 0, 90),
         (16, 1, 1, 3, 2000), (2, 1, 20, 2, 300), (1000, 255, 3, 16, 900), (50, 5, 50, 4, 4000)]


class Model:
    def __init__(self, capacity, slots, iterations, expansion):
        self.slots, self.iterations, self.expansion = slots, iterations, expansion
        while self.expansion & (self.expansion - 1):
            self.expansion += 1
        self.first = 1
        while self.first < capacity // slots:
            self.first *= 2
        self.tables, self.keys, self.removed = [], 0, 0
        self.grow()

    def grow(self):
        buckets = self.first * self.expansion ** len(self.tables)
        self.tables.append([[0] * self.slots for _ in range(buckets)])

    @staticmethod
    def pair(value, fingerprint):
        return value, value ^ fingerprint * 0x5bd1e995

    @staticmethod
    def parse(key):
        value = hashes.murmur_64a(key, 0)
        return value, value % 255 + 1

    def first_with(self, table, value, fingerprint, wanted):
        for start in self.pair(value, fingerprint):
            bucket = table[start % len(table)]
            if wanted in bucket:
                return bucket, bucket.index(wanted)
        return None, None

    def add(self, key):
        value, fingerprint = self.parse(key)
        for table in reversed(self.tables):
            bucket, i = self.first_with(table, value, fingerprint, 0)
            if bucket is not None:
                bucket[i] = fingerprint
                self.keys += 1
                return True
        newest = self.tables[-1]
        saved = [list(bucket) for bucket in newest]
        moving, number, victim = fingerprint, value % len(newest), 0
        for _ in range(self.iterations):
            moving, newest[number][victim] = newest[number][victim], moving
            number = self.pair(number, moving)[1] % len(newest)
            if 0 in newest[number]:
                newest[number][newest[number].index(0)] = moving
                self.keys += 1
                return True
            victim = (victim + 1) % self.slots
        self.tables[-1] = saved
        if self.expansion == 0:
            return False
        self.grow()
        return self.add(key)

    def has(self, key):
        return any(self.first_with(table, *self.parse(key), self.parse(key)[1])[0] for table in self.tables)

    def remove(self, key):
        value, fingerprint = self.parse(key)
        for table in reversed(self.tables):
            bucket, i = self.first_with(table, value, fingerprint, fingerprint)
            if bucket is not None:
                bucket[i] = 0
                self.keys -= 1
                self.removed += 1
                if len(self.tables) > 1 and self.removed > self.keys * 0.1:
                    self.compact(False)
                return

    def compact(self, whole):
        for index in range(len(self.tables) - 1, 0, -1):
            kept = False
            for number, bucket in enumerate(self.tables[index]):
                for i, fingerprint in enumerate(bucket):
                    if not fingerprint:
                        continue
                    for older in self.tables[:index]:
                        target, free = self.first_with(older, number, fingerprint, 0)
                        if target is not None:
                            target[free], bucket[i] = fingerprint, 0
                            break
                    else:
                        kept = True
            if not kept and index == len(self.tables) - 1:
                self.tables.pop()
            if kept and not whole:
                break
        self.removed = 0

    def line(self):
        data = bytes(slot for table in self.tables for bucket in table for slot in bucket)
        value = 0xcbf29ce484222325
        for byte in data:
            value = ((value ^ byte) * 0x100000001b3) % 2 ** 64
        return f"{{{self.keys}, {self.removed}, {len(self.tables)}, UINT64_C(0x{value:016x})}}"


for case in CASES:
    model = Model(*case[:4])
    lines, n = [], case[4]
    for i in range(n):
        key = b"%d" % i
        if i % 5 or not model.has(key):
            model.add(key)
    lines.append(model.line())
    for i in range(0, n, 3):
        model.remove(b"%d" % i)
    lines.append(model.line())
    model.compact(True)
    lines.append(model.line())
    print(f"{{{', '.join(str(number) for number in case)}, {', '.join(lines)}}},")
