#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: torture
# Removes one guard of layout 2 at a time: the model must find the violation that it prevents. ctest:
# not-sanitized ctest: timeout=600
. "$(dirname "$0")/run.bash"

finds I2_live_partition_removed "a switch that checks, stops, and writes" -DA1=$BUILD -DB1=$BUILD -DF_SWITCH
finds I1_command_changed_the_plan_twice "a switch that is sent again and has no guard" \
    -DA1=$BUILD -DB1=$BUILD -DLOCK_ENDS=0 -DFAULTS=1 -DF_RESENT
finds I1_plan_changed_by_an_ended_command "a drop's HDEL that is sent again" \
    -DA1=$BUILD -DB1=$DROP -DLOCK_ENDS=0 -DFAULTS=1 -DF_DROP_RESENT
finds I1_acknowledged_key_reads_absent "a chunk sent again after the switch" \
    -DA1=$BUILD -DADDS=1 -DFAULTS=1 -DLOCK_ENDS=0 -DF_CHUNK -DLEAKS=0
finds I1_acknowledged_key_reads_absent "a late footer after an eviction" \
    -DA1=$CREATE -DEMPTY=1 -DADDS=1 -DEVICT=1 -DFAULTS=1 -DF_FOOTER -DLEAKS=0
finds I1_lock_of_another_removed "a release by GET, then DEL" -DA1=$BUILD -DB1=$BUILD -DF_RELEASE
finds I2_plan_without_its_partitions "a lock requested again with the same token" \
    -DA1=$BUILD -DB1=$BUILD -DFAULTS=1 -DF_TOKEN
finds I4_expiry_undone "expire beside a build, by plain commands" -DA1=$EXPIRE -DB1=$BUILD -DF_EXPIRE
finds I2_plan_without_its_partitions "own partitions deleted while the switch may still arrive" \
    -DA1=$BUILD -DFAULTS=1 -DLOCK_ENDS=0 -DF_DELOWN
finds I2_plan_whose_partitions_expire "the old partitions retired before the switch is read back" \
    -DA1=$BUILD -DFAULTS=1 -DLOCK_ENDS=0 -DF_RETIRE
finds I2_plan_without_its_partitions "leftovers deleted without proof that they were read under the lock" \
    -DA1=$BUILD -DB1=$BUILD -DF_NO_FENCE_BEFORE_DELETE
finds I1_acknowledged_key_reads_absent "a build: a seal that says nothing of the content, and a failover" \
    -DA1=$BUILD -DFAILOVER=2 -DF_SEAL
finds I1_acknowledged_key_reads_absent "a resize: the same" -DA1=$RESIZE -DFAILOVER=2 -DF_SEAL
finds I2_plan_whose_partitions_expire "an expire that lost its lock, and reads the stamp again" \
    -DA1=$EXPIRE -DB1=$PERSIST -DF_STAMP
finds I3_leak_without_a_record "a persist that stops half way when the filter expires" \
    -DA1=$PERSIST -DTTL=1 -DEXPIRES=1 -DF_HALF
finds I4_failed_but_changed "a build that calls a plan of another its own failure" \
    -DA1=$BUILD -DB1=$BUILD -DFAULTS=1 -DF_OUTCOME
finds I3_copy_outlives_the_hash "a switch that leaves the expiry of the copy out" -DA1=$BUILD -DTTL=1 -DEXPIRES=1 -DF_TTL
finds I1_acknowledged_key_reads_absent "a creation that does not look at the copy, after the hash vanished" \
    -DA1=$BUILD -DB1=$CREATE -DEVICT_HASH=1 -DF_COPY
finds I1_acknowledged_key_reads_absent "a creation that does not look for partitions, after hash and copy vanished" \
    -DA1=$CREATE -DEVICT_HASH=2 -DLEAKS=0 -DF_SCAN
finds I1_acknowledged_key_reads_absent "an adder that finds no plan and lets whole partitions expire, and a creation" \
    -DA1=$CREATE -DADDS=1 -DEVICT_HASH=2 -DLEAKS=0 -DF_GRACE
finds I4_creation_refused_after_a_drop "a creation that reads the records after the partitions, beside a drop" \
    -DA1=$DROP -DB1=$CREATE -DF_SCAN_ORDER
finds I3_leak_without_a_record "a drop that does not look at the copy, after the hash vanished" \
    -DA1=$BUILD -DB1=$DROP -DEVICT_HASH=1 -DF_COPY_LEAK
finds I3_leak_without_a_record "a build that does not release its lock, and leaves what it replaced" \
    -DA1=$BUILD -DB1=$EXPIRE -DFAULTS=1 -DEXPIRES=1 -DF_UNRELEASED
finds I3_leak_without_a_record "a resize that deletes before it takes next away" -DA1=$RESIZE -DADDS=1 -DF_ORDER
finds I1_acknowledged_key_reads_absent "next without the number of its sending, and a failover" \
    -DA1=$RESIZE -DADDS=1 -DFAILOVER=1 -DFAULTS=1 -DF_NEXT
finds I2_plan_whose_partitions_expire "partitions of next whose expiry is renewed by a plain PEXPIRE" \
    -DA1=$RESIZE -DA2=$PERSIST -DTTL=1 -DADDS=1 -DRENEWS=1 -DFAULTS=1 -DLOCK_ENDS=0 -DF_RENEW_NEXT
if [ "${TAMIS_TEST_SCALE-}" = torture ]; then
    finds I3_leak_without_a_record "partitions retired by a plain PEXPIRE" \
        -DA1=$PERSIST -DB1=$BUILD -DB2=$BUILD -DFAULTS=1 -DF_RETIRE_PLAIN
fi
exit $((errors != 0))
