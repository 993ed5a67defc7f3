# SPDX-License-Identifier: BSD-2-Clause
# A file is replaced as a whole and keeps its permissions; no temporary file is left.
printf 'a\nb\na\n' > in
printf 'old\n' > old
chmod 640 old
tamis dedup -o old in
umask 027
tamis dedup --output=new in
cat old new
stat -c '%a %n' old new
ls -A
