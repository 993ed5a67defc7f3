# SPDX-License-Identifier: BSD-2-Clause
# The reader has gone: the command ends quietly by SIGPIPE, like other programs.
tamis gen words 3e6 > in
tamis dedup in | head -n 1 > first
echo "${PIPESTATUS[0]}"
tamis dedup --stats --duplicates - -o once in | true
echo "${PIPESTATUS[0]}"
wc -l < first
ls -A
