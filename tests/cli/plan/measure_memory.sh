# SPDX-License-Identifier: BSD-2-Clause
# ctest: not-sanitized
# Out of memory is an error in one line.
(
    ulimit -v 300000
    tamis plan --measure --expect 1e6 --kind classic --bits-per-key 4096 --probes 4
    echo "status $?"
)
tamis plan --measure --expect 1000 > /dev/full
echo "status $?"
