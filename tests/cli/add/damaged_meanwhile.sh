# SPDX-License-Identifier: BSD-2-Clause
# A filter file is truncated while records are added: repeating the command would not help, and the message
# says what does.
echo a | tamis build -o f.tamis
mkfifo in
tamis add f.tamis in &
exec 3> in
echo b >&3
sleep 0.3
: > f.tamis
exec 3>&-
wait $!
echo "status $?"
stat -c %s f.tamis
