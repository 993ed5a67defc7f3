# SPDX-License-Identifier: BSD-2-Clause
# A filter that is cut short in place while records are added: running again would not help, and the remedy says so.
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
