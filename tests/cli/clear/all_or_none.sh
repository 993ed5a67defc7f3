# SPDX-License-Identifier: BSD-2-Clause
# All filters are looked at before the first is cleared: where one of the names is none's, all keep their
# keys.
tamis gen words 400 > keys
for i in a b; do tamis build -o $i.tamis --kind classic --expect 1000 --fpr 1e-3 keys; done
cp a.tamis was
try() {
    tamis clear --lock-wait 0 "$@"
    echo "$*: $? $(cmp -s a.tamis was && echo 'as it was' || tamis check -c a.tamis keys)"
    cp was a.tamis
}
try a.tamis keys
try keys a.tamis
try a.tamis b.tamis nowhere
try a.tamis -
tamis check -c b.tamis keys
# What another process holds cannot be cleared.
exec 8> .b.tamis.tamis-lock
flock 8
echo 123 >&8
try a.tamis b.tamis
exec 8>&-
# One that is named twice is cleared.
try a.tamis a.tamis ./a.tamis
try a.tamis b.tamis
tamis info b.tamis | grep "keys  "
