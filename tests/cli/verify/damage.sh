# SPDX-License-Identifier: BSD-2-Clause
# Damaged blocks are found and named, for any damaged byte; whole files are reported as such.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
try() {
    tamis verify "$@"
    echo "$*: $?"
}
tamis gen words 1000 > keys
printf '%s' 0123456789abcdef > secret
tamis build -o a.tamis --kind classic --expect 200000 --fpr 1e-3 keys
tamis build -o b.tamis --kind fingerprint --expect 2000 --fpr 1e-6 --secret-file secret keys
try a.tamis b.tamis
cp a.tamis one.tamis
flip one.tamis 4096
cp a.tamis two.tamis
flip two.tamis 69632
flip two.tamis 300000
cp a.tamis header.tamis
flip header.tamis 90
cp a.tamis magic.tamis
flip magic.tamis 0
head -c -1 a.tamis > cut.tamis
cp a.tamis sums.tamis
flip sums.tamis $(($(stat -c %s sums.tamis) - 1))
try one.tamis
try a.tamis two.tamis
try header.tamis sums.tamis cut.tamis
try magic.tamis
try -q two.tamis
try -q a.tamis
try --json a.tamis two.tamis
# The exit status of an error takes precedence over that of damage.
try two.tamis nowhere
try nowhere two.tamis .
try
try -q --json a.tamis
# The table of a keyed filter, changed at any byte.
echo
for offset in 0 8 20 100 200 255 4095 4096 5000 $(($(stat -c %s b.tamis) - 1)); do
    cp b.tamis c.tamis
    flip c.tamis $offset
    tamis verify -q c.tamis 2> err
    echo -n "$offset $? "
done
