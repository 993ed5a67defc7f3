# SPDX-License-Identifier: BSD-2-Clause
# Inputs that cannot be read twice are counted by keeping hashes. With more keys than that the filter grows,
# and kinds that cannot grow need --expect.
tamis gen words 5000 > words
for plan in '' '--kind classic' '--kind blocked --seed 3' --exact '--scheme fnv-dcso -q' '--format guava -q' '--memory 64KiB'; do
    for kind in "$plan" "$plan --secret-file secret"; do
        case $kind in *fnv*secret | *guava*secret | *seed*secret) continue ;; esac
        head -c 32 /dev/zero > secret
        cat words words | tamis build -o a $kind --json 2> json
        tamis check -c a $([[ $kind = *secret ]] && echo --secret-file secret) words
        grep -o '"capacity": [0-9]*' json
        [[ $kind = *-file* ]] || { tamis build -o b $kind words && [ "$(stat -c %s a)" -le "$(stat -c %s b)" ] || echo large; }
    done
done
cat words | tamis build -o b.tamis --scheme bkdr31
echo "status $?"
cat words | tamis build -o b.tamis --memory 10
echo "status $?"
for n in 65000 70000; do
    tamis gen words $n --seed 5 > more
    cat more more | tamis build -o c.tamis --stats 2>&1 | grep -E '^(unique|duplicates)'
    tamis check -c c.tamis more
    tamis info c.tamis | grep capacity
    cat more | tamis build -o d.tamis --kind classic
    echo "status $?"
done
cat words | tamis build -o b.tamis --kind classic --expect 5000 && tamis check -c b.tamis words
mkfifo fifo
cat words > fifo &
tamis build -o c.tamis words fifo && tamis check -c c.tamis words
tamis build -o d.tamis --exact < /dev/null && tamis check d.tamis words
echo "status $?"
