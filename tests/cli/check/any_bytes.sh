# SPDX-License-Identifier: BSD-2-Clause
# Records of any bytes, by newline and by NUL.
for round in 1 2 3; do head -c 20000 /dev/urandom; echo; done > in
tamis build -o f.tamis in && tamis check f.tamis in | cmp - in
tamis build -z -o g.tamis in && tamis check -z g.tamis in | cmp - in
printf 'a\r\nb\n' | tamis build -o h.tamis && printf 'a\na\r\nb\r\n' | tamis check h.tamis | od -An -c
