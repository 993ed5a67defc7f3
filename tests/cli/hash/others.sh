# SPDX-License-Identifier: BSD-2-Clause
# Digests and positions that others have published or computed: the Java class over Redis (n 3000, p 3 %),
# Guava, RedisBloom's default filter after BF.ADD foo, DCSO's bloom for ten keys at 1 %, and Redisson for a
# thousand.
tamis hash --scheme guava64 --bits 21895 --probes 5 76930242 | cut -f 2-
tamis hash --scheme guava64 foo
tamis hash --scheme redisbloom --bits 1152 --probes 8 foo
tamis hash --scheme fnv-dcso --bits 95 --probes 7 foo | cut -f 2-
tamis hash --scheme fnv-dcso ''
tamis hash --scheme redisson --bits 9585 --probes 7 foo
