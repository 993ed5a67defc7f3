# SPDX-License-Identifier: BSD-2-Clause
# A compressed file is not followed, however it got that name; without --follow it is read.
seq 10 | tamis build --expect 100 -o f.tamis > /dev/null
seq 3 | gzip -c > log.gz
tamis check f.tamis log.gz
timeout 60 tamis check --follow f.tamis log.gz
