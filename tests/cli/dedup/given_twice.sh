# SPDX-License-Identifier: BSD-2-Clause
# Options of which only one value can count are refused when they are given twice; of others the last value
# counts.
for options in '--follow-input --files *.log --files *.txt' '--state st --source field:1 --source field:2' \
    '--state st --source field:1 --position field:2 --position field:2' '--window 1h --window=2h' \
    '--window 1h --time field:1 --time field:2'; do
    # shellcheck disable=SC2086
    set -f -- $options
    tamis dedup "$@" < /dev/null
    echo "exit $?"
done
ls
printf 'a 1\nb 1\n' | tamis dedup --fpr 1e-3 --fpr 1e-6 --delimiter , --delimiter space --key field:2 --step 1s --step 2s --window 1m
echo "exit $?"
