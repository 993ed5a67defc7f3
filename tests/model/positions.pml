/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run that reads a pipe whose records carry positions, as a model for SPIN.
 *
 * Idea. A consumer delivers records of several sources through a pipe. Each record carries its source and its
 * position there. After a crash the consumer delivers records again. The run drops those that it has, by
 * position, and reports each position that is committed, so that the consumer can acknowledge it. The model
 * tries every order of all steps, and a crash of either side at each of them.
 *
 *      consumer  --- pipe --->  query  --- queue --->  write  --->  output buffer  --->  output
 *         ^                    queried                written                            synced
 *         +--- reported <--- commit: length of the output, logged keys, `written` of each source
 *
 * The consumer:
 * N1. delivers each source in the order of its positions;
 * N2. may go back at any time; after a crash of either side it begins at most at the last acknowledged
 *     position + 1;
 * N3. acknowledges only what was reported, at any later time or never. If a source was recreated, reports of
 *     the source as it was before do not count: the consumer begins at its first record.
 *
 * The run, with the letters of docs/DURABILITY.md:
 * Q2. A record above `queried` of its source is new: it raises `queried` and is looked up. Any other was
 * delivered again: it is dropped. If its position is the first or the last one of the source, and its key is
 * another, the run is refused.
 * W3, W4, Q3. The record goes to the output buffer, its key to the log; `written` becomes its position.
 * K1, K2, K4, Q4. Flush the output, sync it, commit, `written` included. Q5. Report `written`.
 * B1, B4, Q6. A start takes filter and positions from the last commit, cuts the output to its length, and
 * reports the positions.
 *
 * What the model leaves out, and why that hides no fault:
 * - A commit of the state is one step: part 1 of docs/DURABILITY.md proves that it is there as a whole or not
 *   at all.
 * - The output is a set, not a sequence: a cut gives back the set of the commit, whatever is behind it.
 * - There are two sources with POSITIONS positions each. Sources share only the filter; the keys of the model
 *   are in both.
 * - Another consumer may begin while records of the one before are still in the pipe. That is a consumer that
 *   went back.
 *
 * Properties:
 * I1. No record and no key is written twice. At the end, each record is in the output or was a duplicate.
 * I2. No record of a source that was recreated is dropped as if it had been delivered again.
 *
 * F_... removes a guard, or lets the consumer break a rule, see positions_planted.sh.
 */

#ifndef POSITIONS
#define POSITIONS 2 /* of each source */
#endif
#ifndef KILLS
#define KILLS 2 /* crashes of the run; the consumer crashes with it */
#endif
#ifndef RETURNS
#define RETURNS 1 /* times that the consumer goes back, or crashes by itself */
#endif
#ifndef POWER
#define POWER 0 /* 1: a crash of the run is a loss of power: output that was not synced is lost */
#endif
#ifndef RECREATED
#define RECREATED 0 /* 1: source 0 is recreated once, with other keys, and read from its first record */
#endif

#define RECORD(s, p) ((s) * POSITIONS + (p))
#define BIT(i) (1 << (i))
/* Keys of source 0: 1, none (0), 2; of source 1: 2, 1, 1. Only a position protects a record without a key. */
#define KEY(s, p) ((s) == 0 -> ((p) == 0 -> 1 : ((p) == 1 -> 0 : 2)) : ((p) == 0 -> 2 : 1))
#define KEY_BIT(s, p) (KEY(s, p) == 0 -> 0 : BIT(KEY(s, p)))

/* Names of properties in assertions: always false. */
bool I1_record_written_twice, I1_record_lost, I1_committed_output_lost, I2_new_source_dropped;

/* Positions are counts: the last position + 1, and 0 if there is none. */
byte next[2], acknowledged[2], reported[2]; /* the consumer's, and what it may acknowledge */
byte queried[2], written[2], committed[2];
bit recreated; /* source 0 was recreated */
/* Keys that are kept of source 0: whether each is one of the recreated source. */
bit first_recreated, queried_recreated, written_recreated, committed_recreated, committed_first_recreated;
bool answered_recreated[POSITIONS]; /* of each answered record of source 0; only for I2 */

/* Sets of keys: queried, logged, committed. */
byte filter, log, committed_filter;
/* Sets of records and keys: in the buffer, in the file, synced, committed. */
byte buffer, buffer_keys, output, output_keys, synced, synced_keys, committed_output, committed_keys;

chan pipe = [2] of { byte, byte, bit };
chan queue = [2] of { byte, byte, bit, bool };

byte kills, returns, step;
bool refused;
byte s, p;
bit g;
bool absent;

inline choose_source() {
    if
    :: s = 0
    :: s = 1
    fi
}

/* p = any number from 0 to max. */
inline choose_position(max) {
    p = 0;
    do
    :: p < max -> p++
    :: break
    od
}

/* A consumer that starts begins at any position that N2 allows. */
inline start_consumer() {
    s = 0;
    do
    :: s < 2 ->
#ifdef F_BEGIN /* beyond the acknowledged position: at the end of what was sent */
        choose_position(next[s]);
#else
        choose_position(acknowledged[s]);
#endif
        next[s] = p;
        s++
    :: else -> break
    od;
    s = 0; p = 0
}

inline report() {
#ifdef F_REPORT_QUERIED
    reported[0] = queried[0]; reported[1] = queried[1];
#else
    reported[0] = written[0]; reported[1] = written[1];
#endif
}

inline start_run() {
    assert(I1_committed_output_lost || (committed_output & ~output) == 0);
#ifndef F_CUT
    output = committed_output; output_keys = committed_keys;
#endif
    synced = output; synced_keys = output_keys;
    buffer = 0; buffer_keys = 0;
    filter = committed_filter; log = filter;
#ifndef F_RESTORE
    queried[0] = committed[0]; queried[1] = committed[1];
    written[0] = committed[0]; written[1] = committed[1];
#else
    queried[0] = 0; queried[1] = 0; written[0] = 0; written[1] = 0;
#endif
    queried_recreated = committed_recreated; written_recreated = committed_recreated;
    first_recreated = committed_first_recreated;
    step = 0;
    report()
}

inline query() {
    pipe?s,p,g;
    if
#ifdef F_POSITIONS
    :: true ->
#else
#ifdef F_SHARED
    :: p >= queried[0] && p >= queried[1] ->
#else
    :: p >= queried[s] ->
#endif
#endif
        if
        :: s == 0 && queried[0] == 0 -> first_recreated = g
        :: else
        fi;
        queried[s] = p + 1;
        absent = (KEY(s, p) == 0 || (filter & KEY_BIT(s, p)) == 0);
        filter = filter | KEY_BIT(s, p);
        if
        :: s == 0 -> queried_recreated = g; answered_recreated[p] = g
        :: else
        fi;
        queue!s,p,g,absent
    :: else ->
        if
#ifndef F_KEYS
        :: s == 0 && p == 0 && g != first_recreated -> refused = true
        :: s == 0 && p + 1 == queried[0] && g != queried_recreated -> refused = true
#endif
        :: else -> assert(I2_new_source_dropped || (s == 1 || g == answered_recreated[p]))
        fi
    fi;
    s = 0; p = 0; g = 0; absent = 0
}

inline write() {
    queue?s,p,g,absent;
    if
    :: absent ->
        assert(I1_record_written_twice || ((output | buffer) & BIT(RECORD(s, p))) == 0);
        assert(I1_record_written_twice || ((output_keys | buffer_keys) & KEY_BIT(s, p)) == 0);
        buffer = buffer | BIT(RECORD(s, p));
        buffer_keys = buffer_keys | KEY_BIT(s, p)
    :: else
    fi;
    log = log | KEY_BIT(s, p);
    written[s] = p + 1;
    if
    :: s == 0 -> written_recreated = g
    :: else
    fi;
    s = 0; p = 0; g = 0; absent = 0
}

inline commit() {
    committed_output = output; committed_keys = output_keys;
#ifdef F_LOG_QUERIED
    committed_filter = filter;
#else
    committed_filter = log;
#endif
#ifdef F_COMMIT_QUERIED
    committed[0] = queried[0]; committed[1] = queried[1]; committed_recreated = queried_recreated;
#else
    committed[0] = written[0]; committed[1] = written[1]; committed_recreated = written_recreated;
#endif
    committed_first_recreated = first_recreated
}

/* All was delivered, and nothing is under way: then all records are in the output, or were duplicates. */
#define DELIVERED (next[0] == POSITIONS && next[1] == POSITIONS && empty(pipe) && empty(queue))
#define HAS(s, p) (KEY(s, p) == 0 -> (output & BIT(RECORD(s, p))) : (output_keys & KEY_BIT(s, p)))

inline check_end() {
    s = 0;
    do
    :: s < 2 ->
        p = 0;
        do
        :: p < POSITIONS -> assert(I1_record_lost || HAS(s, p) != 0); p++
        :: else -> break
        od;
        s++
    :: else -> break
    od
}

active proctype main() {
    do
    /* ---- the consumer ---- */
    :: atomic { nfull(pipe) && next[0] < POSITIONS -> pipe!0,next[0],recreated; next[0] = next[0] + 1 }
    :: atomic { nfull(pipe) && next[1] < POSITIONS -> pipe!1,next[1],0; next[1] = next[1] + 1 }
#ifdef F_ORDER /* N1 is broken: a position is delivered before the one in front of it */
    :: atomic { nfull(pipe) && next[1] == 0 && returns < RETURNS -> returns++; pipe!1,1,0 }
#endif
#ifdef F_ACKNOWLEDGE_OLD /* N3 is broken: a report of the source as it was before counts for the new one */
    :: atomic { acknowledged[0] < reported[0] -> acknowledged[0] = reported[0] }
#else
    :: atomic { !recreated && acknowledged[0] < reported[0] -> acknowledged[0] = reported[0] }
#endif
    :: atomic { acknowledged[1] < reported[1] -> acknowledged[1] = reported[1] }
    :: atomic { returns < RETURNS && next[0] + next[1] > 0 -> returns++;
                choose_source(); choose_position(next[s]); next[s] = p; s = 0; p = 0 }
    :: atomic { returns < RETURNS && next[0] + next[1] > 0 -> returns++; start_consumer() }
#if RECREATED
    :: atomic { !recreated -> recreated = 1; acknowledged[0] = 0; reported[0] = 0;
#ifdef F_MIDDLE /* a new source whose first records were removed before they were read */
                choose_position(POSITIONS - 1); next[0] = p; p = 0
#else
                next[0] = 0
#endif
              }
#endif
    /* ---- the run ---- */
    :: atomic { nempty(pipe) && nfull(queue) -> query(); if :: refused -> break :: else fi }
    :: atomic { nempty(queue) && step == 0 -> write() }
    :: atomic { step == 0 && (written[0] != committed[0] || written[1] != committed[1]) -> /* K1 */
                output = output | buffer; output_keys = output_keys | buffer_keys;
                buffer = 0; buffer_keys = 0; step = 1 }
    :: atomic { step == 1 -> /* K2 */
#ifndef F_SYNC
                synced = output; synced_keys = output_keys;
#endif
#ifdef F_REPORT_EARLY
                report();
#endif
                step = 2 }
    :: atomic { step == 2 -> commit(); step = 3 }
    :: atomic { step == 3 -> report(); step = 0 }
    /* ---- a crash of the run, which the consumer does not outlive ---- */
    :: atomic { kills < KILLS -> kills++;
                do :: len(pipe) > 0 -> pipe?_,_,_ :: else -> break od;
                do :: len(queue) > 0 -> queue?_,_,_,_ :: else -> break od;
#if POWER
                output = synced; output_keys = synced_keys;
#endif
                start_run(); start_consumer() }
    :: atomic { DELIVERED && step == 0 && buffer == 0 && written[0] == committed[0] &&
                written[1] == committed[1] && !RECREATED -> check_end(); break }
    od
}
