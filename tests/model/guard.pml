/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The protocol of a guard, as a model for SPIN. docs/GUARD-PROTOCOL.md has the steps, with the same letters, and the proof.
 *
 * Idea. A row of a database is cached as an entry in a Redis; version 0 is the row that does not exist, so its entry is a
 * null. A writer adds the key to the filter and sets a mark before it writes the row. While a mark is there, nobody gets a
 * lease; the mark removes the lease that somebody has; and without a lease nothing becomes an entry.
 *
 *      writer   P1 filter --> P2 mark, no entry, no lease --> P3 row -------------> P4 no mark, no entry, no lease
 *      reader   G1 filter --> G2 entry, or lease ------------------> G3 row --> G4 entry, if it still has the lease
 *
 * The model tries every order of all steps of two readers and two writers of one key:
 * - A process crashes at any step. The row of a writer may still be written after that.
 * - A script is carried out, and its answer is lost. Its sender sends it again, or ends. A sending may come late.
 * - Leases and entries expire at any time. A mark expires once the row is written, or will never be (assumption K2).
 * - SLOW: a mark expires at any time.
 *
 * What the model leaves out, and why that hides no fault:
 * - Other keys: their entries, leases and marks lie in keys of their own.
 * - Caches of a process: they have copies of answers that were right, for a stated time.
 * - A reader that waits for the lease of another one: it begins again at G1.
 *
 * Properties:
 * I1. A key that the filter does not have has no row.
 * I2. An entry is the row. With SLOW this holds while no writer is between P1 and its answer of P4.
 * I0 is false on purpose: its violation shows that the search gets to the end.
 *
 * F_... removes a guard, see guard_planted.sh.
 */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LATE
#define LATE 1 /* scripts whose answer is lost or that are carried out late */
#endif
#ifndef LOADS
#define LOADS 2 /* leases that readers get, late ones included */
#endif

#define NONE 255

/* Names of properties in assertions: always false. */
bool I0_end_reached, I1_wrong_absent, I2_old_entry;

/* The database and the filter. */
byte row, rows;
bool in_filter;
/* The Redis: the version in the entry, the token of the lease, and the marks of the two writers. */
byte entry = NONE, lease, marks;
/* A row that a crashed writer has sent. */
bool sent[2];
/* Scripts that come late. */
mtype = { NO_SCRIPT, LEASE, STORE, MARK, UNMARK };
#if LATE > 1
#define SLOTS 2
#else
#define SLOTS 1
#endif
mtype late[SLOTS] = NO_SCRIPT;
byte late_token[SLOTS], late_version[SLOTS];

/* Processes. Phases: steps, and the end. */
mtype = { G1, G2, AGAIN, G3, G4, P1, P2, P3, P4, END };
mtype reader[2] = G1, writer[2] = P1;
byte token[2], version[2], tokens;
byte crashes, lates;
bool crashed[2];

#define BIT(i) (1 << (i))
#ifdef F_SENDINGS /* one token for all sendings of G2 */
#define SENDINGS 1
#else
#define SENDINGS 2
#endif
#ifdef F_MARK /* leases in spite of marks */
#define MARKS 0
#else
#define MARKS marks
#endif
#define WRITES(w) (writer[w] == P3 || sent[w]) /* its mark must not expire */
#ifdef SLOW
#define ENTRY_IS_OLD                                                                                         \
    (entry != NONE && entry != row && (writer[0] == P1 || writer[0] == END) && (writer[1] == P1 || writer[1] == END) && \
     !crashed[0] && !crashed[1])
#else
#define ENTRY_IS_OLD (entry != NONE && entry != row)
#endif

inline check() {
    assert(I2_old_entry || !(ENTRY_IS_OLD));
    assert(I1_wrong_absent || in_filter || row == 0)
}

/* ---- scripts: each is one moment ---- */

/* G2 */
inline run_lease(t) {
    if
    :: entry == NONE && lease == 0 && MARKS == 0 -> lease = t
    :: else
    fi
}

/* G4 */
inline run_store(t, v) {
    if
#ifdef F_TOKEN
    :: true ->
#else
    :: lease == t ->
#endif
        entry = v; lease = 0
    :: else
    fi;
    check()
}

/* P2 */
inline run_mark(w) {
    marks = marks | BIT(w);
#ifndef F_ENTRY
    entry = NONE;
#endif
#ifndef F_LEASE
    lease = 0
#else
    skip
#endif
}

/* P4 */
inline run_unmark(w) {
#ifdef F_MARKS /* it removes the marks of all writers */
    marks = 0;
#else
    marks = marks & ~BIT(w);
#endif
#ifndef F_LAST_ENTRY
    entry = NONE;
#endif
#ifndef F_LAST_LEASE
    lease = 0
#else
    skip
#endif
}

/* A script that its sender gives up on: it was carried out, or comes late, or neither. */
#define LOST_OR_LATE (lates < LATE)
inline delay(script, t, v) {
    lates++;
    if
    :: late[0] == NO_SCRIPT -> late[0] = script; late_token[0] = t; late_version[0] = v
#if LATE > 1
    :: late[0] != NO_SCRIPT && late[1] == NO_SCRIPT -> late[1] = script; late_token[1] = t; late_version[1] = v
#endif
    :: true
    fi
}

/* ---- processes ---- */

proctype read(bit r) {
    do
    :: atomic { reader[r] == G1 ->
                assert(I1_wrong_absent || in_filter || row == 0);
                if
                :: in_filter -> reader[r] = G2 /* may also be a false positive */
                :: true -> reader[r] = G2
                fi }
    :: atomic { reader[r] == G2 && entry != NONE -> reader[r] = END }
    :: atomic { reader[r] == G2 && entry == NONE && tokens < LOADS -> tokens++; token[r] = tokens; run_lease(tokens);
                if
                :: lease == tokens -> reader[r] = G3
                :: else -> token[r] = 0; reader[r] = G1 /* it waits, or reads the row for itself alone */
                fi }
    :: atomic { reader[r] == G2 && tokens < LOADS && LOST_OR_LATE -> tokens++; delay(LEASE, tokens, 0); reader[r] = END }
    :: atomic { reader[r] == G2 && entry == NONE && tokens + SENDINGS <= LOADS && LOST_OR_LATE -> /* sent again */
                tokens++; delay(LEASE, tokens, 0); tokens = tokens + SENDINGS - 1; token[r] = tokens; run_lease(tokens);
                if
                :: lease == tokens -> reader[r] = G3
                :: else -> token[r] = 0; reader[r] = G1
                fi }
    :: atomic { reader[r] == G2 && entry == NONE && tokens + SENDINGS <= LOADS && LOST_OR_LATE -> /* twice: the */
                lates++; tokens++; run_lease(tokens); token[r] = tokens; reader[r] = AGAIN } /* answer to the first is lost */
    :: atomic { reader[r] == AGAIN ->
                if
                :: entry == NONE && MARKS == 0 && (lease == 0 || lease == token[r]) ->
                   tokens = tokens + SENDINGS - 1; token[r] = tokens; lease = tokens; reader[r] = G3
                :: else -> token[r] = 0; reader[r] = G1
                fi }
    :: atomic { reader[r] == G3 -> version[r] = row; reader[r] = G4 }
    :: atomic { reader[r] == G4 -> run_store(token[r], version[r]); reader[r] = END }
    :: atomic { reader[r] == G4 && LOST_OR_LATE -> delay(STORE, token[r], version[r]); reader[r] = END }
    :: atomic { reader[r] == G4 && LOST_OR_LATE -> delay(STORE, token[r], version[r]); run_store(token[r], version[r]);
                reader[r] = END } /* sent again */
    :: atomic { reader[r] == G4 && LOST_OR_LATE -> lates++; run_store(token[r], version[r]); reader[r] = END }
    :: atomic { reader[r] != END && crashes < CRASHES -> crashes++; reader[r] = END }
    :: atomic { reader[r] == END && tokens < LOADS -> token[r] = 0; version[r] = 0; reader[r] = G1 }
    :: reader[r] == END -> break
    od
}

inline write_row() {
    rows++; row = rows;
#ifdef F_FILTER
    assert(I1_wrong_absent || in_filter);
#endif
    check()
}

proctype write(bit w) {
    do
    :: atomic { writer[w] == P1 ->
#ifndef F_FILTER /* the filter comes after the row */
                in_filter = true;
#endif
#ifdef F_FIRST /* no mark before the row */
                writer[w] = P3
#else
                writer[w] = P2
#endif
              }
    :: atomic { writer[w] == P2 -> run_mark(w); writer[w] = P3 }
    :: atomic { writer[w] == P2 && LOST_OR_LATE -> delay(MARK, w, 0); writer[w] = END } /* refused: no row */
    :: atomic { writer[w] == P2 && LOST_OR_LATE -> delay(MARK, w, 0); run_mark(w); writer[w] = P3 } /* sent again */
    :: atomic { writer[w] == P3 -> write_row(); writer[w] = P4 }
    :: atomic { writer[w] == P4 -> in_filter = true; run_unmark(w); writer[w] = END; check() }
    :: atomic { writer[w] == P4 && LOST_OR_LATE -> delay(UNMARK, w, 0); run_unmark(w); writer[w] = END } /* sent again */
    :: atomic { writer[w] == P4 && LOST_OR_LATE -> delay(UNMARK, w, 0); crashed[w] = true; writer[w] = END }
    :: atomic { writer[w] != END && crashes < CRASHES -> crashes++; crashed[w] = true; sent[w] = writer[w] == P3;
                writer[w] = END }
    :: atomic { sent[w] -> sent[w] = false; write_row() }
    :: atomic { sent[w] -> sent[w] = false } /* the database did not get it */
    :: writer[w] == END && !sent[w] -> break
    od
}

#define COMES_LATE(i)                                                                                        \
    :: atomic { late[i] == LEASE -> late[i] = NO_SCRIPT; run_lease(late_token[i]) }                          \
    :: atomic { late[i] == STORE -> late[i] = NO_SCRIPT; run_store(late_token[i], late_version[i]) }         \
    :: atomic { late[i] == MARK -> late[i] = NO_SCRIPT; run_mark(late_token[i]) }                            \
    :: atomic { late[i] == UNMARK -> late[i] = NO_SCRIPT; run_unmark(late_token[i]) }

proctype others() {
    do
    COMES_LATE(0)
#if LATE > 1
    COMES_LATE(1)
#endif
    :: atomic { lease != 0 -> lease = 0 }
    :: atomic { entry != NONE -> entry = NONE }
#if defined(SLOW) || defined(F_LIFE)
    :: atomic { marks & 1 -> marks = marks & ~1 }
    :: atomic { marks & 2 -> marks = marks & ~2 }
#else
    :: atomic { (marks & 1) && !WRITES(0) -> marks = marks & ~1 }
    :: atomic { (marks & 2) && !WRITES(1) -> marks = marks & ~2 }
#endif
#ifdef REACH
    :: atomic { writer[0] == END && writer[1] == END && rows == 2 && entry == 2 ->
                assert(I0_end_reached || (crashes < CRASHES || lates < LATE)) }
#endif
    od
}

init { atomic { run read(0); run read(1); run write(0); run write(1); run others() } }
