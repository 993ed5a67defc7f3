#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `tamis kafka dedup` in a secured cluster: with each right that docs/guide/kafka.md lists it goes a step further, and without
# it ends with an error that names the thing. Rights of transactional ids are left out, since librdkafka cannot give them.
# Then the same with TLS. ctest: peers ctest: long
set -euo pipefail
export PATH=$TAMIS_BUILD_DIR/bin:$PATH
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/kafka.bash"

fail() {
    echo "failed: $*"
    exit 1
}

# certificates DIRECTORY: an authority (ca.pem), and a broker of it (broker.pem: key and certificate); other.pem is another one.
certificates() (
    cd "$1"
    new=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -batch)
    for ca in ca other; do
        openssl req -x509 "${new[@]}" -subj /CN=$ca -keyout $ca.key -out $ca.pem
    done
    openssl req "${new[@]}" -subj /CN=broker -keyout broker.key -out broker.csr
    openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
        -extfile <(echo subjectAltName=IP:127.0.0.1) -out broker.crt
    cat broker.key broker.crt > broker.pem
)
certificates "$work" 2> "$work/err.openssl" || fail "no certificates: $(cat "$work/err.openssl")"

# Clients of the first listener may do everything, and so may those with TLS. Those of SASL_PLAINTEXT have a name and a password. What has a rule is
# closed to others; the rules for nobody close all that is used here.
kafka_extra='listeners=PLAINTEXT://127.0.0.1:@CLIENTS@,CONTROLLER://127.0.0.1:@CONTROLLER@,SASL_PLAINTEXT://127.0.0.1:@PORT@,SSL://127.0.0.1:@TLS@
advertised.listeners=PLAINTEXT://127.0.0.1:@CLIENTS@,SASL_PLAINTEXT://127.0.0.1:@PORT@,SSL://127.0.0.1:@TLS@
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL
listener.name.ssl.ssl.keystore.type=PEM
listener.name.ssl.ssl.keystore.location='$work'/broker.pem
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_tamis="sieve";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS'
kafka_start
secured=127.0.0.1:$((kafka_port + 2))
state=g.in.tamis-state
for topic in in out again; do
    kafka_ops create $topic 1
    kafka_ops allow nobody topic $topic READ
done
kafka_ops allow nobody topic $state READ
kafka_ops allow nobody group g READ
printf 'a\nb\na\n' | kcat -b "$kafka_brokers" -P -t in

printf '%s\n' '# of this test' '' 'security.protocol=sasl_plaintext' ' sasl.mechanism = PLAIN ' 'sasl.username=tamis' \
    'sasl.password=wrong' > "$work/config" # the option wins

# dedup PASSWORD OPTION...: becomes the command, which ends after $limit seconds
limit=30
dedup() {
    exec timeout "$limit" tamis kafka dedup --brokers "$secured" --group g --from in --to out --duplicates-to again \
        --window 1s --step 100ms --commit-every 100ms "${@:2}" --config "$work/config" -X "sasl.password=$1"
}
# refused PATTERN: ends with status 2 and such a message
refused() {
    local status=0
    (dedup "${2-sieve}" --until-end) 2> "$work/err" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $1: $(cat "$work/err")"
    grep -qE "^tamis: $1" "$work/err" || fail "not '$1': $(cat "$work/err")"
    ! grep -q sieve "$work/err" || fail "the password is in the message: $(cat "$work/err")"
    echo "$SECONDS s: $(tail -n 1 "$work/err")"
}
allow() { kafka_ops allow tamis "$@"; }
rights='.*; give this user the rights? '

refused '.*(uthentication|credentials).*; correct the security settings' sieves
refused "in: $rights"
allow topic in READ
refused "out: $rights"
allow topic out WRITE
refused "again: $rights"
allow topic again WRITE
refused "$state: $rights"
allow topic $state CREATE
refused "$state: $rights" # it may create it, but not know of it
allow topic $state DESCRIBE
refused "$state: $rights"
allow topic $state DESCRIBE_CONFIGS
refused "g: $rights"
allow group g READ
refused "out, again or $state: $rights" # the brokers do not say which
allow topic $state WRITE
(dedup sieve --until-end) || fail "the first run needs no more"
refused "$state: $rights" # the state is read
allow topic $state READ
(dedup sieve --until-end) || fail "with all rights but one"
[ "$(kcat -b "$kafka_brokers" -C -t out -o beginning -e -q -X isolation.level=read_committed | sort | tr '\n' ' ')" = 'a b ' ] ||
    fail "the output"
(exec timeout 30 tamis kafka status --brokers "$secured" --group g --from in --json --config "$work/config" \
    -X sasl.password=sieve) > "$work/status" || fail "the status"
grep -qE '"lag": 0, "rate": 0.0, "state_low": 0, "state_end": [1-9][0-9]*, "state_to": [1-9][0-9]*, "state_bytes": [1-9][0-9]*, "newest": 1[0-9]{12}, ' "$work/status" ||
    fail "the status: $(cat "$work/status")"
# Without the right to remove expired keys it goes on, and says so. It notices a right that comes later.
limit=120 dedup sieve 2> "$work/err" & # a request that was refused is repeated after 10 seconds
member=$!
until_said() { # PATTERN
    local i
    for ((i = 0; i < 200; i++)); do
        ! grep -q "$1" "$work/err" || return 0
        echo c | kcat -b "$kafka_brokers" -P -t in
        sleep 0.1
    done
    fail "never: $1: $(cat "$work/err")"
}
until_said 'are not removed'
allow topic $state DELETE
until_said 'are removed again'
kill -TERM $member
wait $member || [ $? = 143 ] || fail "the last run: $(cat "$work/err")"
grep -qE "^tamis: $state: its records that are not needed any more are not removed; give this user the right to delete " \
    "$work/err" || fail "no remark: $(cat "$work/err")"
grep -qxE "tamis: $state: its records that are not needed any more are removed again" "$work/err" ||
    fail "the right that came later: $(cat "$work/err")"
tamis kafka status --brokers "$kafka_brokers" --group g --from in --json > "$work/status" || fail "the status"
grep -qE '"state_low": [1-9]' "$work/status" || fail "the right that came later: $(cat "$work/status")"

# ---- TLS ---------------------------------------------------------------------------------------------------

tls() { # OPTION...: with TLS instead of a password
    timeout 30 tamis kafka dedup --brokers "127.0.0.1:$((kafka_port + 3))" --group tls --from in --to tls --until-end --stats "$@" \
        2> "$work/err"
}
tls_refused() { # PATTERN OPTION...
    local begun=$SECONDS status=0
    tls "${@:2}" || status=$?
    [ $status = 2 ] || fail "not refused (status $status): $1: $(cat "$work/err")"
    grep -qE "^tamis: $1" "$work/err" || fail "not '$1': $(cat "$work/err")"
    [ "$(grep -c '^tamis: ' "$work/err")" = 1 ] || fail "more than one message: $(cat "$work/err")"
    echo "$SECONDS s: after $((SECONDS - begun)) s: $(cat "$work/err")"
}
kafka_ops create tls 1
tls_refused '127.0.0.1:[0-9]+: .*certificate verify failed.*; correct the security settings$' -X security.protocol=ssl \
    -X ssl.ca.location="$work/other.pem"
tls_refused '.*ssl.ca.location.*; correct them$' -X security.protocol=ssl -X ssl.ca.location="$work/none.pem"
tls -X security.protocol=ssl -X ssl.ca.location="$work/ca.pem" || fail "with TLS: $(cat "$work/err")"
grep -qE '^unique +[23]$' "$work/err" || fail "with TLS: $(cat "$work/err")"
tamis kafka status --brokers "127.0.0.1:$((kafka_port + 3))" --group tls --from in -X security.protocol=ssl \
    -X ssl.ca.location="$work/ca.pem" > "$work/status" || fail "the status with TLS"
grep -qx 'lag 0 records, 0 records a second' "$work/status" || fail "the status with TLS: $(cat "$work/status")"
echo "all good"
