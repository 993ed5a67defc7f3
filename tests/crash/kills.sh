#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=900
# ctest: disk
# dedup --state is killed at random times and started again until it ends. Its outputs must be those of an
# undisturbed run, for any kind, key, threads and compression. 12 kills, 500 by ./dev torture; two files of a
# million records, one of them compressed.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
kills_wanted=$(scaled 5 12 500)
records=$(scaled 60000 1000000 1000000)
RANDOM=$((seed % 32768))
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2

tamis gen clicks "$records" --duplicates 20% --seed 3 > all
head -n $((records * 6 / 10)) all > a.log
tail -n $((records * 4 / 10)) all | gzip -1 > b.log.gz
rm all

# High rates, so that a filter that is not restored exactly gives different answers.
kinds=('' '--fpr 1e-3' '--exact' "--kind blocked --expect $records --fpr 1e-3" "--kind classic --expect $records --fpr 1e-3"
    "--expect $records --fpr 1e-4" '--memory 2MiB --on-full pass'
    '--window 5m --time json:/ts --fpr 1e-3' '--window 30s --step 10s --time json:/ts --refresh')
keys=('' '--key json:/event_id' '--key json:/user_id')

decompress() { # FILE
    case $1 in
        *.gz) gzip -dcq "$1" ;;
        *) cat "$1" ;;
    esac
}

killed=0
while [ "$killed" -lt "$kills_wanted" ]; do
    # shellcheck disable=SC2206
    options=(${kinds[RANDOM % ${#kinds[@]}]} ${keys[RANDOM % ${#keys[@]}]})
    ending=''
    [ $((RANDOM % 2)) = 0 ] || ending=.gz
    tamis dedup "${options[@]}" --state whole a.log b.log.gz -o once --duplicates again -q || exit 1
    of_this=0
    while :; do
        tamis dedup "${options[@]}" --threads $((1 + RANDOM % 4)) --state state --commit-every 2MiB,20ms a.log b.log.gz \
            -o "once.2$ending" --duplicates "again.2$ending" -q 2>error &
        sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        case $? in
            0) break ;;
            137) of_this=$((of_this + 1)) ;;
            *)
                echo "failed after $of_this kills: ${options[*]} $ending: $(<error)"
                exit 1
                ;;
        esac
        # If the machine is too slow to reach a commit between two kills, it gets more time.
        [ $((of_this % 40)) != 0 ] || sleep 1
        if [ "$of_this" -gt 200 ]; then
            tamis dedup "${options[@]}" --state state a.log b.log.gz -o "once.2$ending" --duplicates "again.2$ending" -q || exit 1
            break
        fi
    done 2>/dev/null
    decompress "once.2$ending" | cmp - once && decompress "again.2$ending" | cmp - again && tamis state verify state >/dev/null || {
        echo "differs after $of_this kills: ${options[*]} $ending"
        exit 1
    }
    echo "$of_this kills: ${options[*]} $ending"
    killed=$((killed + of_this))
    rm -rf state whole once* again*
done
