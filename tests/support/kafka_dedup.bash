# SPDX-License-Identifier: BSD-2-Clause
# Runs of `tamis kafka dedup`, and what they must have written. Source after random.bash and kafka.bash. Records go from
# topic in to the topics out and again; $work/all has all that were produced. With $suffix, names of the group, of topics
# and of that file end in it.
RANDOM=$((seed % 32768))
tab=$'\t'

fail() {
    echo "failed: $*"
    tail -n 3 "$work"/err* 2> /dev/null || true
    kill -KILL $(jobs -p) 2> /dev/null || true # members; the broker is one of them
    exit 1
}
step() { echo "$SECONDS s: $*"; }

# dedup INSTANCE OPTION...: becomes a member. $dedup_options has further options of all of them. With kafka_cluster.bash, a
# relay is between it and each broker.
key=kafka:key dedup_options=() suffix=''
dedup() {
    local instance=$1
    shift
    exec tamis kafka dedup --brokers "${kafka_relayed-$kafka_brokers}" --group once$suffix --from in$suffix --to out$suffix \
        --duplicates-to again$suffix \
        --key "$key" --commit-every 100ms --instance "$instance" -X session.timeout.ms=2000 \
        -X heartbeat.interval.ms=500 "${dedup_options[@]}" "$@"
}
# start INSTANCE: sets $member
start() {
    dedup "$1" 2>> "$work/err.$1" &
    member=$!
}
# killed PID: kill -9, and waits until it is gone
killed() {
    kill -KILL "$1" 2> /dev/null || fail "a member has ended by itself"
    wait "$1" 2> /dev/null || true
}
# drain INSTANCE OPTION...: reads the rest, and ends the transaction that this member has left open
drain() {
    (dedup "$@" --until-end --stats) 2> "$work/err.drain" || fail "the rest is not read"
}

# Each record once, and those of a partition in their order, also while brokers are away.
producer() { # becomes kcat
    exec kcat -b "$kafka_brokers" -P -t in$suffix -K "$tab" -X partitioner=murmur2_random -X enable.idempotence=true 2> "$work/err.kcat"
}
produce() { (producer); }
# read_topic TOPIC: committed records, as "key<tab>value"
read_topic() { kcat -b "$kafka_brokers" -C -t "$1" -o beginning -e -q -K "$tab" -X isolation.level=read_committed; }

# records FIRST COUNT: about 30 % of them have the key of an earlier one; every value is another one.
records() {
    awk -v first="$1" -v count="$2" -v seed="$seed" 'BEGIN {
        srand(seed + first)
        for (i = first; i < first + count; i++) {
            key = i > 0 && rand() < 0.3 ? int(rand() * i) : i
            printf "key-%d\tvalue-%d\n", key, i
        }
    }'
}
# slowly PARTS SECONDS: passes its input on in parts
slowly() {
    split -n "l/$1" --filter="cat; sleep $2" -
}

# compare OUT AGAIN: every input record is once in both outputs, and the first one of each key in OUT. $work/all has the
# input in the order in which it was produced.
compare() {
    cut -f 1 "$work/all$suffix" | sort -u > "$work/keys"
    sort "$work/all$suffix" > "$work/expected"
    sort "$1" "$2" | cmp -s "$work/expected" - || return 1
    awk -F "$tab" '!seen[$1]++' "$work/all$suffix" | sort > "$work/expected"
    sort "$1" | cmp -s "$work/expected" -
}
check_outputs() {
    local try
    for try in 1 2 3 4 5; do # the last transaction is committed, but its markers may not be in every partition yet
        read_topic out$suffix > "$work/out"
        read_topic again$suffix > "$work/again"
        ! compare "$work/out" "$work/again" || return 0
        sleep 1
    done
    fail "$1: input $(wc -l < "$work/all$suffix"), keys $(wc -l < "$work/keys"), output $(wc -l < "$work/out")," \
        "different keys in it $(cut -f 1 "$work/out" | sort -u | wc -l), duplicates $(wc -l < "$work/again")"
}
# check_chain: the state has no gaps, and the records that are needed have as many hashes as there are keys. If all are needed,
# it begins at 0.
check_chain() {
    kafka_ops chain once$suffix.in$suffix.tamis-state > "$work/chain"
    awk -v keys="$(wc -l < "$work/keys")" '
        FNR == NR { needed[$1] = $6; next }
        ($1 in to || needed[$1] == 0) && $3 != to[$1] + 0 { print "gap in the state: " $0; bad = 1 }
        { to[$1] = $4 }
        $2 >= needed[$1] { hashes += $5 }
        END { if (hashes != keys) { print hashes " hashes of " keys " keys"; bad = 1 }; exit bad }' \
        "$work/chain" "$work/chain" || fail "the state is wrong"
}
create_topics() {
    local topic
    for topic in in out again; do
        kafka_ops create $topic$suffix 4
    done
}
start_broker() {
    kafka_start
    create_topics
}
