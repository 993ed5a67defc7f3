# SPDX-License-Identifier: BSD-2-Clause
# A filter of DCSO's bloom remembers what was printed: its 64-bit digest suffices for the rate that it
# promises.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file seen.bloom
printf '%s\n' foo new bar new > in
tamis dedup --filter seen.bloom in
tamis dedup --filter seen.bloom --scheme fnv-dcso in
printf '%s\n' foo new other | tamis check seen.bloom
tamis info seen.bloom | grep format
tamis build -o none.bloom --format dcso --expect 1000 /dev/null
gzip none.bloom
seq 500 > ids
tamis dedup --filter none.bloom.gz ids | cmp - ids
tamis dedup --filter none.bloom.gz ids
