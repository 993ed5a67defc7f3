/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The exactly-once protocol of `tamis kafka dedup`, as a model for SPIN. docs/KAFKA-PROTOCOL.md has the steps, with
 * the same letters, and the proof.
 *
 * Idea. Members of a consumer group read a partition, and write each record to the output or to the duplicates. One
 * transaction carries these records, a state record with the hashes of new keys, and the offset of the group. The
 * filter of a partition is what the committed state records say. So any member can build it again from Kafka.
 *
 *                         +--> output, duplicates ---------------------> a reader of committed records
 *      input ---> member -+--> state topic: [from, to), hashes           one transaction
 *                  |      +--> offset of the group: to
 *                  |
 *                  +--> filter, in memory: the hashes of the state records below `covers`
 *
 * A member that lives keeps its filter when it loses the partition, or its producer. If the partition comes back, it
 * reads only the state records from `covers` on. A standby goes on reading while another member has the partition.
 *
 * The model tries every order of all steps of two members, the broker and the operator:
 * - A member crashes at any step, and its filter is gone.
 * - The group gives the partition to the other member at any time. The old owner does not know it: it is a zombie
 *   until it looks, and may do any of its steps before that, restoring included.
 * - KEPT: a rebalance leaves the partition where it is.
 * - A member whose filter is whole and ends at the offset of A2 may answer at once. The program does so only if it has
 *   answered the partition before (A6), and has been in the group since its last commit. So no operator can have set the offset meanwhile, and the model leaves this out with
 *   RESETS.
 * - STANDBY: a member adds state records to its filter while it has no partition, and while it restores (S).
 * - The broker aborts an open transaction that takes too long, and refuses the producer from then on.
 * - The request to commit or its answer is lost, or the producer fails while the outcome is unknown.
 * - A commit is decided first. The markers in the state topic and at the offset follow later, in any order.
 * - MERGES: a member copies the hashes of old state records into its next state record, which says from where on
 *   records are needed (M). The records before that may be cut at any later time, by any member that knows of the
 *   commit.
 * - RESETS: the operator sets the offset of the group to any other value. RETENTION: the broker, or a person, removes
 *   state records up to any offset.
 *
 * What the model leaves out, and why that hides no fault:
 * - There is one partition. Partitions share no key and no filter. A transaction that carries several commits or
 *   aborts all of them, and the group fences a member as a whole. So a member that restores one partition while it
 *   answers records of another is like two members that the group moves together. If its producer fails, both
 *   partitions go on with A2.
 * - Readers of the output come after the markers there. The order in which a reader sees them changes no set.
 * - A member restores in one step (A5), once all state records in front of its end offset are decided. Only the
 *   retention can change what it reads. The consumer notices that as an offset out of range, also in the middle. A
 *   restore that a rebalance ends early leaves a filter with a lower `covers`, like one that began earlier.
 * - A member may forget its filter only where it would use it (A4). That it did so before changes nothing else.
 * - Hashes that are copied, and those of new keys, are in one state record. In the protocol they are in several of one
 *   transaction. A filter may cover only the first ones of them, but all are decided when it does.
 * - There is one process for each transactional id. Kafka refuses requests of an older epoch at every step.
 * - Windows, and cuts of what has expired: kafka_window.pml has them.
 *
 * Properties:
 * I1. Each record comes exactly once, in the output or in the duplicates. Exactly one record of each key is
 * in the
 *     output. Both hold for every commit, as a reader of committed records sees it.
 * I2. A member whose transaction can commit never answers with a filter that lacks a committed hash.
 * I3. An abort leaves no trace: as a transaction begins, the filter has committed hashes alone, and the overlay is
 *     empty.
 * I4. No member is refused, unless the operator or the retention changed something.
 * I0 is false on purpose: its violation shows that the search gets as far as its name says.
 *
 * F_... removes a guard, see kafka_planted.sh.
 */

#ifndef CRASHES
#define CRASHES 1 /* of both members together */
#endif
#ifndef MOVES
#define MOVES 1 /* times that the group gives the partition to the other member */
#endif
#ifndef KEPT
#define KEPT 0 /* rebalances that leave the partition where it is */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0 /* transactions of living members that the broker aborts */
#endif
#ifndef LOSSES
#define LOSSES 0 /* requests to commit that are lost, or that end with an unknown outcome */
#endif
#ifndef ABORTS
#define ABORTS 0 /* errors that make a member abort its transaction and go on */
#endif
#ifndef RESETS
#define RESETS 0
#endif
#ifndef RETENTION
#define RETENTION 0 /* removals of state records */
#endif
#ifndef FIRST
#define FIRST 0 /* 1: the first transaction may have no records (T0) */
#endif
#ifndef MERGES
#define MERGES 0 /* times that a member begins to copy old hashes */
#endif
#ifndef STANDBY
#define STANDBY 0 /* 1: members without the partition keep a filter of it */
#endif
#ifndef RECORDS
#define RECORDS 3 /* in the input partition */
#endif
#ifndef BATCH
#define BATCH 2 /* records of a transaction, at most */
#endif
#ifndef LOG
#define LOG 6 /* state records, at most 6; a member that finds the topic full waits for ever */
#endif

#define BIT(i) (1 << (i))
/* Keys of the records: 1, 2, 1, 2. */
#define KEY_BIT(i) (((i) & 1) + 1)

/* Names of properties in assertions: always false. */
bool I0_end_reached_with_kept_filter, I0_end_reached_after_retention, I0_end_reached_by_standby, I0_end_reached_at_once, I0_end_reached_after_merge, I0_refused, I1_record_twice, I1_key_twice,
    I1_record_lost, I2_committed_hash_missing, I3_trace_of_an_abort, I4_refused_without_reason;

/* ---- Kafka ---- */

byte generation = 1, owner; /* of the group: owner is the member that has the partition */
byte offset; /* of the group; 0 if there is none */

/* State topic: records from `low` to `end`. A status is OPEN until the marker of its transaction is there. */
#define OPEN 0
#define COMMITTED 1
#define ABORTED 2
byte state_keys[6], state_from[6], state_to[6], state_status[6];
byte state_copies[6], state_needed[6]; /* hashes of older records; the first record that is needed from then on */
byte low, end;

/* Transaction of each member's producer. */
#define NONE 0
#define BEGUN 1
#define DECIDED 2 /* to commit; some marker is missing */
byte transaction[2];
bit decided[2]; /* the last transaction was committed */
bit fenced[2]; /* the broker refuses the producer */
byte transaction_output[2], transaction_duplicates[2]; /* sets of records */
byte transaction_log[2]; /* number of its state record, plus 1 */
bit pending[2]; /* it has an offset */
byte transaction_to[2]; /* the offset */

/* What a reader of committed records has: sets of records; their keys; and all committed hashes. */
byte output, duplicates, output_keys, hashes;

/* ---- members ---- */

#define DOWN 0 /* not running, or without a producer */
#define IDLE 1 /* without the partition */
#define OFFSET 2 /* will fetch the offset (A2) */
#define END 3 /* will fetch the end of the state topic (A3) */
#define CHOOSE 4 /* will use the filter that it kept, or an empty one (A4) */
#define READ 5 /* will read the state topic (A5, A6) */
#define RUN 6 /* answers records (T1, T2) */
#define LOGGED 7 /* the state record is written (T3) */
#define SENT 8 /* the offset is sent (T4) */
#define ASKED 9 /* the commit is requested, its outcome is not known (T5) */
#define REFUSED 10
byte phase[2];
byte member_generation[2]; /* in which it was given the partition; 0: it has no partition */
byte filter[2], overlay[2];
byte next[2]; /* record to read next */
byte filter_to[2], filter_covers[2]; /* record and state record up to which the filter has all hashes */
byte filter_low[2]; /* state record from which on it has them: the low watermark when it was empty */
byte low_seen[2], end_seen[2]; /* low watermark and end of the state topic, as A3 found them */
byte own_record[2]; /* number of the state record of the transaction, plus 1 */
bit has_chain[2]; /* a state record was read or committed since the filter was empty */
byte needed[2]; /* the highest offset that one of these records says */
byte copies[2], copies_end[2]; /* hashes for its next state record, and the record behind those that have them; 0: none */

byte crashes, moves, kept, timeouts, losses, aborts, resets, retentions, merges;
bit changed; /* the operator or the retention changed something */
#ifdef REACH
bit has_kept[2]; /* the member has restored with a filter that it kept, and read state records behind it */
bit is_warm[2]; /* the member has read a state record without having the partition */
bit is_complete[2]; /* the member has gone on at once */
#endif
hidden byte scan;
hidden byte broken;

/* ---- the broker ---- */

inline abort_transaction(m) {
    if
    :: transaction_log[m] > 0 ->
        state_status[transaction_log[m] - 1] = ABORTED;
        state_from[transaction_log[m] - 1] = 0; state_to[transaction_log[m] - 1] = 0; /* nobody reads them */
#if !defined(F_UNCOMMITTED) && !defined(F_STANDBY_UNCOMMITTED) && !defined(F_COPIES_UNCOMMITTED)
        state_keys[transaction_log[m] - 1] = 0;
#endif
        state_copies[transaction_log[m] - 1] = 0; state_needed[transaction_log[m] - 1] = 0;
    :: else
    fi;
    transaction[m] = NONE;
    clear_transaction(m)
}

inline clear_transaction(m) {
    transaction_output[m] = 0; transaction_duplicates[m] = 0; transaction_log[m] = 0;
    pending[m] = 0; transaction_to[m] = 0
}

/* The producer's first write begins a transaction. */
inline begin_transaction(m) {
    if
    :: transaction[m] == NONE -> transaction[m] = BEGUN; decided[m] = 0
    :: else
    fi
}

/* The broker decides to commit. Readers of the output see the records from now on. */
inline decide(m) {
    printf("broker: the transaction of member %d is committed: output %d, duplicates %d, offset %d\n",
        m, transaction_output[m], transaction_duplicates[m], transaction_to[m]);
    transaction[m] = DECIDED; decided[m] = 1;
    assert(I1_record_twice ||
           ((output | duplicates) & (transaction_output[m] | transaction_duplicates[m])) == 0);
    scan = 0;
    do
    :: scan < RECORDS ->
        if
        :: transaction_output[m] & BIT(scan) ->
            assert(I1_key_twice || (output_keys & KEY_BIT(scan)) == 0);
            output_keys = output_keys | KEY_BIT(scan)
        :: else
        fi;
        scan++
    :: else -> break
    od;
    output = output | transaction_output[m];
    duplicates = duplicates | transaction_duplicates[m];
    scan = 0;
    do
    :: scan < transaction_to[m] ->
        assert(I1_record_lost || ((output | duplicates) & BIT(scan)) != 0);
        assert(I1_record_lost || (output_keys & KEY_BIT(scan)) != 0);
        scan++
    :: else -> break
    od;
    if
    :: transaction_log[m] > 0 -> hashes = hashes | state_keys[transaction_log[m] - 1]
    :: else
    fi;
    end_transaction(m)
}

/* After the last marker, the producer may begin another transaction. */
inline end_transaction(m) {
    if
    :: !pending[m] && (transaction_log[m] == 0 || state_status[transaction_log[m] - 1] != OPEN) ->
        transaction[m] = NONE;
        clear_transaction(m)
    :: else
    fi
}

inline mark_state(m) {
    state_status[transaction_log[m] - 1] = COMMITTED;
    end_transaction(m)
}

inline mark_offset(m) {
    offset = transaction_to[m];
    pending[m] = 0;
    end_transaction(m)
}

#define OPEN_STATE(m) (transaction[m] == DECIDED && transaction_log[m] > 0 && \
                       state_status[transaction_log[m] - 1] == OPEN)

/* ---- a member ---- */

inline forget_filter(m) {
#ifdef REACH
    is_warm[m] = 0;
#endif
    filter[m] = 0; filter_to[m] = 0; filter_covers[m] = 0; filter_low[m] = 0; has_chain[m] = 0; needed[m] = 0
}

/* What a member forgets that loses the partition or its producer. It keeps the filter. */
inline forget_transaction(m) {
#ifdef F_DIRTY
    filter[m] = filter[m] | overlay[m];
#endif
    copies[m] = 0; copies_end[m] = 0;
    overlay[m] = 0; next[m] = 0; low_seen[m] = 0; end_seen[m] = 0; own_record[m] = 0
}

/* The producer is gone. Its transaction stays open until B1, or until the broker aborts it. */
inline fail(m) {
    printf("member %d: its producer fails\n", m);
    forget_transaction(m);
    phase[m] = DOWN
}

/* T7: the transaction is aborted. */
inline undo(m) {
    printf("member %d: aborts\n", m);
    if
    :: transaction[m] == BEGUN -> abort_transaction(m)
    :: else
    fi;
#ifndef F_OVERLAY
    overlay[m] = 0;
#endif
#ifdef F_COPIES_ABORTED
    if
    :: copies_end[m] > 0 -> needed[m] = copies_end[m]; copies[m] = 0; copies_end[m] = 0
    :: else
    fi;
#endif
    next[m] = filter_to[m]; own_record[m] = 0;
    phase[m] = RUN
}

/* T6: the transaction is known to be committed. */
inline apply(m) {
    printf("member %d: knows that its transaction is committed\n", m);
    filter[m] = filter[m] | overlay[m]; overlay[m] = 0;
    filter_to[m] = next[m];
    if
#ifdef F_COVERS_END
    :: own_record[m] > 0 -> filter_covers[m] = end; has_chain[m] = FIRST
#else
    :: own_record[m] > 0 -> filter_covers[m] = own_record[m]; has_chain[m] = FIRST;
        if
        :: copies_end[m] > 0 -> needed[m] = copies_end[m]
        :: else
        fi;
        copies[m] = 0; copies_end[m] = 0
#endif
    :: else
    fi;
    own_record[m] = 0; decided[m] = 0;
#ifdef F_OFFSET_APART
    if
    :: member_generation[m] == generation -> offset = filter_to[m]
    :: else
    fi;
#endif
    phase[m] = RUN
}

/* R: what was found does not fit the offset. If the offset has moved, another member has the partition. */
inline refuse(m) {
    if
#ifdef F_REFETCH
#elif defined(F_STABLE)
    :: offset != next[m] -> phase[m] = OFFSET
#else
    :: pending[0] || pending[1] || offset != next[m] -> phase[m] = OFFSET
#endif
    :: else ->
        printf("member %d: refuses\n", m);
        assert(I4_refused_without_reason || changed);
#if defined(REACH) && REACH == 3
        assert(I0_refused || false);
#endif
        forget_transaction(m); forget_filter(m); member_generation[m] = 0;
        phase[m] = REFUSED
    fi
}

#ifdef F_LOW
#define REACHES_LOW(m) (filter_covers[m] > 0)
#else
#define REACHES_LOW(m) (filter_covers[m] >= low_seen[m])
#endif

/* A4. An empty filter has the hashes of all state records from the low watermark on. */
inline choose_filter(m) {
#ifdef F_LOW_LATE
    low_seen[m] = low;
#endif
    if
    :: REACHES_LOW(m) -> printf("member %d: goes on with its filter, which covers %d state records\n", m, filter_covers[m])
    :: true ->
        forget_filter(m);
        filter_low[m] = low_seen[m]; filter_covers[m] = low_seen[m]
    fi;
#ifdef F_INPUT_EARLY
    filter_to[m] = next[m]; phase[m] = RUN
#else
    phase[m] = READ
#endif
}

/* The state record i is decided, or member m does not read it. */
#define STABLE(m, i) ((i) < filter_covers[m] || (i) >= end_seen[m] || state_status[i] != OPEN)
#if defined(F_LSO) || defined(F_UNCOMMITTED)
#define ALL_STABLE(m) true
#else
#define ALL_STABLE(m) (STABLE(m, 0) && STABLE(m, 1) && STABLE(m, 2) && STABLE(m, 3) && STABLE(m, 4) && STABLE(m, 5))
#endif

/* The state record i does not go on from the one before it. Above a low watermark of 0 the first one may begin
 * anywhere. */
#ifdef F_CHAIN
#define IS_GAP(m, i) false
#define FITS(m) true
#else
#define IS_GAP(m, i) ((filter_to[m] > 0 || filter_low[m] == 0) && state_from[i] != filter_to[m])
#define FITS(m) (!broken && filter_to[m] == next[m])
#endif
/* Hashes that a reader finds in a state record. */
#ifdef F_COPIES_SKIPPED
#define HASHES(i) (state_keys[i])
#else
#define HASHES(i) (state_keys[i] | state_copies[i])
#endif
/* No state record is missing below the filter. */
#ifdef F_WATERMARK
#define IS_WHOLE(m) true
#else
#define IS_WHOLE(m) (filter_low[m] <= needed[m])
#endif

inline raise_needed(m, i) {
    needed[m] = (state_needed[i] > needed[m] -> state_needed[i] : needed[m])
}

/* A5, A6 */
inline read_state(m) {
    if
#if !defined(F_RANGE) && !defined(F_LOW)
    :: low > filter_covers[m] -> forget_filter(m); phase[m] = OFFSET /* offset out of range */
#endif
    :: else ->
#ifdef REACH
        has_kept[m] = (filter_to[m] > 0 && filter_to[m] < next[m]);
#endif
        broken = 0;
        scan = (low > filter_covers[m] -> low : filter_covers[m]);
        do
        :: scan < end_seen[m] ->
            if
            :: state_status[scan] == COMMITTED ->
                if
                :: IS_GAP(m, scan) -> broken = 1; break
                :: else ->
                    filter[m] = filter[m] | HASHES(scan); filter_to[m] = state_to[scan]; raise_needed(m, scan);
                    has_chain[m] = FIRST
                fi
#ifdef F_UNCOMMITTED
            :: state_status[scan] != COMMITTED -> filter[m] = filter[m] | state_keys[scan]
#endif
#ifdef F_LSO
            :: state_status[scan] == OPEN -> break
#endif
            :: else
            fi;
            scan++
        :: else -> break
        od;
        filter_covers[m] = scan;
        if
        :: IS_WHOLE(m) && FITS(m) ->
#ifdef F_CHAIN
            filter_to[m] = next[m];
#endif
            phase[m] = RUN
        :: else -> refuse(m)
        fi
    fi;
    low_seen[m] = 0; end_seen[m] = 0;
    scan = 0; broken = 0
}

/* S: a member that does not answer records of the partition reads one state record. The reader stops in front of an
 * open transaction (K5). */
#ifdef F_STANDBY_UNDECIDED
#define IS_DECIDED(i) true
#else
#define IS_DECIDED(i) (state_status[i] != OPEN)
#endif
#define STANDS_BY(m) (STANDBY && phase[m] >= IDLE && phase[m] <= READ && \
                      (low > filter_covers[m] || (filter_covers[m] < end && IS_DECIDED(filter_covers[m]))))
inline stand_by(m) {
    if
    :: low > filter_covers[m] && phase[m] >= CHOOSE -> /* offset out of range: the end of A3 is too old */
        forget_filter(m); low_seen[m] = 0; end_seen[m] = 0; phase[m] = OFFSET
    :: low > filter_covers[m] && phase[m] < CHOOSE ->
#ifndef F_STANDBY_CHAIN
        forget_filter(m); filter_low[m] = low;
#endif
        filter_covers[m] = low
    :: else ->
        if
#ifdef F_STANDBY_UNCOMMITTED
        :: state_status[filter_covers[m]] != COMMITTED ->
            filter[m] = filter[m] | state_keys[filter_covers[m]]; filter_covers[m] = filter_covers[m] + 1
#endif
        :: state_status[filter_covers[m]] == COMMITTED ->
            if
#ifndef F_STANDBY_CHAIN
            :: IS_GAP(m, filter_covers[m]) -> forget_filter(m)
#endif
            :: else ->
                filter[m] = filter[m] | HASHES(filter_covers[m]); filter_to[m] = state_to[filter_covers[m]];
                raise_needed(m, filter_covers[m]);
                filter_covers[m] = filter_covers[m] + 1; has_chain[m] = FIRST;
#ifdef REACH
                is_warm[m] = 1
#endif
            fi
        :: else -> filter_covers[m] = filter_covers[m] + 1
        fi
    fi
}

/* A2: the offset is the one that this member has committed. */
#ifdef F_KEPT_OFFSET
#define IS_COMPLETE(m) (RESETS == 0 && filter_to[m] > 0 && IS_WHOLE(m))
#else
#define IS_COMPLETE(m) (RESETS == 0 && filter_to[m] > 0 && filter_to[m] == next[m] && IS_WHOLE(m))
#endif

#define CURRENT(m) (member_generation[m] == generation)
#ifdef F_EPOCH
#define FENCED(m) false
#else
#define FENCED(m) (fenced[m])
#endif

inline answer(m) {
    assert(I2_committed_hash_missing || (!CURRENT(m) || (hashes & ~filter[m]) == 0));
    assert(I3_trace_of_an_abort ||
           (next[m] != filter_to[m] || (overlay[m] == 0 && (filter[m] & ~hashes) == 0)));
    begin_transaction(m);
    if
    :: (filter[m] | overlay[m]) & KEY_BIT(next[m]) ->
        transaction_duplicates[m] = transaction_duplicates[m] | BIT(next[m])
    :: else ->
        transaction_output[m] = transaction_output[m] | BIT(next[m]);
#ifdef F_FILTER_EARLY
        filter[m] = filter[m] | KEY_BIT(next[m]);
#endif
        overlay[m] = overlay[m] | KEY_BIT(next[m])
    fi;
    next[m] = next[m] + 1
}

inline write_state(m) {
    begin_transaction(m);
#ifdef F_EMPTY
    if
    :: overlay[m] == 0
    :: else ->
#endif
    state_keys[end] = overlay[m]; state_from[end] = filter_to[m]; state_to[end] = next[m];
    state_copies[end] = copies[m];
#ifdef F_COPIES_BEYOND
    state_needed[end] = (copies_end[m] > 0 -> filter_covers[m] : needed[m]);
#else
    state_needed[end] = (copies_end[m] > 0 -> copies_end[m] : needed[m]);
#endif
    end++;
    transaction_log[m] = end; own_record[m] = end;
#ifdef F_EMPTY
    fi;
#endif
    phase[m] = LOGGED
}

/* M1, M2: the member copies the hashes of one or more of the first state records that are needed. Its reader stops in
 * front of a record that is not decided (K5). */
inline copy_hashes(m) {
    if
#ifndef F_COPIES_RANGE
    :: low > needed[m] /* offset out of range */
#endif
    :: else ->
        scan = (low > needed[m] -> low : needed[m]);
        do
        :: scan < filter_covers[m] ->
            if
            :: state_status[scan] == COMMITTED -> copies[m] = copies[m] | HASHES(scan)
#ifdef F_COPIES_UNCOMMITTED
            :: state_status[scan] != COMMITTED -> copies[m] = copies[m] | state_keys[scan]
#elif defined(F_COPIES_LSO)
#else
            :: state_status[scan] == OPEN -> break
#endif
            :: else
            fi;
            scan++;
            if
            :: true
            :: true -> break
            fi
        :: else -> break
        od;
        copies_end[m] = (scan > needed[m] -> scan : 0);
        printf("member %d: copies the hashes of state records %d to %d\n", m, needed[m], scan)
    fi;
    scan = 0
}

inline send_offset(m) {
    begin_transaction(m);
#ifdef F_METADATA
    member_generation[m] = generation;
#endif
    if
#ifndef F_GENERATION
    :: !CURRENT(m) -> undo(m)
#endif
    :: else ->
        transaction_to[m] = next[m];
#ifndef F_OFFSET_APART
        pending[m] = 1;
#endif
        phase[m] = SENT
    fi
}

/* The producer failed before the member knew the outcome of its commit. */
inline give_up(m) {
#ifdef F_UNKNOWN_ABORTED
    fenced[m] = 0;
    undo(m)
#else
#ifdef F_UNKNOWN_COMMITTED
    if
    :: transaction[m] == BEGUN -> abort_transaction(m)
    :: else
    fi;
    fenced[m] = 0;
    apply(m)
#else
    fail(m)
#endif
#endif
}

inline notice_move(m) {
    printf("member %d: notices that it has lost the partition\n", m);
    if
    :: transaction[m] == BEGUN && !fenced[m] -> abort_transaction(m)
    :: else
    fi;
#ifdef F_RESTORE_KEPT
    if
    :: owner == m && phase[m] >= RUN -> undo(m); member_generation[m] = generation
    :: else ->
#endif
    forget_transaction(m); member_generation[m] = 0;
    phase[m] = (fenced[m] -> DOWN : IDLE)
#ifdef F_RESTORE_KEPT
    fi
#endif
}

inline crash(m) {
    printf("member %d: crashes\n", m);
    fail(m);
    forget_filter(m); member_generation[m] = 0
}

active [2] proctype member() {
    do
    /* B1: a new producer aborts its open transaction, and waits for one that is decided. A member that has the
     * partition still goes on with A2, in the generation of A1. */
    :: atomic { phase[_pid] == DOWN && transaction[_pid] != DECIDED ->
                if :: transaction[_pid] == BEGUN -> abort_transaction(_pid) :: else fi;
                fenced[_pid] = 0; decided[_pid] = 0;
                phase[_pid] = (member_generation[_pid] > 0 -> OFFSET : IDLE) }
    /* A1 */
    :: atomic { phase[_pid] == IDLE && owner == _pid ->
                printf("member %d: has the partition, generation %d\n", _pid, generation);
                member_generation[_pid] = generation;
#ifdef F_END_EARLY
                end_seen[_pid] = end;
#endif
                phase[_pid] = OFFSET }
#ifdef F_STABLE
    :: atomic { phase[_pid] == OFFSET ->
#else
    :: atomic { phase[_pid] == OFFSET && !pending[0] && !pending[1] ->
#endif
                next[_pid] = offset;
                if
                :: IS_COMPLETE(_pid) ->
                    printf("member %d: goes on at once\n", _pid);
#ifdef REACH
                    is_complete[_pid] = 1;
#endif
                    phase[_pid] = RUN
                :: true -> phase[_pid] = END
                fi }
    :: atomic { phase[_pid] == END ->
#ifndef F_LOW_LATE
                low_seen[_pid] = low;
#endif
#ifndef F_END_EARLY
                end_seen[_pid] = end;
#endif
                phase[_pid] = CHOOSE }
    :: atomic { phase[_pid] == CHOOSE -> choose_filter(_pid) }
    :: atomic { phase[_pid] == READ && ALL_STABLE(_pid) -> read_state(_pid) }
    /* S */
    :: atomic { STANDS_BY(_pid) -> stand_by(_pid) }
    /* T1, T2 */
    :: atomic { phase[_pid] == RUN && next[_pid] < RECORDS && next[_pid] - filter_to[_pid] < BATCH &&
                transaction[_pid] != DECIDED ->
                if :: FENCED(_pid) -> fail(_pid) :: else -> answer(_pid) fi }
    /* T3 */
    :: atomic { phase[_pid] == RUN && transaction[_pid] != DECIDED && end < LOG &&
                next[_pid] != filter_to[_pid] ->
                if :: FENCED(_pid) -> fail(_pid) :: else -> write_state(_pid) fi }
#if FIRST
    /* T0 */
    :: atomic { phase[_pid] == RUN && transaction[_pid] != DECIDED && end < LOG && !has_chain[_pid] &&
                next[_pid] == filter_to[_pid] ->
                if :: FENCED(_pid) -> fail(_pid) :: else -> write_state(_pid) fi }
#endif
    /* M */
#if MERGES
    :: atomic { phase[_pid] == RUN && merges < MERGES && copies_end[_pid] == 0 &&
                needed[_pid] < filter_covers[_pid] -> merges++; copy_hashes(_pid) }
    :: atomic { phase[_pid] == RUN && transaction[_pid] != DECIDED && end < LOG && copies_end[_pid] > 0 &&
                next[_pid] == filter_to[_pid] ->
                if :: FENCED(_pid) -> fail(_pid) :: else -> write_state(_pid) fi }
#endif
    /* T4 */
    :: atomic { phase[_pid] == LOGGED -> if :: FENCED(_pid) -> fail(_pid) :: else -> send_offset(_pid) fi }
    /* T7: an error after which the producer may go on */
    :: atomic { phase[_pid] >= RUN && phase[_pid] <= SENT && transaction[_pid] == BEGUN && aborts < ABORTS &&
                !FENCED(_pid) -> aborts++; undo(_pid) }
    /* T5: the request to commit arrives or is lost; it is repeated until an answer comes. */
    :: atomic { phase[_pid] == SENT ->
                phase[_pid] = ASKED;
                if
                :: !FENCED(_pid) -> begin_transaction(_pid); decide(_pid)
                :: FENCED(_pid)
                :: losses < LOSSES -> losses++
                fi }
    :: atomic { phase[_pid] == ASKED && transaction[_pid] == BEGUN && !FENCED(_pid) -> decide(_pid) }
    :: atomic { phase[_pid] == ASKED && decided[_pid] -> apply(_pid) }
    :: atomic { phase[_pid] == ASKED && FENCED(_pid) -> give_up(_pid) }
    :: atomic { phase[_pid] == ASKED && losses < LOSSES -> losses++; give_up(_pid) }
    /* N: the member learns that it has lost the partition. */
    :: atomic { phase[_pid] >= OFFSET && phase[_pid] <= SENT && !CURRENT(_pid) -> notice_move(_pid) }
    od
}

/* T6: a member has asked for a cut to what the state record i says. It knew that the record was committed. */
#ifdef F_CUT_EARLY
#define IS_CUT(i) (state_needed[i] > low)
#else
#define IS_CUT(i) (state_needed[i] > low && (state_status[i] == COMMITTED || IS_OWN(0, i) || IS_OWN(1, i)))
#define IS_OWN(m, i) (transaction[m] == DECIDED && transaction_log[m] == (i) + 1)
#endif
inline cut(i) {
    low = state_needed[i];
    printf("the state topic is cut to %d\n", low)
}

active proctype events() {
    do
#if MERGES
    :: atomic { IS_CUT(0) -> cut(0) }
    :: atomic { IS_CUT(1) -> cut(1) }
    :: atomic { IS_CUT(2) -> cut(2) }
    :: atomic { IS_CUT(3) -> cut(3) }
    :: atomic { IS_CUT(4) -> cut(4) }
    :: atomic { IS_CUT(5) -> cut(5) }
#endif
    :: atomic { OPEN_STATE(0) -> mark_state(0) }
    :: atomic { OPEN_STATE(1) -> mark_state(1) }
    :: atomic { transaction[0] == DECIDED && pending[0] -> mark_offset(0) }
    :: atomic { transaction[1] == DECIDED && pending[1] -> mark_offset(1) }
    /* The broker aborts a transaction that takes too long. Those of members that are down are not counted. */
    :: atomic { transaction[0] == BEGUN && (phase[0] == DOWN || timeouts < TIMEOUTS) ->
                if :: phase[0] != DOWN -> timeouts++; fenced[0] = 1 :: else fi; abort_transaction(0) }
    :: atomic { transaction[1] == BEGUN && (phase[1] == DOWN || timeouts < TIMEOUTS) ->
                if :: phase[1] != DOWN -> timeouts++; fenced[1] = 1 :: else fi; abort_transaction(1) }
    :: atomic { moves < MOVES -> moves++; generation++; owner = 1 - owner;
                printf("the group gives the partition to member %d\n", owner) }
    :: atomic { kept < KEPT -> kept++; generation++; printf("the group leaves the partition where it is\n") }
    :: atomic { crashes < CRASHES && phase[0] != DOWN && phase[0] != REFUSED -> crashes++; crash(0) }
    :: atomic { crashes < CRASHES && phase[1] != DOWN && phase[1] != REFUSED -> crashes++; crash(1) }
    :: atomic { resets < RESETS -> resets++; generation++; changed = 1;
                if
                :: offset > 0 -> offset = 0
                :: offset > 1 -> offset--
                :: offset < RECORDS -> offset = RECORDS
                :: offset + 1 < RECORDS -> offset++
                fi;
                printf("the operator sets the offset to %d\n", offset) }
    :: atomic { retentions < RETENTION && low < end -> retentions++; changed = 1;
                low++;
                do :: low < end -> low++ :: break od;
                printf("the state topic begins at %d\n", low) }
#ifdef REACH
#if REACH == 1
    :: atomic { offset == RECORDS && has_kept[owner] && phase[owner] == RUN ->
                assert(I0_end_reached_with_kept_filter || false) }
#elif REACH == 2
    :: atomic { offset == RECORDS && has_kept[owner] && phase[owner] == RUN && low > 0 ->
                assert(I0_end_reached_after_retention || false) }
#elif REACH == 6
    :: atomic { offset == RECORDS && filter_low[owner] > 0 && merges == MERGES && low > filter_low[owner] &&
                phase[owner] == RUN ->
                assert(I0_end_reached_after_merge || false) }
#elif REACH == 4
    :: atomic { offset == RECORDS && is_warm[owner] && phase[owner] == RUN ->
                assert(I0_end_reached_by_standby || false) }
#elif REACH == 5
    :: atomic { offset == RECORDS && is_complete[owner] && phase[owner] == RUN ->
                assert(I0_end_reached_at_once || false) }
#endif
#endif
    od
}
