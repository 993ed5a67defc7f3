/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The window of `tamis kafka dedup`, as a model for SPIN. docs/KAFKA-PROTOCOL.md has the steps, with the same
 * letters. kafka.pml models the protocol without a window.
 *
 * Idea. A record is a duplicate if its key came within the window before the time of the record. State records
 * whose keys are all too old are no longer needed, and the owner cuts the state topic in front of the others. So
 * a restore begins at the low watermark of the topic with an empty filter.
 *
 *                         0        low watermark    needed          end
 *      state topic        |. . . . . . . |-----------|===============|
 *                             removed     not needed    needed: a later record may find these keys
 *
 * - A record that is older than the newest time by more than LATENESS is late: it is neither unique nor a duplicate,
 *   and it is not counted.
 * - The filter knows the step of each key. A lookup for time t finds the keys of steps from that of t - WINDOW to that
 *   of t. Later lookups have times from newest - LATENESS on. So a key is needed until its step is before that of
 *   newest - LATENESS - WINDOW.
 * - A state record has `from`, `to`, the new keys with their times, `newest` and `needed`. `newest` is the newest
 *   time of all records answered so far, duplicates included. No state record below `needed` is needed.
 * - A transaction with many keys has several state records. All but the last one have `to` = `from` and the `newest`
 *   of the transaction before, since later keys may be older. So they do not say how new their own keys are.
 * - A horizon is a bound for the times of keys: no state record in front of its end has a key newer than its `newest`.
 *   A member has one behind the last state record of each transaction that it has committed (T6) or read (A5).
 *
 *      transactions        |  of two records   |   of one    |  of two records   |
 *      state records       |    r0   |   r1    |     r2      |    r3   |   r4    |
 *      horizons                          until 1       until 3             until 3
 *
 * - The owner computes `needed` in T3: the end of the last horizon that no lookup after this transaction reaches. So
 *   `needed` is at most the offset of its first own record, and the last record of the chain is never cut.
 * - W: the owner requests a cut up to the `needed` of the last state record that it knows to be committed.
 * - A6: the last state record must have a `needed` that is not below the low watermark at which the restore began.
 *   Otherwise something else than a cut has removed records: the member refuses.
 *
 * The model tries every order of all steps of two members and the broker, with every sequence of keys and times:
 * - A member crashes at any step.
 * - The group gives the partition to the other member at any time. The old owner is a zombie until it looks. It keeps
 *   its filter, and may use it or not if the partition comes back.
 * - ABORTS: a member aborts its transaction at any step, and goes on.
 * - Cuts are carried out late, twice, or never, also those of a zombie or of a member that has crashed.
 * - RETENTION: the broker, or a person, removes state records up to any offset.
 * - STANDBY: a member adds state records to its filter while it has no partition, and while it restores (S).
 * - COARSE: the owner's `needed` may be lower than it could be, but not lower than that of the state record before.
 *   That includes an owner that computes it from the newest time before this transaction, or that has fewer horizons:
 *   kafka_partition.c does both.
 *
 * What the model leaves out, and why that hides no fault:
 * - kafka.pml shows that the transactions of a partition commit in one order, and that nobody but the owner of the
 *   current generation commits (V1, V2). So here T4 and T5 are one step, which decides, marks and moves the offset.
 * - A member restores in one step (A5), once all state records in front of its end are decided. Only a cut or the
 *   retention can change what it reads. The consumer notices that as an offset out of range, also in the middle. A
 *   restore that a rebalance ends early, even between the records of a transaction, goes on there the next time: it adds
 *   the same keys as one that reads them at once.
 * - A member forgets keys that are not needed. The filter of a window does so too.
 * - A transaction has at most two state records, the first one with one key. More of those that have `to` = `from`
 *   would be read in the same way.
 * - The two are written in one step. If the member crashes between them, none is read, as if it had crashed behind
 *   them. A record of another member between them belongs to a transaction that aborts, since only one may commit.
 * - The group's offset never expires, and nobody sets it: kafka.pml has resets.
 *
 * Properties:
 * I1. Each committed answer (unique, duplicate, late) is that of an oracle, which sees all records in order and
 *     forgets nothing. Each transaction begins where the one before has ended.
 * I2. A member is refused only if the retention has removed state records above the `needed` of the chain.
 * I0 is false on purpose: its violation shows that the search gets as far as its name says.
 *
 * F_... removes a guard, see kafka_window_planted.sh.
 */

#ifndef CRASHES
#define CRASHES 1 /* of both members together */
#endif
#ifndef MOVES
#define MOVES 1 /* times that the group gives the partition to the other member */
#endif
#ifndef ABORTS
#define ABORTS 0 /* errors that make a member abort its transaction and go on */
#endif
#ifndef RETENTION
#define RETENTION 0 /* removals of state records that no member has requested */
#endif
#ifndef STANDBY
#define STANDBY 0 /* 1: members without the partition keep a filter of it */
#endif
#ifndef COARSE
#define COARSE 0 /* 1: `needed` may be lower than it could be */
#endif
#ifndef WINDOW
#define WINDOW 1 /* length of the window, in units of time */
#endif
#ifndef LATENESS
#define LATENESS 1 /* units of time by which a record may be older than the newest one */
#endif
#ifndef STEP
#define STEP 1 /* units of time in a step of the filter; 1 or 2 */
#endif
#ifndef TIMES
#define TIMES 4 /* a record has a time from 0 to TIMES - 1; at most 8 */
#endif
#ifndef RECORDS
#define RECORDS 3 /* in the input partition */
#endif
#ifndef BATCH
#define BATCH 2 /* records of a transaction, at most */
#endif
#ifndef LOG
#define LOG 5 /* state records, at most 6; a member that finds the topic full waits for ever */
#endif

#define BIT(i) (1 << (i))
#define STEP_OF(time) ((time) / STEP)
#define BEFORE(time, length) ((time) > (length) -> (time) - (length) : 0)
/* Set of the times at which a key makes a record of this time a duplicate. */
#define FIRST_WITHIN(time) (STEP_OF(BEFORE(time, WINDOW)) * STEP)
#define LAST_WITHIN(time) (STEP_OF(time) * STEP + STEP - 1)
#define WITHIN(time) ((BIT(LAST_WITHIN(time) + 1) - 1) & ~(BIT(FIRST_WITHIN(time)) - 1))
#define IS_LATE(time, newest_time) ((time) + LATENESS < (newest_time))
/* The first time that a later lookup finds. */
#define FIRST_NEEDED(newest_time) (STEP_OF(BEFORE(newest_time, LATENESS + WINDOW)) * STEP)

/* Names of properties in assertions: always false. */
bool I0_end_reached_after_cut, I0_end_reached_after_range_error, I0_end_reached_with_kept_filter,
    I0_end_reached_by_standby, I0_refused, I1_answer_differs, I1_order, I2_refused_without_reason;

/* ---- input ---- */

/* Key and time of a record are chosen when a member reads it for the first time. Until then its answer is
 * NOT_READ. */
#define NOT_READ 0
#define UNIQUE 1
#define DUPLICATE 2
#define LATE 3
bit input_key[RECORDS];
byte input_time[RECORDS];
byte oracle[RECORDS]; /* the right answer */
byte oracle_newest;

/* ---- Kafka ---- */

byte generation = 1, owner; /* of the group: owner is the member that has the partition */
byte offset; /* of the group; 0 if there is none */

/* State topic: records from `low` to `end`. */
#define OPEN 0
#define COMMITTED 1
#define ABORTED 2
byte state_status[LOG], state_from[LOG], state_to[LOG], state_newest[LOG], state_needed[LOG];
byte state_keys[LOG * 2]; /* set of times for each key */
byte low, end;
byte cuts; /* set of offsets up to which a cut was requested and may still be carried out */
byte chain_needed; /* `needed` of the last committed state record */
byte retention_low; /* offset up to which the retention removed state records; 0 if none of them was needed */

/* ---- members ---- */

#define DOWN 0 /* not running, or without a producer */
#define IDLE 1 /* without the partition */
#define OFFSET 2 /* will fetch the offset (A2) */
#define END 3 /* will fetch the end of the state topic (A3) */
#define CHOOSE 4 /* will fetch the low watermark, and use the filter that it kept or an empty one (A4) */
#define READ 5 /* will read the state topic (A5, A6) */
#define RUN 6 /* answers records (T1, T2) */
#define LOGGED 7 /* the state record is written (T3) */
#define ASKED 8 /* the transaction is committed, and the member does not know it yet (T4, T5) */
#define REFUSED 9
byte phase[2];
byte member_generation[2];
byte filter[4], overlay[4]; /* set of times for each key of each member */
byte next[2]; /* record to read next */
byte position[2]; /* the committed part of `next` */
byte newest[2]; /* newest time of all records answered */
byte newest_committed[2];
byte needed[2]; /* of the last state record that is known to be committed */
byte horizon[LOG * 2]; /* behind each state record: its newest time, plus 1; 0 if there is none, or it has expired */
byte expired[2]; /* end of the last horizon that has expired, or a later `needed` that was read */
byte filter_covers[2]; /* state record up to which the filter has all keys */
byte filter_low[2]; /* until A6: the low watermark when the filter was empty */
byte end_seen[2]; /* end of the state topic, as A3 found it */
byte own_record[2]; /* number of the last state record of the transaction, plus 1 */
bit wrong[2]; /* an answer of the transaction differs from that of the oracle */

byte crashes, moves, aborts, retentions;
#ifdef REACH
bit restored[2]; /* the member began at a low watermark above 0 */
bit range_error[2]; /* and it has read an offset that was out of range */
bit is_warm[2]; /* the member has read a state record without having the partition */
bit goes_on[2]; /* the member has restored with a filter that it kept, while the low watermark was above 0 */
#define NOTE(flag, value) flag = (value)
#else
#define NOTE(flag, value) skip
#endif
hidden byte scan, place, given, broken, key, time;

/* ---- input and oracle ---- */

inline read_input(record) {
    if
    :: oracle[record] != NOT_READ
    :: else ->
        /* Keys have no order, so the first one may have any number. */
        if
        :: key = 0
        :: record > 0 -> key = 1
        fi;
        time = 0;
        do
        :: time + 1 < TIMES -> time++
        :: break
        od;
        input_key[record] = key; input_time[record] = time;
        if
        :: IS_LATE(time, oracle_newest) -> oracle[record] = LATE
        :: else ->
            oracle[record] = UNIQUE;
            scan = 0;
            do
            :: scan < record ->
                if
                :: oracle[scan] == UNIQUE && input_key[scan] == key &&
                    input_time[scan] >= FIRST_WITHIN(time) && input_time[scan] <= LAST_WITHIN(time) ->
                    oracle[record] = DUPLICATE
                :: else
                fi;
                scan++
            :: else -> break
            od;
            oracle_newest = (time > oracle_newest -> time : oracle_newest)
        fi;
        printf("input: record %d has key %d and time %d; answer %d\n", record, key, time, oracle[record])
    fi
}

/* ---- a member ---- */

inline forget_horizons(m) {
    expired[m] = 0;
    place = 0;
    do
    :: place < LOG -> horizon[m * LOG + place] = 0; place++
    :: else -> break
    od
}

inline forget_filter(m) {
    filter[2 * m] = 0; filter[2 * m + 1] = 0; filter_covers[m] = 0; filter_low[m] = 0;
    position[m] = 0; newest[m] = 0; newest_committed[m] = 0; needed[m] = 0;
    NOTE(is_warm[m], false);
    forget_horizons(m)
}

/* What a member forgets that loses the partition. It keeps the filter, and what belongs to it. */
inline forget_transaction(m) {
    overlay[2 * m] = 0; overlay[2 * m + 1] = 0;
    next[m] = 0; end_seen[m] = 0; member_generation[m] = 0; wrong[m] = 0;
#ifndef F_NEWEST_KEPT
    newest[m] = newest_committed[m]
#endif
}

/* Keys that no later lookup finds are forgotten. */
inline expire(m) {
    filter[2 * m] = filter[2 * m] & ~(BIT(FIRST_NEEDED(newest_committed[m])) - 1);
    filter[2 * m + 1] = filter[2 * m + 1] & ~(BIT(FIRST_NEEDED(newest_committed[m])) - 1)
}

/* The transaction with the last state record `number` has moved the newest time to newest[m]. */
inline advance(m, number) {
    place = 0;
    do
    :: place < number ->
        if
        :: horizon[m * LOG + place] > 0 && horizon[m * LOG + place] <= FIRST_NEEDED(newest[m]) ->
            horizon[m * LOG + place] = 0;
            expired[m] = (place + 1 > expired[m] -> place + 1 : expired[m])
        :: else
        fi;
        place++
    :: else -> break
    od;
    horizon[m * LOG + number] = newest[m] + 1
}

/* The transaction of a member is open, and has two state records. They are neighbours, and the first one has
 * `to` = `from`. */
#define HAS_TWO(m) (own_record[m] > 1 && state_status[own_record[m] - 2] == OPEN && \
                    state_to[own_record[m] - 2] == state_from[own_record[m] - 2])

inline abort_record(number) {
    state_status[number] = ABORTED;
    state_from[number] = 0; state_to[number] = 0; /* nobody reads them */
    state_newest[number] = 0; state_needed[number] = 0;
    state_keys[2 * (number)] = 0; state_keys[2 * (number) + 1] = 0
}

/* The broker aborts the open transaction of a member. */
inline abort_transaction(m) {
    if
    :: own_record[m] > 0 && state_status[own_record[m] - 1] == OPEN ->
        if
        :: HAS_TWO(m) -> abort_record(own_record[m] - 2)
        :: else
        fi;
        abort_record(own_record[m] - 1)
    :: else
    fi;
    own_record[m] = 0
}

/* T7: the transaction is aborted. */
inline undo(m) {
    printf("member %d: aborts\n", m);
    abort_transaction(m);
    overlay[2 * m] = 0; overlay[2 * m + 1] = 0;
    next[m] = position[m]; wrong[m] = 0;
#ifndef F_NEWEST_KEPT
    newest[m] = newest_committed[m];
#endif
    phase[m] = RUN
}

/* W. Requests are carried out at any later time, so it hides nothing that they are made at once. */
inline request_cut(number) {
    if
    :: number > low -> cuts = cuts | BIT(number)
    :: else
    fi
}

/* Newest time of a set of times, plus 1. */
inline newest_of(set, result) {
    result = 0;
    do
    :: (set) >> result -> result++
    :: else -> break
    od
}

/* T6: the transaction is known to be committed. */
inline apply(m) {
    printf("member %d: knows that its transaction is committed\n", m);
    filter[2 * m] = filter[2 * m] | overlay[2 * m]; overlay[2 * m] = 0;
    filter[2 * m + 1] = filter[2 * m + 1] | overlay[2 * m + 1]; overlay[2 * m + 1] = 0;
    position[m] = next[m]; newest_committed[m] = newest[m]; needed[m] = state_needed[own_record[m] - 1];
    filter_covers[m] = own_record[m];
    advance(m, own_record[m] - 1);
    own_record[m] = 0;
    expire(m);
    request_cut(needed[m]);
    phase[m] = RUN
}

/* R: what was found does not fit the offset. If the offset has moved, another member has the partition. */
inline refuse(m) {
    end_seen[m] = 0;
    if
    :: offset != next[m] -> phase[m] = OFFSET
    :: else ->
        printf("member %d: refuses\n", m);
        assert(I2_refused_without_reason || retention_low > chain_needed);
#if defined(REACH) && REACH == 3
        assert(I0_refused || false);
#endif
        forget_transaction(m); forget_filter(m);
        phase[m] = REFUSED
    fi
}

#ifdef F_LOW
#define REACHES_LOW(m) true
#else
#define REACHES_LOW(m) (filter_covers[m] >= low)
#endif

/* A4 */
inline choose_filter(m) {
    if
    :: filter_covers[m] > 0 && REACHES_LOW(m) ->
        NOTE(goes_on[m], low > 0)
    :: true ->
        forget_filter(m); filter_low[m] = low; filter_covers[m] = low;
        NOTE(goes_on[m], false)
    fi;
    phase[m] = READ;
    printf("member %d: reads state records from %d to %d\n", m, filter_covers[m], end_seen[m])
}

/* The state record i is decided, or member m does not read it. */
#define STABLE(m, i) ((i) >= LOG || (i) < filter_covers[m] || (i) >= end_seen[m] || state_status[(i) % LOG] != OPEN)
#define ALL_STABLE(m) (STABLE(m, 0) && STABLE(m, 1) && STABLE(m, 2) && STABLE(m, 3) && STABLE(m, 4) && STABLE(m, 5))

/* The member has read the state record `number`. */
#ifdef F_RESTORE_LATE
#define RESTORED(number) ~(BIT(BEFORE(state_newest[number], LATENESS)) - 1)
#else
#define RESTORED(number) 255
#endif
inline add_record(m, number) {
    filter[2 * m] = filter[2 * m] | state_keys[2 * number] & RESTORED(number);
    filter[2 * m + 1] = filter[2 * m + 1] | state_keys[2 * number + 1] & RESTORED(number);
    position[m] = state_to[number]; needed[m] = state_needed[number];
    expired[m] = (needed[m] > expired[m] -> needed[m] : expired[m]);
#ifdef F_NEWEST
    newest_of(state_keys[2 * number] | state_keys[2 * number + 1], time);
    newest[m] = (time > newest[m] + 1 -> time - 1 : newest[m]);
#else
    newest[m] = state_newest[number];
#endif
    if
#ifdef F_HORIZON_OF_EACH_RECORD
    :: advance(m, number)
#else
    :: state_to[number] > state_from[number] -> advance(m, number)
    :: else
#endif
    fi
}

/* The state record i does not go on from the one before it. Above a low watermark of 0 the first one may begin
 * anywhere. */
#define IS_GAP(m, i) ((position[m] > 0 || filter_low[m] == 0) && state_from[i] != position[m])

inline read_state(m) {
    if
#if !defined(F_RANGE) && !defined(F_LOW)
    :: low > filter_covers[m] -> /* offset out of range */
        NOTE(range_error[m], true);
#ifdef F_RANGE_REFUSED
        refuse(m)
#else
        forget_filter(m); end_seen[m] = 0; phase[m] = OFFSET
#endif
#endif
    :: else ->
        broken = 0;
        scan = (low > filter_covers[m] -> low : filter_covers[m]);
        do
        :: scan < end_seen[m] ->
            if
            :: state_status[scan] == COMMITTED ->
                if
                :: IS_GAP(m, scan) -> broken = 1; break
                :: else -> add_record(m, scan)
                fi
            :: else
            fi;
            scan++
        :: else -> break
        od;
        filter_covers[m] = scan; newest_committed[m] = newest[m];
        if
        :: broken || position[m] != next[m] || (position[m] == 0 && filter_low[m] > 0) -> refuse(m)
#ifndef F_CHECK
        :: !broken && position[m] == next[m] && position[m] > 0 && needed[m] < filter_low[m] -> refuse(m)
#endif
        :: else ->
            if
            :: filter_low[m] > 0 -> NOTE(restored[m], true)
            :: else
            fi;
            end_seen[m] = 0;
            filter_low[m] = 0; /* `needed` never goes back, so this filter has all that is needed from now on */
            expire(m);
            request_cut(needed[m]);
            phase[m] = RUN
        fi
    fi
}

/* S: a member that does not answer records of the partition reads the state records of one transaction. */
#define STANDS_BY(m) (STANDBY && phase[m] >= IDLE && phase[m] <= READ && \
                      (low > filter_covers[m] || (filter_covers[m] < end && state_status[filter_covers[m]] != OPEN)))
inline stand_by(m) {
    if
    :: low > filter_covers[m] -> /* offset out of range */
#ifndef F_STANDBY_RANGE
        forget_filter(m); filter_low[m] = low;
#endif
        filter_covers[m] = low
    :: else ->
        place = filter_covers[m];
        if
#ifndef F_STANDBY_RANGE
        :: state_status[place] == COMMITTED && IS_GAP(m, place) -> forget_filter(m)
#endif
        :: else ->
            filter_covers[m] = place + 1;
            if
            :: state_status[place] == COMMITTED ->
                scan = place;
                add_record(m, scan);
                newest_committed[m] = newest[m];
                NOTE(is_warm[m], true)
            :: else
            fi
        fi
    fi
}

inline answer(m) {
    read_input(next[m]);
    key = input_key[next[m]]; time = input_time[next[m]];
    if
    :: IS_LATE(time, newest[m]) -> given = LATE
    :: else ->
        newest[m] = (time > newest[m] -> time : newest[m]);
        if
        :: (filter[2 * m + key] | overlay[2 * m + key]) & WITHIN(time) -> given = DUPLICATE
        :: else -> given = UNIQUE; overlay[2 * m + key] = overlay[2 * m + key] | BIT(time)
        fi
    fi;
    printf("member %d: answers record %d: %d\n", m, next[m], given);
    if
    :: given != oracle[next[m]] -> wrong[m] = 1
    :: else
    fi;
    next[m] = next[m] + 1
}

#if defined(F_NEEDED_SOON)
#define KEEPS(time, newest_time) ((time) + LATENESS + WINDOW > (newest_time))
#elif defined(F_NEEDED_TIME)
#define KEEPS(time, newest_time) ((time) + LATENESS + WINDOW >= (newest_time))
#else
#define KEEPS(time, newest_time) ((time) >= FIRST_NEEDED(newest_time))
#endif

/* T3. The end of the last horizon that later lookups do not reach. */
inline compute_needed(m) {
    scan = LOG;
    do
    :: scan > expired[m] ->
        if
        :: horizon[m * LOG + scan - 1] > 0 && !KEEPS(horizon[m * LOG + scan - 1] - 1, newest[m]) -> break
        :: else -> scan--
        fi
    :: else -> break
    od;
#if COARSE
    do
#ifdef F_NEEDED_BACK
    :: scan > 0 -> scan--
#else
    :: scan > needed[m] -> scan--
#endif
    :: break
    od;
#endif
    state_needed[end] = scan
}

/* The first key of the transaction, and whether there is a second one. */
#define FIRST_KEY(m) (overlay[2 * m + key] & BIT(time))
#define OTHER_KEYS(m) (overlay[2 * m + key] & ~BIT(time) | overlay[2 * m + 1 - key])

inline write_state(m) {
    compute_needed(m);
    key = input_key[position[m]]; time = input_time[position[m]];
    if
    :: FIRST_KEY(m) && OTHER_KEYS(m) && end + 1 < LOG -> /* two state records */
        state_keys[2 * end + key] = FIRST_KEY(m);
        state_from[end] = position[m]; state_to[end] = position[m];
        state_newest[end] = newest_committed[m];
        printf("member %d: writes state record %d: not the last one, newest %d\n", m, end, state_newest[end]);
        end++;
        state_needed[end] = state_needed[end - 1];
        state_keys[2 * end] = overlay[2 * m] & ~state_keys[2 * end - 2];
        state_keys[2 * end + 1] = overlay[2 * m + 1] & ~state_keys[2 * end - 1]
    :: state_keys[2 * end] = overlay[2 * m]; state_keys[2 * end + 1] = overlay[2 * m + 1]
    fi;
    state_from[end] = position[m]; state_to[end] = next[m];
    state_newest[end] = newest[m];
#ifdef F_NEWEST_OF_KEYS
    if
    :: overlay[2 * m] == 0 && overlay[2 * m + 1] == 0 -> state_newest[end] = newest_committed[m]
    :: else
    fi;
#endif
    printf("member %d: writes state record %d: newest %d, needed %d\n", m, end, state_newest[end], state_needed[end]);
#ifdef F_CUT_EARLY
    request_cut(state_needed[end]);
#endif
    end++;
    own_record[m] = end;
    phase[m] = LOGGED
}

#define CURRENT(m) (member_generation[m] == generation)

/* T4 and T5: the broker refuses an offset of an older generation, and commits that of the current one. */
inline commit(m) {
    if
    :: !CURRENT(m) -> undo(m)
    :: else ->
        printf("broker: the transaction of member %d is committed: offset %d\n", m, next[m]);
        assert(I1_order || position[m] == offset);
        assert(I1_answer_differs || !wrong[m]);
        if
        :: HAS_TWO(m) -> state_status[own_record[m] - 2] = COMMITTED
        :: else
        fi;
        state_status[own_record[m] - 1] = COMMITTED;
        offset = next[m]; chain_needed = state_needed[own_record[m] - 1];
        retention_low = (retention_low > chain_needed -> retention_low : 0);
        phase[m] = ASKED;
#ifdef REACH
#if REACH == 1
        assert(I0_end_reached_after_cut || !(restored[m] && offset == RECORDS && oracle[RECORDS - 1] == DUPLICATE));
#elif REACH == 2
        assert(I0_end_reached_after_range_error || !(restored[m] && range_error[m] && offset == RECORDS));
#elif REACH == 4
        assert(I0_end_reached_with_kept_filter || !(goes_on[m] && offset == RECORDS && oracle[RECORDS - 1] == DUPLICATE));
#elif REACH == 5
        assert(I0_end_reached_by_standby ||
               !(is_warm[m] && low > 0 && offset == RECORDS && oracle[RECORDS - 1] == DUPLICATE));
#endif
#endif
    fi
}

/* The member goes on without the partition. Its transaction stays open until the producer or the broker aborts it. */
inline crash(m) {
    printf("member %d: crashes\n", m);
    forget_transaction(m); forget_filter(m);
    phase[m] = DOWN
}

active [2] proctype member() {
    do
    /* B1: a new producer aborts its open transaction; or the broker has aborted it before. */
    :: atomic { phase[_pid] == DOWN -> abort_transaction(_pid); phase[_pid] = IDLE }
    /* A1 */
    :: atomic { phase[_pid] == IDLE && owner == _pid ->
                printf("member %d: has the partition, generation %d\n", _pid, generation);
                member_generation[_pid] = generation; phase[_pid] = OFFSET }
    :: atomic { phase[_pid] == OFFSET -> next[_pid] = offset; phase[_pid] = END }
    :: atomic { phase[_pid] == END -> end_seen[_pid] = end; phase[_pid] = CHOOSE }
    :: atomic { phase[_pid] == CHOOSE -> choose_filter(_pid) }
    :: atomic { phase[_pid] == READ && ALL_STABLE(_pid) -> read_state(_pid) }
    /* S */
    :: atomic { STANDS_BY(_pid) -> stand_by(_pid) }
    /* T1, T2 */
    :: atomic { phase[_pid] == RUN && next[_pid] < RECORDS && next[_pid] - position[_pid] < BATCH -> answer(_pid) }
    /* T3 */
    :: atomic { phase[_pid] == RUN && end < LOG && next[_pid] != position[_pid] -> write_state(_pid) }
    :: atomic { phase[_pid] == LOGGED -> commit(_pid) }
    :: atomic { phase[_pid] == ASKED -> apply(_pid) }
    /* T7: an error after which the producer may go on */
    :: atomic { (phase[_pid] == RUN && next[_pid] != position[_pid] || phase[_pid] == LOGGED) && aborts < ABORTS ->
                aborts++; undo(_pid) }
    /* N: the member learns that it has lost the partition. */
    :: atomic { phase[_pid] >= OFFSET && phase[_pid] <= LOGGED && !CURRENT(_pid) ->
                printf("member %d: notices that it has lost the partition\n", _pid);
                abort_transaction(_pid); forget_transaction(_pid); phase[_pid] = IDLE;
                if
                :: moves == MOVES && owner != _pid && !STANDBY -> forget_filter(_pid) /* it does not come back */
                :: else
                fi }
    od
}

inline raise_low(number) {
    low = number;
    cuts = (cuts >> (low + 1)) << (low + 1);
    printf("broker: the state topic begins at %d\n", low)
}

active proctype events() {
    do
    :: atomic { moves < MOVES -> moves++; generation++; owner = 1 - owner;
                printf("the group gives the partition to member %d\n", owner) }
    :: atomic { crashes < CRASHES && phase[0] > IDLE && phase[0] != REFUSED -> crashes++; crash(0) }
    :: atomic { crashes < CRASHES && phase[1] > IDLE && phase[1] != REFUSED -> crashes++; crash(1) }
    /* W: the cuts, whenever they are carried out. One that raises nothing changes nothing. */
    :: atomic { cuts >> (low + 1) ->
                scan = low + 1;
                do
                :: cuts & BIT(scan) -> break
                :: cuts >> (scan + 1) -> scan++
                od;
                raise_low(scan) }
    :: atomic { retentions < RETENTION && low < end -> retentions++;
                printf("broker: the retention removes state records\n");
                scan = low + 1;
                do
                :: scan < end -> scan++
                :: break
                od;
                raise_low(scan);
                retention_low = (low > chain_needed -> low : 0) }
    od
}
