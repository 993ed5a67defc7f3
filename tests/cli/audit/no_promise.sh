# SPDX-License-Identifier: BSD-2-Clause
# A Guava file with one probe per key was made for some minimum number of keys or more: the output says what
# is unknown.
printf '\1\1\0\0\0\4%032d' 0 | tr 0 '\0' > one.guava
tamis gen words 100 > keys
tamis info one.guava
tamis add one.guava keys
tamis add --json one.guava keys 2>&1 | grep -o '"capacity.*'
tamis audit one.guava keys
echo "$?"
tamis audit --json one.guava
tamis info one.guava | grep -E 'keys|rate|saturated'
tamis info --json one.guava
tamis copy -o ours.tamis --format tamis one.guava
tamis info ours.tamis | grep -E 'capacity|promised'
echo new | tamis audit one.guava - 2> /dev/null || echo missing
