# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Without memory to encode a record as a key there is an error; without a type the record can be looked up.
# ctest: not-sanitized
printf '%s\n' a b > in
tamis build -o f.tamis --type utf16 in
echo c | tamis build -o p.tamis
{ echo a; head -c 60M /dev/zero | tr '\0' x; echo; echo b; } > long
tamis check --type utf16 f.tamis long
echo "status $?"
(ulimit -v 250000 && exec tamis check --type utf16 f.tamis long)
echo "status $?"
(ulimit -v 250000 && exec tamis check -c p.tamis long)
echo "status $?"
