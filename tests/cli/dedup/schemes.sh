# SPDX-License-Identifier: BSD-2-Clause
# Each scheme gives the same output; schemes differ only in the records that they would confuse.
tamis gen words 50000 --seed 9 > in
head -c 32 /dev/zero > secret
tamis dedup in > expected
tamis dedup --scheme xxh3 in | cmp expected -
tamis dedup --scheme xxh3 --seed 0xfedcba9876543210 in | cmp expected -
tamis dedup --seed 18446744073709551615 in | cmp expected -
tamis dedup --scheme guava64 in | cmp expected -
tamis dedup --scheme guava64 --kind classic --expect 50000 in | cmp expected -
tamis dedup --secret-file secret in | cmp expected -
tamis dedup --scheme sip --secret-file secret in | cmp expected -
tamis dedup --scheme sip --secret-file <(cat secret) in | cmp expected -
