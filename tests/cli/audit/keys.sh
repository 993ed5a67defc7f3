# SPDX-License-Identifier: BSD-2-Clause
# Keys of any bytes and length, from a file or a pipe; a last one without its newline; shapes with few keys or
# one.
audit() {
    tamis audit --queries 5000 --json "$@" | grep -oE '"(queries|keys|missing|verdict)": [^,}]*' | tr '\n' ' '
    echo "${PIPESTATUS[0]}"
}
{ head -c 300000 /dev/zero | tr '\0' x; printf '\n\0\n\377\376\r\n\n'; printf 'caf\303\251\nlast'; } > any
tamis build -o a.tamis --kind fingerprint --expect 1000 --fpr 1e-6 any
audit a.tamis any
audit a.tamis - < any
tr '\n' '\0' < any > zero
audit -z a.tamis zero
seq 0 999 > numbers
tamis build -o a.tamis --kind fingerprint --expect 1000 --fpr 1e-6 numbers
audit a.tamis numbers
echo > nothing
tamis build -o a.tamis --kind fingerprint --expect 1000 --fpr 1e-6 nothing
audit a.tamis nothing
: > empty
audit a.tamis empty
printf -- '--\n' > dashes
tamis build -o a.tamis --kind fingerprint --expect 1000 --fpr 1e-6 dashes
audit a.tamis dashes
