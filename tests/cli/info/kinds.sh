# SPDX-License-Identifier: BSD-2-Clause
# The description of each kind, and of a keyed filter without its secret.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 1000 > keys
printf '%s' 0123456789abcdef > secret
tamis build -o classic.tamis --kind classic --expect 2000 --fpr 1e-3 --label source=words --label by=me --data-version 7 keys
tamis build -o blocked.tamis --kind blocked --expect 2000 --fpr 1e-3 --seed 5 keys
tamis build -o fingerprint.tamis --kind fingerprint --expect 2000 --fpr 1e-6 keys
tamis build -o exact.tamis --kind exact --expect 2000 keys
tamis build -o keyed.tamis --kind classic --expect 2000 --fpr 1e-3 --secret-file secret keys
for kind in classic blocked fingerprint exact keyed; do tamis info $kind.tamis | timeless; done
tamis info --json classic.tamis keyed.tamis | timeless
