/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How the filter of a guard learns of a new key before its row is there, as a model for SPIN. docs/GUARD-PROTOCOL.md has the
 * steps, with the same letters, and the proof.
 *
 * Idea. A writer tells its key to all guards by a stream in Redis, the news, and then waits. A guard reads the news all the
 * time. Its filter answers "absent" only if it has heard from Redis lately; "lately" is shorter than the wait. So when the
 * writer writes its row, each guard has the key, or its filter does not answer.
 *
 *      writer   P2 mark --> N1 news, wait ---------------------------------> P3 row
 *      guard         ... N2 news --> N2 news --> N2 news ...     N3: absent only if the last news are young
 *      build    N4 recent keys --> scan of rows (at some moment for each row) --> switch
 *
 * The model has one key, one guard, two writers, and a row that another program deletes. The filters of two guards do not
 * meet, so one guard shows all. It also hears the news of its own writers, so the model leaves out P1.
 * - A writer crashes at any step; its row may still be written after that, until the deadline of its mark (K2).
 * - News are there although their writer got no answer. It writes no row then.
 * - The guard restarts, or hears nothing for any time. It builds a new filter at any time.
 *
 * Time is in the order of events alone. `heard` has the news that came before the moment from which the guard counts the age
 * of what it has heard. When a writer's wait ends, a guard that counts from a moment before its news has become silent. News
 * leave `recent` after the deadline of the writer's mark.
 *
 * I1: a filter that answers "absent" is right. I0 is false on purpose: its violation shows that the search gets to the end.
 * F_... removes a rule, see guard_news_planted.sh.
 */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef BUILDS
#define BUILDS 2
#endif

bool I0_end_reached, I1_wrong_absent;

bool row, deleted;
/* bit w: the news of writer w are there; they are younger than the life of its mark; its wait has ended */
byte news, recent, waited;

/* The guard. */
bool filter, has_filter, is_silent = true; /* the key is in its filter; it has one; it has heard nothing lately */
bool next, builds, scanned;                /* the filter that is being built */
byte heard, known;                         /* see above; news that it has read */
bool reads;                                /* a reply is under way: */
byte copy, copied_at;                      /* recent news, and all news, at its moment */
byte build_count, restarts;

/* Writers. */
mtype = { N1, WAIT, P3, END };
mtype writer[2] = N1;
bool sent[2];
byte crashes;

#define BIT(i) (1 << (i))
#define WRITES(w) (writer[w] == WAIT || writer[w] == P3 || sent[w])
#ifdef F_SILENCE /* its filter answers although it has heard nothing lately */
#define ANSWERS (has_filter && !filter)
#else
#define ANSWERS (has_filter && !filter && !is_silent)
#endif

inline check() {
    assert(I1_wrong_absent || !(row && ANSWERS))
}

inline write_row() {
    row = true;
    check()
}

/* Adds the key to the filter, and to the one that is being built. */
inline add_key() {
    filter = true;
#ifndef F_BOTH
    next = next || builds
#else
    skip
#endif
}

proctype write(bit w) {
    do
    :: atomic { writer[w] == N1 -> news = news | BIT(w); recent = recent | BIT(w); writer[w] = WAIT }
    :: atomic { writer[w] == N1 -> news = news | BIT(w); recent = recent | BIT(w); writer[w] = END } /* no answer */
#ifdef F_WAIT
    :: atomic { writer[w] == WAIT -> writer[w] = P3 }
#else
    :: atomic { writer[w] == WAIT -> waited = waited | BIT(w); is_silent = is_silent || !(heard & BIT(w)); writer[w] = P3 }
#endif
    :: atomic { writer[w] == P3 -> write_row(); writer[w] = END }
    :: atomic { writer[w] != END && crashes < CRASHES -> crashes++; sent[w] = writer[w] == P3; writer[w] = END }
    :: atomic { sent[w] -> sent[w] = false; write_row() }
    :: atomic { sent[w] -> sent[w] = false }
    :: writer[w] == END && !sent[w] -> break
    od
}

/* All that the guard knows of news is lost with its memory, or is too old. */
inline start_again() {
    filter = false; has_filter = false; is_silent = true; builds = false; next = false; scanned = false;
    reads = false; copy = 0; copied_at = 0
}

proctype guard() {
    do
    /* N2: the moment of the server, and the reply */
    :: atomic { !reads -> reads = true; copy = recent; copied_at = news }
    :: atomic { reads ->
                reads = false; known = known | copy;
                if
                :: copy != 0 -> add_key()
                :: else
                fi;
#ifdef F_SENT /* it counts from the reply, and not from its request */
                heard = news;
#else
                heard = copied_at;
#endif
                is_silent = (waited & ~heard) != 0; /* the reply may have come too late */
                copy = 0; copied_at = 0;
                check() }
    :: atomic { !is_silent -> is_silent = true }
    /* N4 */
    :: atomic { !builds && build_count < BUILDS ->
                build_count++; builds = true; scanned = false;
#ifndef F_BEGIN
                next = (recent & known) != 0
#endif
              }
    :: atomic { builds && !scanned -> scanned = true; next = next || row }
    :: atomic { builds && scanned ->
                builds = false; scanned = false; has_filter = true; filter = next; next = false;
                check() }
    :: atomic { restarts < RESTARTS -> restarts++; start_again(); heard = 0; known = 0 }
    od
}

/* News become old. A guard that has not read them learns from its clock that it has heard nothing for the life of a mark. */
inline forget(w) {
    recent = recent & ~BIT(w);
#ifndef F_GAP
    if
    :: !(known & BIT(w)) -> start_again()
    :: else
    fi
#endif
}

proctype others() {
    do
    :: atomic { (recent & 1) && !WRITES(0) -> forget(0) }
    :: atomic { (recent & 2) && !WRITES(1) -> forget(1) }
    :: atomic { row && !deleted -> deleted = true; row = false }
#ifdef REACH
    :: atomic { deleted && row && has_filter && filter && !is_silent && recent == 0 && build_count == BUILDS && restarts == RESTARTS ->
                assert(I0_end_reached || !row) }
#endif
    od
}

init { atomic { run guard(); run write(0); run write(1); run others() } }
