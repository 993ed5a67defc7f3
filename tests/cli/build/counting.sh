# SPDX-License-Identifier: BSD-2-Clause
# Kind counting: records are counted as often as they come, from a file as from a pipe; merge adds; wrong uses are refused.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
{ seq 1 900; seq 1 100; } > keys
seq 2000 40000 > others
options='--kind counting --fpr 1% --expect 1000'
tamis build $options -o file.tamis keys
tamis build $options -o pipe.tamis < <(cat keys)
tamis diff file.tamis pipe.tamis && tamis verify file.tamis
tamis check -c file.tamis keys
tamis check -c file.tamis others | awk '{ print $1 < 38001 / 100 + 5 * sqrt(38001 / 100) }'
tamis info file.tamis | timeless
tamis info --json file.tamis | grep -oE '"(kind|bits|fill|counters_saturated)": [^,]*'
tamis build --kind counting --fpr 1% -o counted.tamis keys && tamis build --kind counting --fpr 1% -o piped.tamis < <(cat keys)
for f in counted piped; do tamis info $f.tamis | grep -oE 'of its counters.*|[0-9]+ were new.*'; done
head -n 900 keys | tamis build $options -o once.tamis
tamis diff file.tamis once.tamis
for i in 1 2 3 4 5 6 7 8; do echo again; done | tamis build $options -o more.tamis
tamis merge -o both.tamis file.tamis more.tamis more.tamis && tamis info both.tamis | grep fill && tamis check -v both.tamis keys
tamis add both.tamis keys && tamis diff both.tamis file.tamis | tail -n 3
tamis audit --queries 1e5 file.tamis | grep -E 'promised|verdict|kept'
head -n 100 keys > hundred; tamis remove file.tamis hundred; tamis check -c file.tamis keys; tamis remove file.tamis hundred; tamis check -c file.tamis hundred
tamis clear both.tamis && tamis check -c both.tamis keys
tamis plan --expect 1e6 --fpr 1e-3 --kind counting | tail -n 3
tamis build --kind counting -o f.tamis --expect 1000 --fpr 1e-9 keys
tamis build --kind counting -o f.tamis --expect 800 --fpr 1% keys
tamis build --kind counting -o f.tamis --scheme bkdr63 --expect 800 --fpr 1% keys
tamis build --kind counting -o f.bloom --format guava --expect 1000 keys
tamis build --kind counting -o redis://localhost/f --expect 1000 keys
tamis dedup --filter file.tamis keys
tamis dedup --kind counting --expect 1000 keys
tamis dedup --state s --filter file.tamis keys
tamis merge -o f.tamis file.tamis counted.tamis
head -c 5000 file.tamis > cut.tamis && tamis check cut.tamis keys
ls -A
