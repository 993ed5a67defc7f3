# SPDX-License-Identifier: BSD-2-Clause
# A missing key is always reported, whatever the rate is.
tamis gen words 1000 > keys
tamis build -o a.tamis --kind blocked --expect 1000 --fpr 1e-3 keys
{ head -n 499 keys; printf 'never\033added\n'; cat keys; } > more
audit() {
    tamis audit --queries 1000 "$@"
    echo "$?"
}
audit a.tamis more
tamis clear a.tamis
audit a.tamis keys
audit --json a.tamis - < keys
