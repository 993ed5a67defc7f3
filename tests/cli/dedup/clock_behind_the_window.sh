# SPDX-License-Identifier: BSD-2-Clause
# A window by the clock, whose newest time is in the future: a remark says that no key expires until then.
echo '2100-01-01T00:00:00Z a' > future
tamis dedup --window 1h --time bytes:1-20 --filter window.tamis future
echo b | tamis dedup --window 1h --filter window.tamis
echo b | tamis dedup --window 1h --filter window.tamis -q
echo c | tamis dedup --window 1h --state state -o once
echo c | tamis dedup --window 1h --state state -o once
cat once
