# SPDX-License-Identifier: BSD-2-Clause
# Each kind can be requested by name; exact accepts no rate.
for kind in classic blocked fingerprint; do
    tamis plan --expect 10M --fpr 0.1% --kind $kind | grep -oE '^(\* |choice +)[a-z]+'
done
tamis plan --expect 10M --kind exact | grep -oE '^(\* |choice +)[a-z]+'
tamis plan --expect 10M --kind exact --fpr 0.1%
