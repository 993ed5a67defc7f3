# SPDX-License-Identifier: BSD-2-Clause
# Several secrets: each keyed filter uses its own. A secret that no filter uses, and a filter without its
# secret, are refused.
for i in 1 2 3; do
    printf '%s\n' all "only $i" > in$i
    echo "the secret of number $i" > key$i
    tamis build -o f$i --secret-file key$i in$i
done
tamis build -o open in1
gzip -k f2
printf '%s\n' all 'only 1' 'only 2' 'only 3' none > asked
tamis check -f f1 -f f2 -f f3 -f open --secret-file key1 --secret-file key2 --secret-file key3 asked
tamis check -f f2.gz -f f1 -f f2 --secret-file key1 --secret-file key2 asked
try() {
    tamis check "$@" asked
    echo "status $?"
}
try -f f1 -f f2 -f f3 --secret-file key1 --secret-file key2
try -f f1 -f f2 --secret-file key1
try -f f1 -f f2 --secret-file key1 --secret-file key3 --secret-file key2
try -f f1 --secret-file key1 --secret-file key1
try -f open --secret-file key1 --secret-file key2
try -f f1 --secret-file key1 --secret-file -
try -f f1 --secret-file key1 --secret-file missing
