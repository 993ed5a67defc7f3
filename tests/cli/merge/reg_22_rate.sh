# SPDX-License-Identifier: BSD-2-Clause
# The union does not claim a better rate than it has; the message names a frozen filter at any position in the
# list.
seq 20000 > a
seq 20001 40000 > b
seq 40001 60000 > c
for name in a b c; do tamis build -o $name.tamis $name; done
tamis merge -o all.tamis a.tamis b.tamis c.tamis
tamis info all.tamis | grep -oE 'promised rate [^ ]*'
cat a b c | tamis check -c all.tamis
tamis build --frozen -o frozen.tamis c
tamis merge -o none.tamis frozen.tamis a.tamis b.tamis
echo "status $?"
tamis merge -o all.tamis a.tamis frozen.tamis && cat a c | tamis check -c all.tamis
