# SPDX-License-Identifier: BSD-2-Clause
# Contradicting or insufficient options are refused; the message names them.
try() {
    tamis plan "$@" > out
    echo "$? $*: $(grep -c '^choice' out)"
}
try --probes 8
try --bits-per-key 9 --fpr 1%
try --bits-per-key 20 --probes 1 --fpr 1%
try --bits-per-key 10 --kind blocked
try --bits-per-key 10 --measure
try --probes 8 --kind fingerprint --expect 1M
try --probes 8 --kind exact --expect 1M
try --expect 1M --fpr 1e-9 --bits-per-key 20
try --expect 1M --fpr 1e-9 --bits-per-key 20 --kind classic
try --expect 1M --bits-per-key 1
try --expect 1M --bits-per-key 10 --memory 1MiB
try --memory 4MiB --bits-per-key 10 --fpr 1e-9
try --memory 1 --bits-per-key 10
try --memory 1EiB --bits-per-key 10
try --expect 1M --probes 120
try --expect 1M --fpr 1e-9 --probes 1 --memory 4MiB
try --expect 1M --fpr 1e-9 --probes 1 --kind blocked
try --expect 1M --probes 256
try --expect 1M --bits-per-key 0
try --expect -5
try --expect 1M --bits-per-key -3
try --expect 5M --fpr 0.5 --memory 10
try --expect 5M --fpr 0.5 --bits-per-key 1
try --expect 1M --memory 100KiB
try --expect 1M --memory 4MiB --kind exact
