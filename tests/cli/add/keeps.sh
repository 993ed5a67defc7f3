# SPDX-License-Identifier: BSD-2-Clause
# The file keeps format, permissions and labels.
printf '%s\n' a b > in
tamis build -o f.tamis --expect 10 --label colour=blue in
chmod 640 f.tamis
echo c | tamis add f.tamis
stat -c %a f.tamis
grep -ao blue f.tamis
tamis build -o g --format guava --expect 10 in
echo c | tamis add g && od -An -tx1 -N2 g && echo c | tamis check g
tamis build -o d --format dcso --expect 10 in
echo c | tamis add d && od -An -tx1 -N8 d && echo c | tamis check d
