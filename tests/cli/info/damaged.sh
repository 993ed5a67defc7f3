# SPDX-License-Identifier: BSD-2-Clause
# For a damaged file the header is described, without the statistics from its bits.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
tamis gen words 1000 > keys
tamis build -o a.tamis --kind classic --expect 2000 --fpr 1e-3 keys
flip a.tamis 5000
tamis info a.tamis | timeless
tamis info --json a.tamis | timeless
flip a.tamis 5000
tamis info a.tamis | tail -n 1
flip a.tamis 100
tamis info a.tamis
echo "$?"
