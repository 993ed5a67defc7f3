# SPDX-License-Identifier: BSD-2-Clause
# Keys beyond the capacity of a filter: refused, or accepted with --allow-over-capacity, with a message about the rate.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
dcso_file a.bloom
guava_file b.guava
tamis build -o c.tamis --kind classic --expect 10 --fpr 0.01 /dev/null
tamis build -o d.tamis --kind blocked --expect 10 --fpr 0.01 /dev/null
printf '%s\n' {1..8} > few
printf '%s\n' {1..40} > many
for file in a.bloom b.guava c.tamis d.tamis; do
    tamis add $file few
    cp $file before
    for quiet in -q --no-progress; do
        tamis add $quiet $file many
        echo "$file: status $?"
        cmp $file before
    done
    tamis add -q --allow-over-capacity $file many
    tamis add --allow-over-capacity $file many
    tamis check -c $file many
    tamis info $file | grep -E 'saturated'
    cp $file before
    seq 100000 100999 | tamis add -q $file
    echo "$file: status $?"
    cmp $file before
    tamis add -q $file many && echo 'keys that it has are accepted'
done
echo 'with gzip'
guava_file e.guava
gzip e.guava
tamis add -q e.guava.gz many || echo 'full'
tamis add -q --allow-over-capacity e.guava.gz many && tamis check -c e.guava.gz many
seq 2000 | tamis add --allow-over-capacity a.bloom --json 2> json
grep -c '"saturated": true' json
seq 3000 | tamis add --allow-over-capacity a.bloom
echo 'a kind that keeps its rate'
tamis build -o f.tamis --kind fingerprint --expect 1000 many
tamis add --allow-over-capacity f.tamis few || echo "status $?"
