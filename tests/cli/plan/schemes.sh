# SPDX-License-Identifier: BSD-2-Clause
# Sizes of other programs; schemes without a digest; hashes whose rate does not hold.
for scheme in guava64 guava32 redisbloom fnv-dcso bkdr31 bkdr63; do
    tamis plan --expect 3000 --fpr 3% --kind classic --scheme $scheme --json |
        grep -oE '"(bits|probes)": [1-9][0-9]*' | tr '\n' ' '
    echo $scheme
done
tamis plan --expect 1M --scheme fnv-dcso | grep -E '^[* ] (classic|blocked) ' | tr -s ' '
for scheme in fnv-dcso bkdr31 bkdr63; do
    tamis plan --expect 1M --scheme $scheme | grep -oE '^(choice +[a-z]+|The hashes of.*)'
done
tamis plan --expect 1M --scheme bkdr63 --kind blocked | grep -c '^\*'
tamis plan --expect 1G --scheme guava32 --kind classic | grep -c '^\*'
