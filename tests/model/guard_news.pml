/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How the filter of a guard learns of a new key before its row is written, as a model for SPIN.
 * docs/GUARD-PROTOCOL.md has the steps, with the same letters, and the proof.
 *
 * Idea. A writer appends its key to a stream in Redis, the news, and then waits. Each guard polls the news. A
 * guard that has heard nothing for less than the wait is silent: its filter does not answer. So when the
 * writer writes its row, each guard has the key or is silent.
 *
 *      writer   P2 mark --> N1 news, wait ---------------------------------> P3 row
 *      guard         ... N2 news --> N2 news --> N2 news ...     N3: absent only if the last news are young
 *      build    N4 recent keys --> scan of rows (at some moment for each row) --> switch
 *
 * The model has one key, one guard, two writers, and a row that another program deletes. Guards do not use
 * each other's filters, so one guard is enough. It also hears the news of its own writers, so the model
 * leaves out P1.
 * - A writer crashes at any step. Its row may still be written after that, until the deadline of its mark
 *   (K2).
 * - The stream may have a key although its writer got no reply. The writer then writes no row.
 * - The guard restarts, or hears nothing for any time. It builds a new filter at any time.
 *
 * The model has an order of events and no clock. `heard` has the news from before the moment from which the
 * guard counts the age of what it has heard. When the wait of a writer ends, a guard whose `heard` lacks the
 * news of this writer has become silent. News leave `recent` after the deadline of the writer's mark.
 *
 * I1: a filter that answers "absent" is right. I0 is false on purpose: its violation shows that the search
 * gets to the end. F_... removes a rule, see guard_news_planted.sh.
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
/* bit w: the key of writer w is in the news; it is younger than the life of the mark; the wait has ended */
byte news, recent, waited;

/* The guard. */
bool filter, has_filter, is_silent = true; /* the key is in its filter; it has a filter; it is silent */
bool next, builds, scanned;                /* key in the new filter; it is being built; it has read the row */
byte heard, known;                         /* see above; news that it has read */
bool reads;                                /* Redis has run `read`, and the reply has not come */
byte copy, copied_at;                      /* recent news, and all news, when Redis ran it */
byte build_count, restarts;

/* Writers. */
mtype = { N1, WAIT, P3, END };
mtype writer[2] = N1;
bool sent[2];
byte crashes;

#define BIT(i) (1 << (i))
#define WRITES(w) (writer[w] == WAIT || writer[w] == P3 || sent[w])
#ifdef F_SILENCE /* its filter answers although it is silent */
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

/* After a restart or a gap: what the guard knows of news is lost, or is too old. */
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

/* News become old. A guard that has not read them has heard nothing for the life of a mark, as its clock
 * shows. */
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
