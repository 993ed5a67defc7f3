/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The exactly-once protocol of `tamis kafka count`, as a model for SPIN. docs/KAFKA-COUNT-PROTOCOL.md has the steps,
 * with the same letters, and the proof.
 *
 * Idea. Members of a consumer group add up the records of a partition in counters of a Redis. Each slot of the Redis has
 * counters and a position, which one script changes together. The home slot comes last. A member begins at the position of
 * the home slot, and skips in each slot what is below the position of that slot.
 *
 *      record 0  record 1  record 2          slot 1: records 0 and 2
 *         |         |         |              slot 0, the home slot: record 1; with SLOTS 1 all records
 *         +---------+---------+---> member --> script to slot 1 --> script to slot 0 --> offset of the group
 *
 * The model tries every order of all steps of two members:
 * - A member crashes at any step.
 * - The group gives the partition to the other member at any time. The old owner is a zombie until it looks, and may do any
 *   of its steps before that, restoring included. Kafka refuses its commits.
 * - A script is carried out, and its answer is lost; or a copy of it is carried out late, after its sender has ended.
 * - LOSSES: a slot goes back to what it was at an earlier moment.
 *
 * What the model leaves out, and why that hides no fault:
 * - There is one partition. A script compares the positions of all its partitions, and does all or nothing.
 * - A slot has one counter for each record. Adding up is the caller's arithmetic.
 * - Removed records, and topics that are made again: no step but a refusal (A4) deals with them.
 * - Two slots: other slots than the home slot have nothing to do with each other.
 *
 * Properties:
 * I1. No record is counted twice, and a slot has exactly the contributions below its position (V1).
 * I2. No record below the position of the home slot is missing (V2). With LOSSES this holds for a single slot.
 * I3. No member is refused.
 * I0 is false on purpose: its violation shows that the search gets to the end.
 *
 * F_... removes a guard, see kafka_count_planted.sh.
 */

#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef MOVES
#define MOVES 1 /* times that the group gives the partition to the other member */
#endif
#ifndef LATE
#define LATE 1 /* scripts whose answer is lost or that are carried out late */
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef RECORDS
#define RECORDS 3
#endif

#ifdef F_LOSS
#define LOSS_SLOT 1
#else
#define LOSS_SLOT 0
#endif
#define NONE 255
#define UNKNOWN 254
#define BIT(i) (1 << (i))
#if SLOTS == 1
#define SLOT_OF(i) 0
#else
#define SLOT_OF(i) (((i) & 1) == 0)
#endif
/* The contributions to a slot below a position. */
#define BELOW(slot, p)                                                                                       \
    (((p) > 0 && SLOT_OF(0) == (slot) -> 1 : 0) | ((p) > 1 && SLOT_OF(1) == (slot) -> 2 : 0) |               \
     ((p) > 2 && SLOT_OF(2) == (slot) -> 4 : 0))

/* Names of properties in assertions: always false. */
bool I0_end_reached, I1_counted_twice, I1_not_as_position, I2_lost, I3_refused_without_reason;

/* Redis: the contributions counted in each slot, its position, and those that it had before. */
byte counted[2], position[2] = NONE, former[2];
/* The group: its owner, offset, and metadata. */
bit owner;
byte offset = NONE;
bit offset_counted;
/* A script that comes late. */
byte late_slot = NONE, late_from, late_to, late_batch;

/* Members. Phases: reads the home slot, fetches the offset, counts, sends to slot 1, to slot 0, commits; repeats A1. */
mtype = { A1, A2, R, C, C4, C5, C6 };
mtype phase[2] = A1;
byte home[2], next[2], batch[4], known[4], lower[2] = NONE;
byte crashes, moves, lates, losses;
byte answer, p; /* of a script: 0 conflict, 1 success */

#define BATCH(m, slot) batch[2 * (m) + (slot)]
#define KNOWN(m, slot) known[2 * (m) + (slot)]

inline check() {
    assert(I1_not_as_position || counted[0] == BELOW(0, (position[0] == NONE -> 0 : position[0])));
    assert(I1_not_as_position || counted[1] == BELOW(1, (position[1] == NONE -> 0 : position[1])));
    assert(I2_lost || (BELOW(1, (position[0] == NONE -> 0 : position[0])) & ~counted[1]) == 0)
}

/* C4: the script. */
inline run_script(slot, from, to, contributions) {
    if
#ifdef F_COMPARE
    :: true ->
#else
    :: position[slot] == from ->
#endif
        assert(I1_counted_twice || (counted[slot] & (contributions)) == 0);
        counted[slot] = counted[slot] | (contributions);
        if
        :: position[slot] != NONE -> former[slot] = former[slot] | BIT(position[slot])
        :: else
        fi;
        position[slot] = to;
        answer = 1
    :: else -> answer = (position[slot] == to)
    fi;
    check()
}

inline forget(m) {
    BATCH(m, 0) = 0; BATCH(m, 1) = 0;
    KNOWN(m, 0) = UNKNOWN; KNOWN(m, 1) = UNKNOWN;
    next[m] = 0; home[m] = 0; phase[m] = A1
}

/* C7 */
inline conflict(m, slot) {
#ifndef F_LOWER
    if
    :: KNOWN(m, slot) < UNKNOWN && (position[slot] == NONE || position[slot] < KNOWN(m, slot)) ->
        lower[m] = (position[slot] == NONE -> 0 : position[slot])
    :: else
    fi;
#endif
    forget(m)
}

/* C4 or C5: sends the batch of a slot. */
inline send(m, slot, then) {
    if
    :: atomic { run_script(slot, KNOWN(m, slot), next[m], BATCH(m, slot));
                if
                :: answer -> KNOWN(m, slot) = next[m]; BATCH(m, slot) = 0; phase[m] = then
                :: else -> conflict(m, slot)
                fi; answer = 0 }
    :: atomic { lates < LATE -> lates++; run_script(slot, KNOWN(m, slot), next[m], BATCH(m, slot)); answer = 0 }
    :: atomic { lates < LATE && late_slot == NONE -> lates++; late_slot = slot; late_from = KNOWN(m, slot);
                late_to = next[m]; late_batch = BATCH(m, slot) }
    fi
}

inline decide(m) {
    if
    :: home[m] != NONE && offset != NONE -> next[m] = home[m]; phase[m] = C
#ifdef F_OFFSET /* the group's offset decides */
    :: home[m] != NONE && offset != NONE -> next[m] = offset; phase[m] = C
#endif
    :: home[m] == NONE && offset != NONE && !offset_counted -> next[m] = offset; phase[m] = C
    :: home[m] == NONE && offset == NONE -> next[m] = 0;
#ifndef F_BEGIN
        if
        :: owner == m -> offset = 0; phase[m] = C /* A3 */
        :: else -> forget(m) /* Kafka refuses the commit of a zombie */
        fi
#else
        phase[m] = C
#endif
    :: else ->
#ifdef F_REPEAT
        assert(I3_refused_without_reason || LOSSES > 0)
#endif
        phase[m] = R
    fi;
    if
    :: phase[m] == C && lower[m] < next[m] -> next[m] = lower[m]
    :: else
    fi;
    if
    :: phase[m] == C -> KNOWN(m, 0) = home[m]; lower[m] = NONE
    :: else
    fi
}

proctype member(bit m) {
    do
    :: atomic { phase[m] == A1 && owner == m -> home[m] = position[0]; phase[m] = A2 }
    :: atomic { phase[m] == A2 -> decide(m) }
    :: atomic { phase[m] == R -> assert(I3_refused_without_reason || (home[m] != position[0])); forget(m) }
    /* C1 to C3 */
    :: atomic { phase[m] == C && next[m] < RECORDS ->
#if SLOTS == 2
                if
                :: SLOT_OF(next[m]) == 1 && KNOWN(m, 1) == UNKNOWN -> KNOWN(m, 1) = position[1]
                :: else
                fi;
#endif
                if
#ifdef F_SKIP
                :: true ->
#else
                :: KNOWN(m, SLOT_OF(next[m])) == NONE || next[m] >= KNOWN(m, SLOT_OF(next[m])) ->
#endif
                    BATCH(m, SLOT_OF(next[m])) = BATCH(m, SLOT_OF(next[m])) | BIT(next[m])
#ifndef F_SKIP
                :: else
#endif
                fi;
                next[m] = next[m] + 1;
#ifdef F_EARLY /* the offset is committed before the scripts */
                if :: owner == m -> offset = next[m]; offset_counted = 1 :: else fi
#endif
              }
    :: atomic { phase[m] == C && next[m] > (KNOWN(m, 0) == NONE -> 0 : KNOWN(m, 0)) ->
#ifdef F_ORDER /* the home slot comes first */
                phase[m] = C5
#else
                phase[m] = C4
#endif
              }
#ifdef F_ORDER
    :: phase[m] == C5 -> send(m, 0, C4)
    :: phase[m] == C4 && BATCH(m, 1) != 0 -> send(m, 1, C6)
    :: atomic { phase[m] == C4 && BATCH(m, 1) == 0 -> phase[m] = C6 }
#else
    :: phase[m] == C4 && BATCH(m, 1) != 0 -> send(m, 1, C5)
    :: atomic { phase[m] == C4 && BATCH(m, 1) == 0 -> phase[m] = C5 }
    :: phase[m] == C5 -> send(m, 0, C6)
#endif
    :: atomic { phase[m] == C6 ->
                if :: owner == m -> offset = next[m]; offset_counted = 1 :: else fi;
                phase[m] = C }
    :: atomic { crashes < CRASHES -> crashes++; forget(m); lower[m] = NONE }
    :: atomic { owner != m && phase[m] != A1 -> forget(m) } /* it looks: N */
    :: atomic { phase[m] == C && next[m] == RECORDS && position[0] == RECORDS ->
                assert(I2_lost || (counted[0] | counted[1]) == 7);
#ifdef REACH
                assert(I0_end_reached || (owner == 0 || crashes + moves + lates < CRASHES + MOVES + LATE));
#endif
                break }
    od
}

proctype others() {
    do
    :: atomic { moves < MOVES -> moves++; owner = 1 - owner }
    :: atomic { late_slot != NONE -> run_script(late_slot, late_from, late_to, late_batch); answer = 0; late_slot = NONE }
    :: atomic { losses < LOSSES && former[LOSS_SLOT] != 0 -> losses++;
                p = 0;
                do
                :: p < RECORDS && (former[LOSS_SLOT] & BIT(p)) -> break
                :: p < RECORDS -> p++
                :: else -> p = NONE; break
                od;
                if
                :: p != NONE && p < position[LOSS_SLOT] -> position[LOSS_SLOT] = p; counted[LOSS_SLOT] = BELOW(LOSS_SLOT, p)
                :: else
                fi; p = 0 }
    od
}

init { atomic {
    known[0] = UNKNOWN; known[1] = UNKNOWN; known[2] = UNKNOWN; known[3] = UNKNOWN;
    run member(0); run member(1); run others()
} }
