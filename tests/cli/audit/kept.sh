# SPDX-License-Identifier: BSD-2-Clause
# Every kind keeps its promise and its keys, with keys of several shapes.
printf '%s' 0123456789abcdef > secret
tamis gen words 1000 > words
tamis gen urls 1000 > urls
tamis gen clicks 1000 > clicks
audit() {
    tamis audit --queries 30000 "$@"
    echo "$?"
}
for keys in words urls clicks; do
    tamis build -o a.tamis --kind blocked --expect 1000 --fpr 1e-2 $keys
    audit a.tamis $keys
done
tamis build -o a.tamis --kind classic --expect 1000 --fpr 1e-2 --secret-file secret words
audit --secret-file secret a.tamis words
tamis build -o a.tamis --kind fingerprint --expect 1000 --fpr 1e-6 words
audit a.tamis
tamis build -o a.tamis --kind exact --expect 1000 words
audit --json a.tamis words
# The same seed gives the same result, another seed another one.
tamis build -o a.tamis --kind blocked --expect 1000 --fpr 1e-2 words
tamis audit --queries 30000 a.tamis > one
tamis audit --queries 30000 --seed 0 a.tamis | cmp - one
tamis audit --queries 30000 --seed 1 a.tamis | cmp -s - one || echo another
