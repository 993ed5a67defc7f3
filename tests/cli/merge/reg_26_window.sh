# SPDX-License-Identifier: BSD-2-Clause
# A window has no unions, with filters of any kind: that is said, and nothing about --frozen.
seq 10 > in
tamis build -o f.tamis in
tamis dedup -q -o none --window 1h --filter w.tamis in
tamis merge -o m.tamis w.tamis f.tamis; echo "status $?"
tamis merge -o m.tamis f.tamis w.tamis; echo "status $?"
tamis build -o frozen.tamis --kind fingerprint --frozen --expect 10 in
tamis merge -o m.tamis frozen.tamis f.tamis; echo "status $?"
