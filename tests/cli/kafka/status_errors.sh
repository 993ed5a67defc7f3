# SPDX-License-Identifier: BSD-2-Clause
# What status refuses before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka "$@" && echo "not refused: $*"; }
all=(--brokers localhost:9 --group g --from in)
try status
try status more
try status --brokers localhost:9 --group g
try status "${all[@]}" --to out
try status "${all[@]}" --until-end
try status "${all[@]}" --window 1h
try status "${all[@]}" --stats
try status "${all[@]}" -X group.id=x
try status "${all[@]}" --config none
try dedup "${all[@]}" --to out --json
try count "${all[@]}" --to redis://localhost:9 --count total --json
true
