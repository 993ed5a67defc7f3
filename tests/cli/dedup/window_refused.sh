# SPDX-License-Identifier: BSD-2-Clause
# Options of windows that are wrong, or need others.
for options in '--step 1h' '--time field:1' '--refresh' '--window 1h --late drop' '--window 1h --ahead 5s' \
    '--window 1h --lateness 5s' '--window 0' '--window 1x' '--window 60000d' '--window 1h --step 2h' \
    '--window 24h --step 10s --time field:1' '--window 1h --step 1m --time field:1 --lateness 5m' \
    '--window 1h --kind blocked' '--window 1h --exact' '--window 1h --type int64' \
    '--window 1h --time nothing' '--window 1h --fpr 1e-20'; do
    # shellcheck disable=SC2086
    tamis dedup $options - < /dev/null
    echo "exit $?"
done
echo 'a wrong --time, or a wrong --position, leaves no record, whatever --on-error says'
printf '%s\n' '{"t": 1, "k": 1}' '{"t": 2, "k": 2}' > records
tamis dedup --window 1h --time json:/time --key json:/k --on-error skip records
echo "status $?"
printf 'p0 1 a\np0 2 b\n' > delivered
tamis dedup --state positions --source field:1 --position field:2 --key field:3 --on-error skip delivered -o out
echo "status $?"
tamis dedup --state positions2 --source field:1 --position field:2 --delimiter space --on-error skip delivered -o out
echo "status $?"
