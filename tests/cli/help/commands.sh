# SPDX-License-Identifier: BSD-2-Clause
# --help, -h and help VERB are the same for every command; no line but an example's is too wide.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
verbs > found
for known in dedup gen plan help; do grep -qx $known found || echo "verbs does not find $known"; done
for verb in $(verbs); do
    tamis "$verb" --help > text
    tamis help "$verb" | cmp - text
    tamis "$verb" -h --nonsense | cmp - text
    grep -q "^usage: tamis $verb \[OPTION...\]" text || head -n 1 text
    grep -v '^  \$' text | awk 'length($0) > 80'
done
