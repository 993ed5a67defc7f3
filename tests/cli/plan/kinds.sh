# SPDX-License-Identifier: BSD-2-Clause
# --kind plans the one asked for.
for kind in classic blocked fingerprint exact; do
    tamis plan --expect 10M --fpr 0.1% --kind $kind | grep -oE '^(\* |choice +)[a-z]+'
done
