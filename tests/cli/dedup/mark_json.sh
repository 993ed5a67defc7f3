# SPDX-License-Identifier: BSD-2-Clause
# In JSON records the answer is added as the last member.
cat > in << 'END'
{"id":1}
{"id":1, "x":[] }
{}
{"id":2}
[1]
{"id":2
END
tamis dedup --key json:/id --mark --on-error pass -q in
echo named; tamis dedup --key json:/id '--mark=se"en' --on-error skip --missing drop -q in
echo other parts beside it; tamis dedup --key json:/id --key bytes:1-1 --mark -q --on-error skip in
echo a byte order mark; printf '\357\273\277{"id":1}\n' | tamis dedup --key json:/id --key bytes:1-1 --mark | od -An -c
