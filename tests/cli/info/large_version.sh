# SPDX-License-Identifier: BSD-2-Clause
# A version of all 64 bits is printed as it is, in JSON too.
echo a > in
for version in 9223372036854775808 0xffffffffffffffff; do
    tamis build -o f.tamis --data-version $version in
    tamis info f.tamis | grep version
    tamis info --json f.tamis | grep -o '"version": [^,]*'
done
