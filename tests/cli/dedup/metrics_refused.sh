# SPDX-License-Identifier: BSD-2-Clause
# --metrics: targets that are refused, before anything is written.
echo a > in
echo kept > m
for options in '-' 'in' 'once' 'again' 'seen/m' 'missing/m' 'in/m' '.' '65536' '192.0.2.1:80' 'host.invalid:80'; do
    tamis dedup --state seen --duplicates again --metrics "$options" in -o once
    echo "status $?"
done
tamis dedup --filter f.tamis --metrics f.tamis in -o once
echo "status $?"
ls
