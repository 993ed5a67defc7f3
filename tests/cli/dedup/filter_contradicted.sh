# SPDX-License-Identifier: BSD-2-Clause
# Options for making a filter that exists already: the same ones are accepted silently, however often;
# contradicting ones are refused, and those that come too late are named.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
head -c 32 /dev/zero > secret
echo a > in
for kind in classic blocked fingerprint exact auto; do
    for plan in '--fpr 0.1%' '--fpr 1e-9 --seed 7' '--scheme sip --secret-file secret' '--memory 1GiB'; do
        case $kind$plan in 'exact--fpr'*) continue ;; esac
        for expect in '--expect 1e6' ''; do
            case $kind$expect in classic | blocked) continue ;; esac
            first=$(tamis dedup --filter f.tamis --kind $kind $plan $expect in)
            [ "$first" = a ] && [ -z "$(tamis dedup --filter f.tamis --kind $kind $plan $expect in)" ] ||
                echo "$kind $plan $expect"
            rm f.tamis
        done
    done
done
tamis dedup --filter f.tamis --kind classic --expect 100 --fpr 1e-3 --seed 5 in
cp f.tamis before
try() {
    tamis dedup --filter f.tamis "$@" in
    echo "$*: $?"
    cmp f.tamis before
}
try --kind blocked --expect 100
try --exact
try --scheme sip --secret-file secret
try --scheme guava64
try --seed 6
try --fpr 1e-4
try --kind classic --fpr 0.1% --seed 0x5
echo b > in
tamis dedup --filter f.tamis --expect 200 --memory 1MiB in
tamis dedup --filter f.tamis --expect 200 in
tamis dedup --filter f.tamis --expect 200 --memory 1MiB -q in
tamis dedup --filter f.tamis --expect 100 in
tamis dedup --filter f.tamis --kind classic -q in && echo same
tamis dedup --filter e.tamis --exact in
tamis dedup --filter e.tamis --fpr 1e-3 in
guava_file g
tamis dedup --filter g --fpr 1e-3 --seed 1 in
tamis dedup --filter g --fpr 1e-3 in
tamis build -q -o poor.tamis --kind classic --scheme bkdr31 in
tamis dedup --filter poor.tamis in
echo "$?"
