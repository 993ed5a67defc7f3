# SPDX-License-Identifier: BSD-2-Clause
# --source and --position: records that are delivered again are dropped; a source that was created again is
# refused.
run() { "$@"; echo "exit $?"; }
fed() { tamis dedup --state st --source field:1 --position field:2 --key field:3 --delimiter space -o once "$@"; }
printf '%s\n' 'c0 0 a' 'c0 1 b' 'c1 4 a' 'c0 2 a' 'c1 9 c' > delivered
cat delivered | fed --commits 3 3> acks; cat once acks
echo again
sed -n 2,5p delivered | cat - <(printf '%s\n' 'c1 10 d' 'c0 3 b' 'c0 5 e') | run fed --commits more --stats 2>&1 | grep -E 'exit|records |redelivered' | tr -s ' '
cat once more
echo without a key
printf '%s\n' 'c2 1' 'c2 2 f' 'c2 1' | fed --missing pass --exactly-once --json 2>&1 | grep -o '"redelivered": .'
printf '%s\n' 'c2 1' 'c2 3' | fed --missing pass
tail -n 3 once
echo created again
echo 'c0 0 z' | run fed
echo 'c0 5 z' | run fed
echo 'c1 3 a' | run fed
echo malformed
printf '%s\n' 'c0' 'c0 x a' 'c0 9223372036854775808 a' 'c0 6 g' | run fed --on-error skip
echo 'c0 -1 a' | run fed
seq 2100 | sed 's/.*/s& 1 k&/' | run fed -q
tail -n 1 once
echo options
for options in '--source field:1' '--position field:2' '--commits acks' '--source field:1 --position field:2' \
    '--state st --source field:0 --position field:2' '--state st --source regex:(.)(.) --position field:2' \
    '--state st --key field:3 --source field:1 --position field:2' \
    '--state st --key field:3 --delimiter space --source field:1 --position field:2 --commits no/where' \
    '--state st --key field:3 --delimiter space --source field:1 --position field:2 --commits 77'; do
    # shellcheck disable=SC2086
    run tamis dedup $options - < /dev/null
done
run tamis dedup --state st --key field:3 --delimiter space delivered -o once
# What cannot be acknowledged ends the run; it is committed all the same.
echo 'c0 7 h' | run fed --commits /dev/full
echo 'c0 7 h' | run fed
tail -n 1 once
