# SPDX-License-Identifier: BSD-2-Clause
# What is refused of windows and of the file of --config, before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka dedup --brokers localhost:9 --group g --from in --to out "$@" && echo "not refused: $*"; }
try --step 1h
try --time json:/ts
try --late drop
try --window 24h --kind exact
try --window 24h --exact
try --window 24h --step 25h
try --window 24h --lateness 5h
try --window 24h --fpr 1e-18
try --window 24h --time csv:name
try --window 24h --time json:ts
try --window 24h --key kafka:key --time field:0
try --window 0
try --config none
try --config .
printf 'a=b\n\n # comment\nnonsense\n' > config
try --config config
printf 'acks=1' > config
try --config config
printf ' fetch.min.bytes = many \r\n' > config
try --config config
try --config config -X fetch.min.bytes=more
try --config config -X acks=1 -X fetch.min.bytes=1
printf 'fetch.min.bytes=1\nfetch.min.bytes=many' > config
try --config config
printf 'acks=\0' > config
try --config config
head -c 70000 /dev/zero | tr '\0' '\n' > config
try --config config
try --metrics -
try --metrics localhost
true
