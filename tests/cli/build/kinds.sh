# SPDX-License-Identifier: BSD-2-Clause
# Every kind and scheme keeps its promise: all added keys are present, and of other keys at most the rate plus
# 5 standard deviations. The published bkdr schemes cannot keep a rate: they only lose no record.
tamis gen words 20000 --seed 1 | sort -u > in
tamis gen words 60000 --seed 2 | sort -u | comm -13 in - > out
head -c 40 /dev/zero | tr '\0' s > secret
try() {
    tamis build -o f.tamis --fpr 1e-3 "$@" in || return
    secret=$(printf '%s\n' "$@" | grep secret)
    tamis check -v f.tamis $secret in | head -n 3
    tamis check -c f.tamis $secret out |
        awk -v n="$(wc -l < out)" -v what="$*" '$1 > n / 1000 + 5 * sqrt(n / 1000) { print what, $1, "of", n }'
}
for kind in classic blocked fingerprint exact; do
    [ $kind = exact ] || try --kind $kind
    [ $kind = exact ] || try --kind $kind --expect 30000
    [ $kind = exact ] || try --kind $kind --secret-file=secret
done
try --seed 77
for scheme in guava64 guava32 redisbloom fnv-dcso; do try --kind classic --scheme $scheme; done
for scheme in bkdr31 bkdr63; do tamis build -o f.tamis --scheme $scheme in && tamis check -v f.tamis in; done
tamis build -o f.tamis --exact in && tamis check -c f.tamis out
true
