# SPDX-License-Identifier: BSD-2-Clause
# With --state the counts of each file are those of the whole run, whichever process made them.
counts() { # OPTIONS...
    tamis dedup --key json:/k -q --stats --json "$@" 2>&1 | grep "^{" |
        python3 -c 'import json, sys
for f in json.load(sys.stdin)["files"]: print(*f.values())'
}
printf '{"k": %s}\n' 1 2 2 > a
printf '{"k": %s}\n' 2 3 oops 4 > b
counts --state seen -o once --on-error skip a b
echo 'nothing new'
counts --state seen -o once --on-error skip a b
echo 'one has grown'
echo '{"k": 3}' >> b
counts --state seen -o once --on-error skip a b
echo 'another run: one is read on, one is new'
printf '{"k": %s}\n' 5 5 > c
echo '{"k": 6}' >> a
counts --state seen -o once a c
echo 'an error in the second file, then the rest'
seq -f '{"k": %.0f}' 1 30000 > d
{ seq -f '{"k": %.0f}' 20000 59999; echo oops; seq -f '{"k": %.0f}' 60000 60009; } > e
tamis dedup --state other -o some --key json:/k --commit-every 64KiB d e
sed -i 's/oops/{"k": 1}/' e
tamis dedup --state other -o some --key json:/k d e 2>&1 | sed 's/after [0-9,]*/after some/'
counts --state other -o some d e
echo 'an error in the second of two followed files'
printf '{"k": %s}\n' 1 2 > f
printf '{"k": %s}\n' 3 1 > g
echo oops >> g
counts --state followed -o from-two --follow-input f g
