# SPDX-License-Identifier: BSD-2-Clause
# --metrics: targets that are refused, before anything is written.
echo a > in
echo kept > m
for options in '-' 'in' 'once' 'again' 'seen/m' 'missing/m' 'in/m' '.' '65536' '192.0.2.1:80' 'host.invalid:80' \
    '127.0.0.1:abc' 'host:' 'host:99999' '::1:9134' '::1' '[::1]' '[::1]9134' '[]:9134' '[::1]:x' '[::1' ':'; do
    tamis dedup --state seen --duplicates again --metrics "$options" in -o once
    echo "status $?"
done
tamis dedup --filter f.tamis --metrics f.tamis in -o once
echo "status $?"
ls
