# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with what has no meaning beside it.
echo a > log
echo b > more
gzip -k log
mkfifo pipe
tamis dedup --follow-input --count log
tamis dedup --follow-input log -o out
tamis dedup --follow-input --duplicates out log
tamis dedup --follow-input log.gz
# A pipe is read to its end.
printf '%s\n' a b a | tamis dedup --follow-input
