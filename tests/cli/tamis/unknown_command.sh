# SPDX-License-Identifier: BSD-2-Clause
# A slip is answered with what was meant, another word with all there is.
try() {
    tamis "$@"
    echo "$*: $?"
}
try
try dedupe
try DEDUP
try plam
try frobnicate
try ge
try ''
try --verison
try version
try hlepp
try --frobnicate
try -v
try help frobnicate
try help version
tamis --vers | head -c 6
tamis --he | cmp - <(tamis --help)
