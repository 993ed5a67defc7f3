# SPDX-License-Identifier: BSD-2-Clause
# What status refuses before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka "$@" && echo "not refused: $*"; }
required=(--brokers localhost:9 --group g --from in)
try status
try status more
try status --brokers localhost:9 --group g
try status "${required[@]}" --to out
try status "${required[@]}" --until-end
try status "${required[@]}" --window 1h
try status "${required[@]}" --stats
try status "${required[@]}" -X group.id=x
try status "${required[@]}" --config none
try dedup "${required[@]}" --to out --json
try count "${required[@]}" --to redis://localhost:9 --count total --json
true
