# SPDX-License-Identifier: BSD-2-Clause
# A refusal names the file that went to another output, not the one whose output is the one given.
seq 3 > c.log && seq 4 6 > b.log
tamis dedup --state st b.log -o out2 && tamis dedup --state st c.log -o out
tamis dedup --state st c.log b.log -o out; echo "exit $?"
tamis dedup --state st b.log c.log -o out2; echo "exit $?"
