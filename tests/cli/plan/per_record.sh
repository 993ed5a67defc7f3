# SPDX-License-Identifier: BSD-2-Clause
# Rate, bits per record and probes need no number of records: two determine the third, bits alone the best of
# both others.
tamis plan --bits-per-key 10
for options in "--fpr 1% --bits-per-key 9.6" "--fpr 1% --bits-per-key 20" "--fpr 1e-9 --probes 4" \
    "--bits-per-key 8 --probes 5" "--bits-per-key 8 --probes 5 --fpr 3%" "--bits-per-key 0.01"; do
    # shellcheck disable=SC2086
    echo "$options:$(tamis plan $options --scheme guava64 | grep '^  classic')"
done
tamis plan --bits-per-key 20 --probes 8 --json
