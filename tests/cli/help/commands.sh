# SPDX-License-Identifier: BSD-2-Clause
# --help, -h and help VERB are the same; every option stands there; no line is too wide.
for verb in dedup gen plan help; do
    tamis $verb --help > text
    tamis help $verb | cmp - text
    tamis $verb -h --nonsense | cmp - text
    head -n 1 text
    grep -v '^  \$' text | awk 'length($0) > 80'
done
