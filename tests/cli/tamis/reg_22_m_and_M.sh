# SPDX-License-Identifier: BSD-2-Clause
# 1m is one minute, 1M a million or a mebibyte: the message names both, and says what was understood.
try() {
    echo a | tamis "$@"
    echo "$*: $?"
}
try dedup --expect 1m
try dedup --memory 1.5m
try gen words 1m
try dedup --expect m
try redis expire redis://127.0.0.1:1/x 1M
tamis plan --expect 1M --memory 64M | head -3
