# SPDX-License-Identifier: BSD-2-Clause
"""Replies of the Redis module: each row of the table is a command and what RedisBloom replies to it."""
import os
import re

from module_server import WRONGTYPE, Client, Error, F, T, arity, check_table, is_true, same

TABLE = [
    ("SET string x", b"OK"),
    # BF.RESERVE
    ("BF.RESERVE k 0.01", arity("bf.reserve")),
    ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING x", arity("bf.reserve")),
    ("BF.RESERVE k rate 100", Error("ERR bad error rate")),
    ("BF.RESERVE k nan 100", Error("ERR bad error rate")),
    ("BF.RESERVE k 0 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k 1 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k inf 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k -0.1 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k 0.01x 100", Error("ERR bad error rate")),
    ("BF.RESERVE k 0.01 many", Error("ERR bad capacity")),
    ("BF.RESERVE k 0.01 1.5", Error("ERR bad capacity")),
    ("BF.RESERVE k 0.01 18446744073709551616", Error("ERR bad capacity")),
    ("BF.RESERVE k 0.01 -1", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("BF.RESERVE k rate many EXPANSION x", Error("ERR bad error rate")),  # the first error counts
    ("BF.RESERVE string rate 100", Error("ERR bad error rate")),  # before the key
    ("BF.RESERVE k 0.01 0", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("BF.RESERVE k 0.01 1073741825", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("BF.RESERVE k 0.01 100 EXPANSION", Error("ERR no expansion")),
    ("BF.RESERVE k 0.01 100 EXPANSION x", Error("ERR bad expansion")),
    ("BF.RESERVE k 0.01 100 EXPANSION -1", Error("ERR expansion must be in the range [0, 32768]")),
    ("BF.RESERVE k 0.01 100 EXPANSION 32769", Error("ERR expansion must be in the range [0, 32768]")),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", Error("Nonscaling filters cannot expand")),
    ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING", Error("Nonscaling filters cannot expand")),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION -1", Error("Nonscaling filters cannot expand")),
    ("BF.RESERVE k 0.01 100 EXPANSION NONSCALING", Error("ERR bad expansion")),
    ("BF.RESERVE k 0.01 100 EXPANSION 9223372036854775808", Error("ERR bad expansion")),
    ("BF.RESERVE string 0.01 100", Error(WRONGTYPE)),
    ("EXISTS k", 0),
    ("BF.RESERVE k 0.001 100", b"OK"),
    ("BF.RESERVE k 0.01 100", Error("ERR item exists")),
    ("BF.DEBUG k", [b"size:0", b"bytes:200 bits:1600 hashes:11 hashwidth:64 capacity:100 size:0 ratio:0.0005"]),
    ("BF.RESERVE capped 0.99 3 NONSCALING", b"OK"),
    ("BF.DEBUG capped", [b"size:0", b"bytes:8 bits:64 hashes:3 hashwidth:64 capacity:3 size:0 ratio:0.25"]),
    ("BF.RESERVE unknown 0.01 100 WORD x", b"OK"),
    ("BF.RESERVE zero 0.01 100 EXPANSION 0", b"OK"),
    ("BF.INFO zero EXPANSION", {"Expansion rate": None}),
    ("bf.reserve lower 0.3 100 expansion 3 EXPANSION", b"OK"),  # the first one counts, in any case
    ("BF.INFO lower EXPANSION", {"Expansion rate": 3}),
    ("BF.DEBUG lower", [b"size:0", b"bytes:56 bits:448 hashes:4 hashwidth:64 capacity:100 size:0 ratio:0.125"]),
    ("BF.RESERVE both 0.01 100 nonscaling EXPANSION 0", b"OK"),
    ("BF.INFO both EXPANSION", {"Expansion rate": None}),
    ("BF.RESERVE twice 0.01 100 NONSCALING NONSCALING", b"OK"),
    ("BF.RESERVE most 0.01 1 EXPANSION 32768", b"OK"),
    ("BF.RESERVE most 0.25 1073741824 NONSCALING", Error("ERR item exists")),
    ("UNLINK most", 1),
    ("BF.RESERVE most 0.25 1073741824 NONSCALING", b"OK"),
    ("BF.INFO most CAPACITY", {"Capacity": 1073741824}),
    ("UNLINK most", 1),
    ("BF.RESERVE NONSCALING 0.01 100", b"OK"),
    ("BF.INFO NONSCALING EXPANSION", {"Expansion rate": 2}),
    ("BF.RESERVE EXPANSION 0.01 100", b"OK"),
    ("BF.INFO EXPANSION EXPANSION", {"Expansion rate": 2}),
    # BF.ADD, BF.MADD
    ("BF.ADD k", arity("bf.add")),
    ("BF.ADD k a b", arity("bf.add")),
    ("BF.MADD k", arity("bf.madd")),
    ("BF.ADD k a", T),
    ("BF.ADD k a", F),
    ("BF.MADD k a b b c", [F, T, F, T]),
    ("BF.ADD string a", Error(WRONGTYPE)),
    ("BF.MADD string a", Error(WRONGTYPE)),
    ("BF.RESERVE full 0.01 3 NONSCALING", b"OK"),
    ("BF.MADD full a b c d e", [T, T, T, Error("ERR non scaling filter is full")]),
    ("BF.ADD full d", Error("ERR non scaling filter is full")),
    ("BF.ADD full a", F),
    ("BF.MADD full a b a d e", [F, F, F, Error("ERR non scaling filter is full")]),
    ("BF.INSERT full NOCREATE ITEMS c d", [F, Error("ERR non scaling filter is full")]),
    ("BF.ADD made a", T),
    ("BF.DEBUG made", [b"size:1", b"bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:1 ratio:0.005"]),
    ("BF.MADD made2 a a", [T, F]),
    ("BF.INFO full", {"Capacity": 3, "Size": 104, "Number of filters": 1, "Number of items inserted": 3,
                      "Expansion rate": None}),
    # BF.INSERT
    ("BF.INSERT i ITEMS", arity("bf.insert")),
    ("BF.INSERT i NOCREATE ITEMS", arity("bf.insert")),
    ("BF.INSERT i NOCREATE CAPACITY", arity("bf.insert")),
    ("BF.INSERT i CAPACITY 3 ERROR 0.1", arity("bf.insert")),
    ("BF.INSERT i ERROR big ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i ERROR 2 ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i CAPACITY 0 ITEMS a", Error("Bad capacity")),
    ("BF.INSERT i CAPACITY 0.3 ITEMS a", Error("Bad capacity")),
    ("BF.INSERT i EXPANSION big ITEMS a", Error("Bad expansion")),
    ("BF.INSERT i WORD NOCREATE ITEMS a", Error("Unknown argument received")),
    ("BF.INSERT i NOCREATE ITEMS a", Error("ERR not found")),
    ("BF.INSERT string ITEMS a", Error(WRONGTYPE)),
    ("EXISTS i", 0),
    ("BF.INSERT i ERROR nan ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i ERROR 1 ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i CAPACITY 1073741825 ITEMS a", Error("Bad capacity")),
    ("BF.INSERT i EXPANSION -1 ITEMS a", Error("Bad expansion")),
    ("BF.INSERT i EXPANSION 32769 ITEMS a", Error("Bad expansion")),
    ("BF.INSERT i EXPANSION ITEMS a", Error("Bad expansion")),
    ("BF.INSERT i CAPACITY x ERROR x ITEMS a", Error("Bad capacity")),  # the first error counts
    ("BF.INSERT i ERROR 0.1 CAPACITY", arity("bf.insert")),
    ("BF.INSERT string CAPACITY x ITEMS a", Error("Bad capacity")),  # before the key
    ("BF.INSERT i TIGHTENING 2.0 ITEMS a", Error("Unknown argument received")),  # valkey-bloom #90: rates above 1
    ("EXISTS i", 0),
    ("BF.INSERT i ERROR 0.001 CAPACITY 50000 EXPANSION 2 ITEMS foo", [T]),
    ("BF.DEBUG i", [b"size:1", b"bytes:98880 bits:791040 hashes:11 hashwidth:64 capacity:50000 size:1 ratio:0.0005"]),
    ("BF.INSERT i ERROR 0.1 ITEMS foo bar baz", [F, T, T]),
    ("BF.CARD i", 3),
    ("BF.INSERT short CAP 3 ERR .1 EXP 2 NONS I a b c d", [T, T, T, Error("ERR non scaling filter is full")]),
    ("BF.INFO short EXPANSION", {"Expansion rate": None}),
    ("BF.INSERT letters c 3 er 0.1 e 4 n i i i a b", [T, F, T, T]),
    ("BF.INFO letters EXPANSION", {"Expansion rate": None}),
    ("BF.INSERT neither NOC I a", Error("ERR not found")),
    ("BF.INSERT fixed NONSCALING EXPANSION 4 ITEMS a", [T]),
    ("BF.INFO fixed EXPANSION", {"Expansion rate": None}),
    ("BF.INSERT fixed2 EXPANSION 0 ITEMS a", [T]),
    ("BF.INFO fixed2 EXPANSION", {"Expansion rate": None}),
    ("BF.INSERT twice2 CAPACITY 5 capacity 7 ERROR 0.9 EXPANSION 3 EXPANSION 4 ITEMS a", [T]),  # the last one counts
    ("BF.DEBUG twice2", [b"size:1", b"bytes:8 bits:64 hashes:4 hashwidth:64 capacity:7 size:1 ratio:0.125"]),
    ("BF.INFO twice2 EXPANSION", {"Expansion rate": 4}),
    ("BF.INSERT twice2 CAPACITY 1000 NONSCALING ITEMS a b", [F, T]),  # the filter is there: its sizes stay
    ("BF.INFO twice2 CAPACITY", {"Capacity": 7}),
    # BF.EXISTS, BF.MEXISTS, BF.CARD
    ("BF.EXISTS k", arity("bf.exists")),
    ("BF.MEXISTS k", arity("bf.mexists")),
    ("BF.EXISTS k a", T),
    ("BF.EXISTS k other", F),
    ("BF.MEXISTS k other a c", [F, T, T]),
    ("BF.EXISTS none a", F),
    ("BF.MEXISTS none a b", [F, F]),
    ("BF.EXISTS string a", F),
    ("BF.MEXISTS string a b", [F, F]),
    ("BF.MEXISTS k a a other a", [T, T, F, T]),
    ("BF.CARD", arity("bf.card")),
    ("BF.CARD none", 0),
    ("BF.CARD string", Error(WRONGTYPE)),
    ("BF.CARD k", 3),
    # BF.INFO, BF.DEBUG
    ("BF.INFO", arity("bf.info")),
    ("BF.INFO k CAPACITY SIZE", arity("bf.info")),
    ("BF.INFO none", Error("ERR not found")),
    ("BF.INFO none word", Error("ERR not found")),
    ("BF.INFO string", Error(WRONGTYPE)),
    ("BF.INFO k word", Error("Invalid information value")),
    ("BF.INFO k", {"Capacity": 100, "Size": 296, "Number of filters": 1, "Number of items inserted": 3,
                   "Expansion rate": 2}),
    ("BF.INFO k capacity", {"Capacity": 100}),
    ("BF.INFO k Size", {"Size": 296}),
    ("BF.INFO k FILTERS", {"Number of filters": 1}),
    ("BF.INFO k expansion", {"Expansion rate": 2}),
    ("BF.INFO full", {"Capacity": 3, "Size": 104, "Number of filters": 1, "Number of items inserted": 3,
                      "Expansion rate": None}),
    ("BF.INFO k ITEMS", {"Number of items inserted": 3}),
    ("BF.DEBUG k x", arity("bf.debug")),
    ("BF.DEBUG none", Error("ERR not found")),
    ("BF.DEBUG string", Error(WRONGTYPE)),
    # BF.SCANDUMP, BF.LOADCHUNK
    ("BF.SCANDUMP k", arity("bf.scandump")),
    ("BF.SCANDUMP none 0", Error("ERR not found")),
    ("BF.SCANDUMP string 0", Error(WRONGTYPE)),
    ("BF.SCANDUMP k x", Error("Second argument must be numeric")),
    ("BF.SCANDUMP k 9223372036854775808", Error("Second argument must be numeric")),
    ("BF.SCANDUMP none x", Error("ERR not found")),  # the key comes first
    ("BF.SCANDUMP k 201", [0, b""]),
    ("BF.SCANDUMP k -1", [0, b""]),
    ("BF.SCANDUMP k 9223372036854775807", [0, b""]),
    ("BF.LOADCHUNK k 1", arity("bf.loadchunk")),
    ("BF.LOADCHUNK k x data", Error("ERR Second argument must be numeric")),
    ("BF.LOADCHUNK string x data", Error("ERR Second argument must be numeric")),  # before the key
    ("BF.LOADCHUNK k 9223372036854775808 data", Error("ERR Second argument must be numeric")),
    ("BF.LOADCHUNK none 0 data", Error("ERR not found")),
    ("BF.LOADCHUNK k 1 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK none 1 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK none 2 data", Error("ERR not found")),
    ("BF.LOADCHUNK string 1 data", Error(WRONGTYPE)),
    ("BF.LOADCHUNK k 3 data", Error("ERR received bad data")),  # fewer bytes than there are
    ("BF.LOADCHUNK k -9223372036854775808 1", Error("ERR received bad data")),
    ("BF.LOADCHUNK k 4 data", Error("ERR invalid offset - no link found")),
    ("BF.LOADCHUNK k 922337203685477588 1", Error("ERR invalid offset - no link found")),
    ("BF.LOADCHUNK k 203 data", Error("ERR invalid chunk - Too big for current filter")),
    ("BF.LOADCHUNK k 5 data", Error("ERR received bad data")),
    ("EXISTS none", 0),
    ("TYPE k", b"MBbloom--"),
    # CF.RESERVE
    ("CF.RESERVE", arity("cf.reserve")),
    ("CF.RESERVE c", arity("cf.reserve")),
    ("CF.RESERVE c 100 BUCKETSIZE", arity("cf.reserve")),
    ("CF.RESERVE c many", Error("Bad capacity")),
    ("CF.RESERVE c 0", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 7 BUCKETSIZE 4", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 1073741825", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 100 BUCKETSIZE x", Error("Couldn't parse BUCKETSIZE")),
    ("CF.RESERVE c 100 MAXITERATIONS x", Error("Couldn't parse MAXITERATIONS")),
    ("CF.RESERVE c 100 EXPANSION x", Error("Couldn't parse EXPANSION")),
    ("CF.RESERVE c 100 BUCKETSIZE 0", Error("BUCKETSIZE: value must be in the range [1, 255]")),
    ("CF.RESERVE c 1000 BUCKETSIZE 256", Error("BUCKETSIZE: value must be in the range [1, 255]")),
    ("CF.RESERVE c 100 MAXITERATIONS 0", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
    ("CF.RESERVE c 100 MAXITERATIONS 65536", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
    ("CF.RESERVE c 100 EXPANSION -1", Error("EXPANSION: value must be in the range [0, 32768]")),
    ("CF.RESERVE c 100 EXPANSION 32769", Error("EXPANSION: value must be in the range [0, 32768]")),
    ("CF.RESERVE c 100 EXPANSION 9223372036854775808", Error("Couldn't parse EXPANSION")),
    ("CF.RESERVE c 1.5", Error("Bad capacity")),
    ("CF.RESERVE c 9223372036854775808", Error("Bad capacity")),
    ("CF.RESERVE c 9223372036854775807", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c -1", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c x BUCKETSIZE x", Error("Bad capacity")),  # the order in which errors count
    ("CF.RESERVE c 0 EXPANSION x BUCKETSIZE x MAXITERATIONS x", Error("Couldn't parse MAXITERATIONS")),
    ("CF.RESERVE c 0 EXPANSION x BUCKETSIZE x", Error("Couldn't parse BUCKETSIZE")),
    ("CF.RESERVE c 0 EXPANSION x", Error("Couldn't parse EXPANSION")),
    ("CF.RESERVE string 0", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),  # before the key
    ("CF.RESERVE string 100", Error(WRONGTYPE)),
    ("CF.RESERVE k 100", Error(WRONGTYPE)),
    ("EXISTS c", 0),
    ("CF.RESERVE c 100 bucketsize 4 EXPANSION 3 MAXITERATIONS 7 WORD x", b"OK"),
    ("CF.RESERVE c 100", Error("ERR item exists")),
    ("CF.RESERVE twice3 100 BUCKETSIZE 4 BUCKETSIZE 8 EXPANSION 0 EXPANSION 2", b"OK"),  # the first one counts
    ("CF.DEBUG twice3", b"bktsize:4 buckets:32 items:0 deletes:0 filters:1 max_iterations:20 expansion:0"),
    ("CF.RESERVE largest 510 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768", b"OK"),
    ("CF.DEBUG largest", b"bktsize:255 buckets:2 items:0 deletes:0 filters:1 max_iterations:65535 expansion:32768"),
    ("CF.RESERVE smallest 2 BUCKETSIZE 1 MAXITERATIONS 1", b"OK"),
    ("CF.RESERVE cut 100 WORD MAXITERATIONS", b"OK"),  # an option needs a value beside it
    ("CF.RESERVE odd 100 WORD BUCKETSIZE 4 x", b"OK"),  # in any place
    ("CF.DEBUG odd", b"bktsize:4 buckets:32 items:0 deletes:0 filters:1 max_iterations:20 expansion:1"),
    ("CF.RESERVE MAXITERATIONS 100", b"OK"),
    ("CF.INFO c", {"Size": 56 + 16 + 128, "Number of buckets": 32, "Number of filters": 1,
                   "Number of items inserted": 0, "Number of items deleted": 0, "Bucket size": 4,
                   "Expansion rate": 4, "Max iterations": 7}),
    # CF.ADD, CF.ADDNX
    ("CF.ADD c", arity("cf.add")),
    ("CF.ADDNX c a b", arity("cf.addnx")),
    ("CF.ADD c a", T),
    ("CF.ADD c a", T),
    ("CF.ADDNX c a", F),
    ("CF.ADDNX c b", T),
    ("CF.ADD string a", Error(WRONGTYPE)),
    ("CF.ADD k a", Error(WRONGTYPE)),
    ("CF.ADDNX string a", Error(WRONGTYPE)),
    ("CF.ADDNX made3 a", T),
    ("CF.ADD made4 a", T),
    ("CF.DEBUG made4", b"bktsize:2 buckets:512 items:1 deletes:0 filters:1 max_iterations:20 expansion:1"),
    ("CF.RESERVE small 8 BUCKETSIZE 4 EXPANSION 0", b"OK"),
    ("CF.INSERT small ITEMS a a a a a", [T, T, T, T, "full"]),
    ("CF.ADD small a", Error("Filter is full")),
    ("CF.ADDNX small a", F),
    ("CF.INSERTNX small ITEMS a b c f h zz y", [0, -1, 1, 1, 1, 1, -1]),
    ("CF.ADDNX small y", Error("Filter is full")),
    ("CF.COUNT small a", 4),
    ("CONFIG SET bf.cf-max-expansions 1", b"OK"),
    ("CF.ADD made4 b", Error("Maximum expansions reached")),  # its table has free slots
    ("CF.ADDNX made4 b", Error("Maximum expansions reached")),
    ("CF.INSERT made4 ITEMS b", Error("Maximum expansions reached")),
    ("CF.INSERTNX made4 ITEMS b", Error("Maximum expansions reached")),
    ("CF.ADD string b", Error(WRONGTYPE)),
    ("CONFIG SET bf.cf-max-expansions 2", b"OK"),
    ("CF.ADD made4 b", T),
    ("CONFIG SET bf.cf-max-expansions 32", b"OK"),
    # CF.INSERT, CF.INSERTNX
    ("CF.INSERT n ITEMS", arity("cf.insert")),
    ("CF.INSERT n NOCREATE ITEMS", arity("cf.insert")),
    ("CF.INSERT n CAPACITY 30 NOCREATE", arity("cf.insert")),
    ("CF.INSERTNX n NOCREATE CAPACITY", arity("cf.insertnx")),
    ("CF.INSERT n CAPACITY many ITEMS a", Error("Bad capacity")),
    ("CF.INSERT n CAPACITY 3 ITEMS a", Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")),
    ("CF.INSERT n WORD ITEMS a", Error("Unknown argument received")),
    ("CF.INSERT n NOCREATE ITEMS a", Error("ERR not found")),
    ("CF.INSERTNX n NOCREATE ITEMS a", Error("ERR not found")),
    ("CF.INSERT string ITEMS a", Error(WRONGTYPE)),
    ("CF.INSERTNX string ITEMS a", Error(WRONGTYPE)),
    ("CF.INSERT string CAPACITY x ITEMS a", Error("Bad capacity")),  # before the key
    ("CF.INSERT n CAPACITY 1073741825 ITEMS a",
     Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")),
    ("CF.INSERT n CAPACITY 100 CAPACITY x ITEMS a", Error("Bad capacity")),
    ("CF.INSERT n n i a", Error("ERR not found")),
    ("EXISTS n", 0),
    ("CF.INSERT n CAPACITY 5000 ITEMS a b a", [T, T, T]),
    ("CF.INSERTNX n ITEMS a c", [0, 1]),
    ("CF.INSERTNX n ITEMS ITEMS c ITEMS", [1, 0, 0]),
    ("CF.DEL n ITEMS", T),
    ("CF.COMPACT n", b"OK"),
    ("CF.INSERT letters2 cap 64 c 4 it a ITEMS", [T, T]),  # the last capacity counts
    ("CF.DEBUG letters2", b"bktsize:2 buckets:2 items:2 deletes:0 filters:1 max_iterations:20 expansion:1"),
    ("CF.DEBUG n", b"bktsize:2 buckets:4096 items:4 deletes:0 filters:1 max_iterations:20 expansion:1"),
    # CF.EXISTS, CF.MEXISTS, CF.COUNT
    ("CF.EXISTS n", arity("cf.exists")),
    ("CF.MEXISTS n", arity("cf.mexists")),
    ("CF.COUNT n", arity("cf.count")),
    ("CF.EXISTS n a", T),
    ("CF.EXISTS n other", F),
    ("CF.MEXISTS n a other c", [T, F, T]),
    ("CF.COUNT n a", 2),
    ("CF.COUNT n other", 0),
    ("CF.EXISTS none a", F),
    ("CF.EXISTS string a", F),
    ("CF.MEXISTS none a b", [F, F]),
    ("CF.MEXISTS string a b", [F, F]),
    ("CF.COUNT none a", 0),
    ("CF.COUNT string a", 0),
    ("CF.EXISTS k a", F),
    ("CF.MEXISTS k a a", [F, F]),
    ("CF.COUNT k a", 0),
    ("CF.MEXISTS n a a other a", [T, T, F, T]),
    ("BF.EXISTS n a", F),
    ("BF.MEXISTS n a", [F]),
    # CF.DEL, CF.COMPACT
    ("CF.DEL n", arity("cf.del")),
    ("CF.DEL n a", T),
    ("CF.DEL n other", F),
    ("CF.DEL none a", Error("Not found")),
    ("CF.DEL string a", Error("Not found")),
    ("CF.DEL k a", Error("Not found")),
    ("CF.INFO n", {"Size": 56 + 16 + 8192, "Number of buckets": 4096, "Number of filters": 1,
                   "Number of items inserted": 3, "Number of items deleted": 1, "Bucket size": 2,
                   "Expansion rate": 1, "Max iterations": 20}),
    ("CF.COMPACT n", b"OK"),
    ("CF.DEBUG n", b"bktsize:2 buckets:4096 items:3 deletes:0 filters:1 max_iterations:20 expansion:1"),
    ("CF.COMPACT none", Error("Cuckoo filter was not found")),
    ("CF.COMPACT string", Error("Cuckoo filter was not found")),
    ("CF.COMPACT k", Error("Cuckoo filter was not found")),
    # CF.INFO, CF.DEBUG
    ("CF.INFO", arity("cf.info")),
    ("CF.INFO none", Error("ERR not found")),
    ("CF.INFO string", Error(WRONGTYPE)),
    ("CF.DEBUG none", Error("ERR not found")),
    ("CF.DEBUG k", Error(WRONGTYPE)),
    # CF.SCANDUMP, CF.LOADCHUNK
    ("CF.SCANDUMP n", arity("cf.scandump")),
    ("CF.SCANDUMP n x", Error("Invalid position")),
    ("CF.SCANDUMP n -1", Error("Invalid position")),
    ("CF.SCANDUMP n 9223372036854775808", Error("Invalid position")),
    ("CF.SCANDUMP none x", Error("Invalid position")),  # before the key
    ("CF.SCANDUMP none 0", Error("ERR not found")),
    ("CF.SCANDUMP string 0", Error(WRONGTYPE)),
    ("CF.SCANDUMP n 8193", [0, None]),
    ("CF.SCANDUMP n 9223372036854775807", [0, None]),
    ("CF.RESERVE empty 100", b"OK"),
    ("CF.SCANDUMP empty 0", [0, None]),
    ("CF.LOADCHUNK n 1", arity("cf.loadchunk")),
    ("CF.LOADCHUNK n x data", Error("Invalid position")),
    ("CF.LOADCHUNK n 0 data", Error("Invalid position")),
    ("CF.LOADCHUNK n -1 data", Error("Couldn't load chunk!")),
    ("CF.LOADCHUNK none -1 data", Error("ERR not found")),
    ("CF.LOADCHUNK string x data", Error("Invalid position")),  # before the key
    ("CF.LOADCHUNK n 1 data", Error("ERR item exists")),
    ("CF.LOADCHUNK none 1 data", Error("Invalid header")),
    ("CF.LOADCHUNK none 1 " + 38 * "x", Error("Couldn't create filter!")),
    ("CF.LOADCHUNK none 2 data", Error("ERR not found")),
    ("CF.LOADCHUNK string 1 data", Error(WRONGTYPE)),
    ("CF.LOADCHUNK string 2 data", Error(WRONGTYPE)),
    ("CF.LOADCHUNK k 1 data", Error(WRONGTYPE)),
    ("BF.LOADCHUNK n 1 data", Error(WRONGTYPE)),
    ("CF.LOADCHUNK n 2 data", Error("Couldn't load chunk!")),
    ("CF.LOADCHUNK n 9000 data", Error("Couldn't load chunk!")),
    ("CF.LOADCHUNK n 9223372036854775807 data", Error("Couldn't load chunk!")),
    ("EXISTS none", 0),
    ("TYPE n", b"MBbloomCF"),
    ("BF.ADD n a", Error(WRONGTYPE)),
    ("BF.CARD n", Error(WRONGTYPE)),
    ("BF.INFO n", Error(WRONGTYPE)),
    ("BF.DEBUG n", Error(WRONGTYPE)),
    ("BF.SCANDUMP n 0", Error(WRONGTYPE)),
    ("CF.INFO k", Error(WRONGTYPE)),
    ("CF.SCANDUMP k 0", Error(WRONGTYPE)),
    ("CF.INSERT k ITEMS a", Error(WRONGTYPE)),
]


def test_replies(server):
    check_table(server, TABLE)


# What `COMMAND DOCS` says, and the reference of the module.
SYNTAX = """
BF.RESERVE key error_rate capacity [EXPANSION expansion] [NONSCALING] [KIND kind]
BF.ADD key item
BF.MADD key item...
BF.INSERT key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] [KIND kind] ITEMS item...
BF.EXISTS key item
BF.MEXISTS key item...
BF.CARD key
BF.INFO key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION|RATE|LIVERATE|FILL|SATURATION|KIND]
BF.DEBUG key
BF.SCANDUMP key iterator
BF.LOADCHUNK key iterator data
CF.RESERVE key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]
CF.ADD key item
CF.ADDNX key item
CF.INSERT key [CAPACITY capacity] [NOCREATE] ITEMS item...
CF.INSERTNX key [CAPACITY capacity] [NOCREATE] ITEMS item...
CF.EXISTS key item
CF.MEXISTS key item...
CF.COUNT key item
CF.DEL key item
CF.COMPACT key
CF.INFO key
CF.DEBUG key
CF.SCANDUMP key iterator
CF.LOADCHUNK key iterator data
""".split("\n")[1:-1]
LONGEST = {"BF.RESERVE": 7}  # arguments without KIND, the name included; the others have none, or no options
WRITES = ("RESERVE", "ADD", "MADD", "INSERT", "ADDNX", "INSERTNX", "LOADCHUNK", "DEL", "COMPACT")


def rows_of(pairs):
    return dict(zip(pairs[::2], pairs[1::2]))


def syntax_of(argument):
    """An argument of COMMAND DOCS as one writes it."""
    row = rows_of(argument)
    if row[b"type"] == b"oneof":
        text = b"|".join(syntax_of(choice).encode() for choice in row[b"arguments"])
    elif row[b"type"] == b"pure-token":
        text = row[b"token"]
    else:
        text = row.get(b"token", b"") + (b" " if b"token" in row else b"") + row[b"name"]
    flags = row.get(b"flags", [])
    text += b"..." if b"multiple" in flags else b""
    return f"[{text.decode()}]" if b"optional" in flags else text.decode()


def documented(call):
    """The lines of the commands as the server has them, in alphabetical order, and the docs of each."""
    names = sorted(call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf"))
    docs = call("COMMAND", "DOCS", *names)
    docs = {name.decode().upper(): rows_of(row) for name, row in zip(docs[::2], docs[1::2])}
    lines = [" ".join([name, *map(syntax_of, row[b"arguments"])]) for name, row in sorted(docs.items())]
    return lines, docs


def test_documentation(server):
    """COMMAND INFO and COMMAND DOCS have what the table of commands has, and what a command accepts."""
    call = server.call
    same("name", rows_of(call("MODULE", "LIST")[0])[b"name"], b"bf")  # clients look for it
    lines, docs = documented(call)
    ours = [line for line in lines if line.split()[0] in {known.split()[0] for known in SYNTAX}]
    same("syntax", ours, sorted(SYNTAX))
    for line in ours:
        name, *words = line.split()
        row = docs[name]
        kind = name.split(".")[1]
        info = call("COMMAND", "INFO", name)[0]
        is_options = "[" in line or "..." in line
        needed = 1 + len(re.sub(r"\[[^]]*\]", "", " ".join(words)).split())
        same(f"{name}: arity", info[1], -needed if is_options else needed)
        longest = LONGEST.get(name, 3 if name == "BF.INFO" else None if is_options else needed)
        for count in {needed - 1, longest + 1 if longest else needed - 1}:  # too few, too many
            same(f"{name} with {count} words", call(name, *["x"] * (count - 1)), arity(name.lower()))
        is_write = kind in WRITES
        flags = set(info[2])
        same(f"{name}: flags", (b"write" in flags, b"readonly" in flags, b"denyoom" in flags),
             (is_write, not is_write, is_write and kind not in ("DEL", "COMPACT")))
        same(f"{name}: positions of keys", info[3:6], [1, 1, 1])
        spec = rows_of(info[8][0])
        same(f"{name}: flags of the key", set(spec[b"flags"]), {b"RO", b"access"} if not is_write else
             {b"RW", {"DEL": b"delete", "COMPACT": b"update", "LOADCHUNK": b"update"}.get(kind, b"insert")})
        same(f"{name}: keys", call("COMMAND", "GETKEYS", name, *["x"] * max(needed - 1, 1)), [b"x"])
        same(f"{name}: since", row[b"since"], b"2.4.4" if name == "BF.CARD" else b"1.0.0")
        is_true(f"{name}: complexity", row[b"complexity"].startswith(b"O("))
        is_true(f"{name}: summary", (b"cuckoo filter" if name.startswith("CF.") else b"Bloom filter") in row[b"summary"])
        same(f"{name}: group", row[b"group"], b"module")
    types = {rows_of(argument)[b"name"]: rows_of(argument)[b"type"] for name in docs for argument in docs[name][b"arguments"]}
    same("types", [types[name] for name in (b"key", b"item", b"error_rate", b"error", b"capacity", b"iterator", b"items")],
         [b"key", b"string", b"double", b"double", b"integer", b"integer", b"pure-token"])


def test_reference(server):
    """The tables of the reference have each command once, as COMMAND DOCS says it."""
    with open(os.path.join(os.environ["TAMIS_SOURCE_DIR"], "docs/guide/redis-module-reference.md"), encoding="utf-8") as file:
        cells = [line.split(" | ")[0][2:] for line in file if line.startswith("| `")]
    written = [part.strip("`").replace("\\|", "|") for cell in cells for part in cell.split("`, `")]
    written = [line for line in written if re.match(r"[A-Z]+\.[A-Z]+ key", line)]
    same("reference", sorted(written), documented(server.call)[0])


def test_rights(server):
    """Rights of users: to read, to write and to add follow from the flags of commands and keys."""
    call = server.call
    call("ACL", "SETUSER", "reader", "on", "nopass", "%R~*", "+@all")
    call("ACL", "SETUSER", "writer", "on", "nopass", "%W~*", "+@all")
    call("BF.ADD", "k", "a")
    call("CF.ADD", "c", "a")
    reads = ("BF.EXISTS k a", "BF.MEXISTS k a", "BF.CARD k", "BF.INFO k", "BF.DEBUG k", "BF.SCANDUMP k 0", "CF.EXISTS c a",
             "CF.MEXISTS c a", "CF.COUNT c a", "CF.INFO c", "CF.DEBUG c", "CF.SCANDUMP c 0")
    writes = ("BF.ADD k a", "BF.MADD k a", "BF.INSERT k ITEMS a", "BF.RESERVE k2 0.1 10", "CF.ADD c a", "CF.ADDNX c a",
              "CF.INSERT c ITEMS a", "CF.INSERTNX c ITEMS a", "CF.RESERVE c2 10", "CF.DEL c a", "CF.COMPACT c",
              "CF.LOADCHUNK c3 1 x", "BF.LOADCHUNK k3 1 x")
    for user, allowed in (("reader", reads), ("writer", writes)):
        client = Client(server.path)
        client("AUTH", user, "")
        for command in reads + writes:
            got = client(*command.split())
            refused = isinstance(got, Error) and got.args[0].startswith("NOPERM")
            same(f"{user}: {command}: {got!r}: refused", refused, command not in allowed)
    call("ACL", "DELUSER", "reader", "writer")


def test_scripts(server):
    """Replies in scripts and transactions. A watched key that changed stops a transaction."""
    call = server.call
    same("script", call("EVAL", "return {redis.call('BF.ADD', KEYS[1], 'a'), redis.call('BF.EXISTS', KEYS[1], 'b')}", 1, "k"), [1, 0])
    same("script", call("EVAL", "redis.setresp(3); return redis.call('CF.ADDNX', KEYS[1], 'a') == true and 7 or 8", 1, "c"), 7)
    same("error", call("EVAL", "return redis.pcall('BF.ADD', 'string').err", 0), b"ERR Wrong number of args calling Redis command from script")
    other = Client(server.path)
    for name in ("BF.ADD k b", "CF.ADD c b", "CF.DEL c b"):
        call("WATCH", "k", "c")
        other(*name.split())
        call("MULTI")
        call("BF.MADD", "k", "x", "y")
        same(name, call("EXEC"), None)
    call("WATCH", "k", "c")
    other("BF.EXISTS", "k", "b")
    other("CF.COUNT", "c", "b")
    call("MULTI")
    same("queued", [call("BF.MADD", "k", "x", "y"), call("CF.INSERT", "c", "ITEMS", "x"), call("BF.CARD", "k")], 3 * [b"QUEUED"])
    same("transaction", call("EXEC"), [[1, 1], [1], 4])


TESTS = (test_replies, test_documentation, test_reference, test_rights, test_scripts)
