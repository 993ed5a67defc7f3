# SPDX-License-Identifier: BSD-2-Clause
# The manual pages have no errors, and say what the tables say.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs mandoc
make_manual
{ echo tamis.1; verbs | sed 's/.*/tamis-&.1/'; } | sort | diff - <(cd man && printf '%s\n' *)
mandoc -Tlint -W warning man/*.1
# Every option and every example, as the help has them.
for verb in $(verbs); do
    options "$verb" | grep -oE '^--[a-z-]+' |
        diff - <(section "$verb" "     The options are as follows" | grep -oE '^ {5}(-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--.*' | sort)
    examples "$verb" | diff - <(text "$verb" | sed -n '/^EXAMPLES/,/^SEE/s/^ \{11\}\([^ ]\)/\1/p')
done
# Every member of --json is in the manual, and no other. tests/cli/redis/json_members.sh does the same with a
# server.
tamis gen words 5 > words
tamis dedup --profile --json words words 2> summary > /dev/null && tamis dedup --json --state once -o once.log words 2>> summary
members < summary | diff - <(documented dedup)
tamis build -o words.tamis words words --json 2>&1 | members | diff - <(documented build)
tamis check words.tamis words words --json 2>&1 > /dev/null | members | diff - <(documented check)
tamis plan --json | members > written
tamis plan --expect 1e6 --json | members >> written
tamis plan --bits-per-key 10 --json | members >> written
tamis plan --store redis --expect 1e6 --json | members >> written
tamis plan --window 24h --json | members >> written
tamis plan --kafka --window 24h --rate 1/s --partitions 1 --json | members >> written
tamis plan --table --json | members >> written
tamis plan --measure --expect 1000 --fpr 10% --json | members >> written
sort -u written | diff - <(documented plan)
tamis gen words 5 > keys && tamis build -o keys.tamis keys
for verb in info verify; do tamis $verb --json keys.tamis | members | diff - <(documented $verb); done
tamis diff --json keys.tamis keys.tamis | members | diff - <(documented diff)
tamis audit --queries 10 --json keys.tamis | members | diff - <(documented audit)
seq 5 | sed 's/.*/{"id": &, "source": "a", "offset": &}/' > messages
tamis dedup --state state --exact -o out --key json:/id --source json:/source --position json:/offset messages
echo 5 > forgotten
{ tamis state show --json state && tamis state verify --json state && tamis state forget --json state --keys forgotten; } | members |
    diff - <(documented state)
printf '%s\n' 'listen: 127.0.0.1:0' 'keyspaces:' '  - {keys: "a*", row: "SELECT ?1", database: {sqlite: memory}}' > serve.yaml
(until grep -q serving log.json; do sleep 0.02; done; kill "$(cat pid)") 2> /dev/null &
if tamis serve --check serve.yaml > /dev/null 2>&1; then
    sh -c 'echo $$ > pid; exec tamis serve --json serve.yaml 2> log.json' && members < log.json | diff - <(documented serve)
fi
# Every scheme there is has its line in the manual of hash.
section hash SCHEMES | grep -oE '^ {5}[a-z][a-z0-9-]*( |$)' | tr -d ' ' > schemes
tamis hash --scheme '' 2>&1 | sed 's/.*auto, //; s/, \| or /\n/g' | diff - schemes && wc -l < schemes
section dedup FILES | tr -s ' \n' ' ' | grep -oE 'NAME.tamis-PID-RANDOM|SIGKILL and SIGQUIT'
section dedup NOTES | tr -s ' \n' ' ' | grep -oE 'hard links are not kept|larger than about 5e-8|aim records at the filter'
for page in man/*.1; do mandoc -Tutf8 "$page" | sed 's,.\x08,,g' | grep -qE '^ {5}141 ' || echo "$page: no 141"; done
