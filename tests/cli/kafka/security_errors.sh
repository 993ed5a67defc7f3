# SPDX-License-Identifier: BSD-2-Clause
# Settings of SASL that are not complete.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka dedup --brokers localhost:9 --group g --from in --to out "$@" && echo "not refused: $*"; }
try -X security.protocol=sasl_ssl
try -X security.protocol=SASL_SSL -X sasl.username=u -X sasl.password=p
try -X security.protocol=sasl_plaintext -X sasl.mechanism=PLAIN -X sasl.password=p
try -X security.protocol=sasl_plaintext -X sasl.mechanisms=SCRAM-SHA-512 -X sasl.username=u
try -X sasl.mechanism=PLAIN -X sasl.username=u -X sasl.password=p
try -X security.protocol=ssl -X sasl.username=u
printf '%s\n' security.protocol=sasl_ssl sasl.username=u sasl.password=p > config
try --config config
printf '%s\n' '# TLS' security.protocol=ssl sasl.mechanism=PLAIN > config
try --config config
tamis kafka status --brokers localhost:9 --group g --from in -X security.protocol=sasl_ssl && echo "not refused: status"
true
