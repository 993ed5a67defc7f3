# SPDX-License-Identifier: BSD-2-Clause
# The kind is fingerprint, which grows, with --memory and with an --expect that the input cannot hold too.
kind() { tamis info --json "$1" | grep -o '"kind": "[a-z]*"'; }
seq 1000 > few
seq 2000 > more
tamis build --memory 100K -o memory.tamis few
kind memory.tamis
tamis add memory.tamis more && tamis check -c memory.tamis more
tamis build --memory 100K -o memory.tamis < <(cat few)
kind memory.tamis
# Where --memory is too little for that kind, a message says so; --frozen asks for no more.
seq 20000 > many
tamis build --memory 72K -o little.tamis many
kind little.tamis
tamis build -q --memory 72K -o little.tamis many
tamis build --memory 72K --frozen -o little.tamis many
# An --expect that is only a guess.
for fpr in 0.01 1e-6; do
    tamis build --fpr $fpr --expect 1e9 -o file.tamis few
    tamis build --fpr $fpr --expect 1e9 -o input.tamis < few
    { read -r _; tamis build --fpr $fpr --expect 1e9 -o rest.tamis; } < few
    tamis build --fpr $fpr --expect 1e9 -o mixed.tamis few - < few
    tamis build --fpr $fpr --expect 1e9 -o pipe.tamis < <(cat few)
    gzip -c few > few.gz
    tamis build --fpr $fpr --expect 1e9 -o gzip.tamis - < few.gz
    for name in file input rest mixed pipe gzip; do
        kind $name.tamis
        [ "$(stat -c %s $name.tamis)" -lt 4000000 ] || ls -l $name.tamis
        [ $name = rest ] || tamis check -c $name.tamis few
    done
done
# One that the input can hold is not a guess.
tamis build --fpr 0.01 --expect 1000 -o blocked.tamis few
kind blocked.tamis
