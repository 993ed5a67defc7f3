# SPDX-License-Identifier: BSD-2-Clause
# Layout redisson, compared with another program. Its command line PEER... reads requests as lines, with keys
# in hexadecimal, and prints 1 or 0 for each request and each key:
#
#     NAME init N P          makes the filter, unless it exists
#     NAME add|ask COUNT     then COUNT keys: 1 if the key was present
#     NAME delete
#
# Each program reads filters that the other made. Answers, config hash and bits must be equal. The script that
# sources this file sets the array $peer, sources random.bash and redis.bash, and starts the server.
ours=$TAMIS_INTEROP_DIR/redis_filter
die() { echo "$*"; exit 1; }
coproc PEER { exec "${peer[@]}"; }
exec 7<&"${PEER[0]}" 8>&"${PEER[1]}" # also for the subshells of pipelines

# peer NAME VERB [WORD...]: sends a request, with the keys of standard input if the verb takes keys
peer() {
    local count=1
    case $2 in
        add | ask)
            cat >"$work/asked.keys"
            count=$(wc -l <"$work/asked.keys")
            { echo "$1 $2 $count" && cat "$work/asked.keys"; } >&8 ;;
        *) echo "$*" >&8 ;;
    esac
    local line left
    for ((left = count; left > 0; left--)); do
        read -r line <&7 || kill $$
        echo "$line"
    done
}

# Prints a filter: the fields of the config, with numbers in one form, and the bits.
dump() {
    local config="{$1}:config"
    case $1 in *{*) config=$1:config ;; esac
    redis_command hmget "$config" size hashIterations expectedInsertions | tr '\n' ' '
    redis_command hget "$config" falseProbability | awk '{ printf "%.17g\n", $1 }'
    redis_command hlen "$config"
    redis_command get "$1" | od -An -v -tx1
}

# keys COUNT DIFFERENT RANDOM: keys of 0 to 70 random bytes, with repetitions
keys() {
    python3 -c '
import random, sys
count, different, extra, seed = map(int, sys.argv[1:])
random.seed(seed)
signs = [chr(c) for c in range(0x80)] + list("äßéЖ日本語😀" * 12)
keys = ["".join(random.choices(signs, k=random.randrange(40))).encode()[:70] for _ in range(different)]
keys = [key.decode(errors="ignore").encode().hex() for key in keys]
random.seed(seed + extra)
print("\n".join(random.choice(keys) for _ in range(count)))' "$@" "$seed"
}
keys "$(scaled 500 3000 30000)" 700 1 >"$work/keys"
keys "$(scaled 300 1000 10000)" 900 2 >"$work/others" # the same 700 keys and others

# compare_names NAME N P: the name as a URI has it and as it is are the same but for braces
compare_names() {
    local name=$1 uri shown="$1 $2 $3"
    uri=${name//\{/%7B}
    uri="$redis_uri/${uri//\}/%7D}?layout=redisson"
    # The other program's filter first, then one of tamis under the same name.
    [ "$(peer "$name" init "$2" "$3")" = 1 ] || die "$shown: not made"
    peer "$name" add <"$work/keys" >"$work/theirs"
    "$ours" ask "$uri" <"$work/others" >"$work/asked" || exit 1
    peer "$name" ask <"$work/others" | cmp - "$work/asked" || die "$shown: answers to questions differ"
    [ "$(sort -u "$work/asked" | tr -d '\n')" = 01 ] || die "$shown: no two answers"
    dump "$name" >"$work/dump"
    "$ours" make "$uri&expect=$2&fpr=$3" </dev/null || die "$shown: does not take what agrees"
    [ "$(peer "$name" delete)" = 1 ] || die "$shown: not deleted"
    "$ours" ask "$uri" </dev/null 2>/dev/null && die "$shown: is still there"
    "$ours" make "$uri&expect=$2&fpr=$3" <"$work/keys" | cmp - "$work/theirs" || die "$shown: answers to adds differ"
    dump "$name" | cmp - "$work/dump" || die "$shown: config or bits differ"
    peer "$name" ask <"$work/others" | cmp - "$work/asked" || die "$shown: they do not see what we wrote"
    # Each adds to the other's filter.
    peer "$name" add <"$work/others" >"$work/theirs"
    [ "$("$ours" add "$uri" <"$work/others" | sort -u)" = 1 ] || die "$shown: we do not see what they added"
    [ "$(peer "$name" init 5 0.5)" = 0 ] || die "$shown: made again"
}
compare_names seen 1000 0.01
compare_names seen2 700 0.0001
compare_names 'seen{today}' 123457 1e-06
compare_names few 500 0.4
# Bits of another filter must be noticed.
dump seen | cmp -s - "$work/dump" && die "a mistake is not noticed"
exit 0
