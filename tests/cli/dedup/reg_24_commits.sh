# SPDX-License-Identifier: BSD-2-Clause
# --commits never writes into a file of the run, and a record that a killed consumer cut off is not answered.
run() { "$@"; echo "exit $?"; }
fed() { run tamis dedup --state st --source field:1 --position field:2 --key field:3 --delimiter space "$@"; }
echo 'a closed descriptor must not become the log of the state'
for fd in 3 5 7 /dev/fd/7; do
    (exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-; echo 'p0 0 a' | fed -o once --commits $fd)
done
echo 'p0 0 a' | fed -o once --commits 6 6< /dev/null
ls
echo 'p0 0 a' > in
ln in link
for options in '-o once --commits once' '-o once --commits ./st/acks' '-o - --commits -' '-o - --commits 1' \
    '-o once --duplicates twice --commits twice' '-o once --commits in' '-o once --commits link'; do
    # shellcheck disable=SC2086
    fed $options in
done
ls
fed -o once --commits - in
fed -o in2 --commits ./in2 in
fed -o once --commits 6 in 6>> once
echo 'a record that was cut off'
printf 'p0 1 b half-of-the-pay' | fed -o once --commits acks
printf 'p0 1 b half-of-the-payload\np0 1' | fed -o once --commits acks
printf 'p0 12 c\n' | fed -o once --commits acks
cat once acks
