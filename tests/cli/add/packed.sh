# SPDX-License-Identifier: BSD-2-Clause
# Filters in any compression are read, and add, clear and dedup keep it; new files are plain or gzip.
seq 1000 > in
tamis build -o f.tamis --kind blocked --expect 2000 in
for program in gzip zstd lz4 xz bzip2; do
    command -v $program > /dev/null || { echo "skipped: no $program" >&2; exit 77; }
    $program -qc f.tamis > g.tamis
    tamis info --json g.tamis | grep -o '"compression": [^,]*'
    tamis check -c g.tamis in
    tamis verify -q g.tamis && tamis diff -q g.tamis f.tamis || echo differs
    echo one | tamis add g.tamis && echo two | tamis dedup --filter g.tamis
    $program -qdc < g.tamis > plain.tamis && printf '%s\n' one two | tamis check -c plain.tamis
    tamis copy -o copy.tamis g.tamis && cmp copy.tamis plain.tamis
    tamis copy --gzip -o copy.tamis g.tamis && gzip -dc < copy.tamis | cmp - plain.tamis
    tamis merge -o both.tamis g.tamis f.tamis && tamis info --json both.tamis | grep -o '"compression": [^,]*'
    tamis clear g.tamis && $program -qdc < g.tamis | cmp -s - plain.tamis || echo cleared
done
