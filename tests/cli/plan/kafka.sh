# SPDX-License-Identifier: BSD-2-Clause
# The plan of tamis kafka dedup, with and without a window; what does not fit to it is refused.
tamis --version | grep -q rdkafka || exit 77
tamis plan --kafka --rate 12k/s --window 24h --partitions 64 --hosts 4
tamis plan --kafka --rate 1G/d --window 24h --step 30m --lateness 1h --fpr 1e-6 --partitions 64 --commit-every 100ms
tamis plan --kafka --rate 3/h --window 1h --expect 2 --partitions 1
tamis plan --kafka --expect 10M --partitions 1
tamis plan --kafka --expect 4M --partitions 4 --fpr 1e-6
tamis plan --kafka --expect 1e12 --partitions 8192 --hosts 300 --kind exact
tamis plan --kafka --rate 720k/m --window 1d --partitions 64 --json
tamis plan --kafka --expect 10M --rate 1k/s --partitions 4 --json
try() { tamis plan "$@" && echo "not refused: $*"; }
try --kafka --expect 10M
try --kafka --partitions 4
try --kafka --partitions 4 --rate 12k/s
try --kafka --partitions 4 --window 24h
try --kafka --partitions 4 --window 24h --rate 12k
try --kafka --partitions 4 --window 24h --rate 12k/
try --kafka --partitions 4 --window 24h --rate 12k/ms
try --kafka --partitions 4 --window 24h --rate 12k/x
try --kafka --partitions 4 --window 24h --rate /s
try --kafka --partitions 4 --window 24h --rate 0/s
try --kafka --partitions 4 --window 24h --rate 999T/s
try --kafka --partitions 4 --window 24h --rate 1/s --kind exact
try --kafka --partitions 4 --window 24h --rate 1/s --step 25h
try --kafka --partitions 4 --expect 1M --step 1h
try --kafka --partitions 4 --expect 1M --memory 1G
try --kafka --partitions 4 --expect 1M --table
try --kafka --partitions 0 --expect 1M
try --hosts 4
try --rate 1/s --window 24h
