# SPDX-License-Identifier: BSD-2-Clause
# The closest one is named.
try() {
    tamis "$@"
    echo "$*: $?"
}
try
try dedupe
try DEDUP
try plam
try --verison
try ''
