/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A pipeline: commands are put while earlier ones are on their way, so that neither side waits for the other.
 *
 *      redo | next ... count        asked       pending (oldest first)        answered
 *      -----+---------------- ask ---------->  | i | j | k | ...  | ---- take ------>
 *        ^                                         |
 *        +-------- connection lost, server not ready-+
 *
 * Invariants: every index is in just one of these places; replies come in the order of `pending`; an index that went
 * back after it was sent is marked in `sent`, because nobody knows whether its command was carried out.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_int.h"
#include "store/trouble.h"

enum {
    WINDOW = 4096,      /* commands on their way */
    AT_ONCE = 16 << 10, /* bytes put before the next look at the socket */
};

typedef struct flight {
    tamis_redis *redis;
    const tamis__exchange *exchange;
    tamis__link *link; /* NULL: to be opened */
    size_t next, answered;
    size_t *pending; /* WINDOW of them, a ring */
    size_t first, pending_count;
    size_t *redo; /* room for WINDOW: what was pending once, falling; the last is the next */
    size_t redo_count;
    bool redone;    /* anything was ever there */
    uint8_t *sent;  /* a bit an index; NULL: none was lost yet */
    uint64_t tries; /* since the last answer */
    uint64_t last;  /* time of the last answer, or when it began */
    uint64_t heard; /* time of the last bytes, or when something was asked after there was nothing to hear */
    uint64_t pause_till; /* nothing is asked before */
    tamis_error trouble; /* why it was last asked again */
} flight;

/* ---- what can be ridden out ---- */

static bool begins(const tamis__reply *reply, const char *word) {
    size_t size = strlen(word);
    return reply->size > size && memcmp(reply->text, word, size) == 0 && reply->text[size] == ' ';
}

static bool is_passing(const tamis__reply *error) {
    static const char *const passing[] = {
        "LOADING", "BUSY", "MASTERDOWN", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "ERR max number of clients"};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (begins(error, passing[i]))
            return true;
    return false;
}

tamis_status tamis__redis_refused(const tamis_redis *redis, const char *what, const tamis__reply *reply,
                                  tamis_error *err) {
    static const struct {
        const char *word, *remedy;
        tamis_status status;
    } known[] = {
        {"NOAUTH", "give user and password in the URI", TAMIS_E_REFUSED},
        /* Said to who is not known yet and sends a command of more than 10 words. */
        {"ERR Protocol error: unauthenticated", "give user and password in the URI", TAMIS_E_REFUSED},
        {"NOPERM",
         "grant it with ACL SETUSER; of NAME a filter needs ~bf:NAME (layout java) or ~tamis:{NAME* and "
         "+bitfield +getrange +setrange +bitcount +hget +hset +hsetnx +eval +pexpire +pttl +persist +del "
         "+unlink",
         TAMIS_E_REFUSED},
        {"OOM", "raise maxmemory, or free memory there; nothing was changed by this command",
         TAMIS_E_REFUSED},
        {"WRONGTYPE", "another program keeps something else under this name: choose another",
         TAMIS_E_MISMATCH},
        {"MISCONF", "the server cannot save to its disk: see its log", TAMIS_E_REFUSED},
        {"LOADING", "wait until the server has read its data", TAMIS_E_REFUSED},
        {"READONLY", "this server is a replica: name the master", TAMIS_E_REFUSED},
        {"ERR max number of clients", "raise its maxclients, or have others close connections",
         TAMIS_E_REFUSED},
    };
    const char *remedy = "see the server's log and its version (6.2 or later is needed)";
    tamis_status status = TAMIS_E_REFUSED;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (begins(reply, known[i].word)) {
            remedy = known[i].remedy;
            status = known[i].status;
        }
    }
    return tamis__fail(err, status, 0, "redis %s: %s: %.200s; %s", redis->to.shown, tamis__show(what).text,
                       tamis__show(reply->text).text, remedy);
}

/* ---- indices ---- */

static bool was_sent(const flight *run, size_t i) {
    return run->sent && run->sent[i / 8] >> i % 8 & 1;
}

static tamis_status mark_sent(flight *run, size_t i, tamis_error *err) {
    size_t size = (run->exchange->count + 7) / 8;
    if (!run->sent)
        run->sent = tamis__alloc(&run->redis->allocator, size, 1);
    if (!run->sent)
        return tamis__fail_nomem(err, "redis", size);
    run->sent[i / 8] |= (uint8_t)(1 << i % 8);
    return TAMIS_OK;
}

static bool is_asked_out(const flight *run) {
    return run->redo_count == 0 && run->next == run->exchange->count;
}

static void put_some(flight *run) {
    if (run->pending_count == 0)
        run->heard = tamis__now_ns();
    while (run->pending_count < WINDOW && !is_asked_out(run) && tamis__link_unsent(run->link) < AT_ONCE) {
        size_t i = run->redo_count > 0 ? run->redo[--run->redo_count] : run->next++;
        if (run->exchange->ask(run->exchange->context, i, run->link))
            run->pending[(run->first + run->pending_count++) % WINDOW] = i;
        else
            run->answered++;
    }
}

/* Once more later, the least number first. WINDOW bounds how many are in pending and redo together, since put_some takes
 * of redo first. */
static void put_back(flight *run, size_t i) {
    size_t at = run->redo_count++;
    for (; at > 0 && run->redo[at - 1] < i; at--)
        run->redo[at] = run->redo[at - 1];
    run->redo[at] = i;
    run->redone = true;
}

static tamis_status lose_link(flight *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    tamis__link_close(run->link);
    run->link = NULL;
    while (run->pending_count > 0 && status == TAMIS_OK) {
        size_t i = run->pending[(run->first + --run->pending_count) % WINDOW];
        status = mark_sent(run, i, err);
        put_back(run, i);
    }
    return status;
}

/* ---- waiting ---- */

static uint64_t deadline_of(const flight *run) {
    return run->last + run->redis->patience_ns;
}

static uint64_t earlier(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

/* retry_ns and more, doubled up to 32 times, half of it by chance: clients that lost one server together do not come
 * back together. */
static void pause_for_a_while(flight *run) {
    uint64_t wait = run->redis->retry_ns << (run->tries < 5 ? run->tries : 5);
    uint64_t chance = (tamis__now_ns() * UINT64_C(0x9e3779b97f4a7c15)) >> 32; /* of 2^32 */
    run->tries++;
    run->pause_till = tamis__now_ns() + wait / 2 + (wait / 2 * chance >> 32);
}

static tamis_status fail_with_trouble(const flight *run, tamis_error *err) {
    if (err)
        *err = run->trouble;
    return run->trouble.status;
}

static tamis_status wait_out_pause(flight *run, tamis_error *err) {
    int ready;
    if (run->pause_till >= deadline_of(run))
        return fail_with_trouble(run, err);
    return tamis__link_wait(NULL, 0, run->pause_till, &ready, err);
}

/* A failure of the connection is kept in mind and mended later; others end the run. */
static tamis_status ride_out(flight *run, tamis_status status, tamis_error *err) {
    if (status != TAMIS_E_IO && status != TAMIS_E_TIMEOUT) {
        if (err)
            *err = run->trouble;
        return status;
    }
    status = lose_link(run, err);
    pause_for_a_while(run);
    return status;
}

static tamis_status reach(flight *run, tamis_error *err) {
    tamis_status status = run->tries > 0 ? wait_out_pause(run, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;
    uint64_t deadline = earlier(tamis__now_ns() + run->redis->connect_ns, deadline_of(run));
    if (run->tries == 0)
        status = tamis__redis_lease(run->redis, &run->link, &run->trouble);
    else
        status = tamis__link_open(&run->link, &run->redis->to, deadline, &run->trouble);
    return status == TAMIS_OK ? TAMIS_OK : ride_out(run, status, err);
}

/* ---- replies ---- */

static tamis_status take_one(flight *run, const tamis__reply *reply, tamis_error *err) {
    const tamis__exchange *exchange = run->exchange;
    size_t i = run->pending[run->first];
    run->first = (run->first + 1) % WINDOW;
    run->pending_count--;
    if (reply->type == TAMIS__REPLY_ERROR) {
        tamis__redis_refused(run->redis, exchange->what, reply, &run->trouble);
        if (!is_passing(reply))
            return fail_with_trouble(run, err);
        put_back(run, i);
        if (run->pause_till <= tamis__now_ns())
            pause_for_a_while(run);
        return run->pause_till >= deadline_of(run) ? fail_with_trouble(run, err) : TAMIS_OK;
    }
    run->answered++;
    run->tries = 0;
    run->last = tamis__now_ns();
    return exchange->take(exchange->context, i, reply, was_sent(run, i), err);
}

static tamis_status take_all(flight *run, tamis_error *err) {
    for (;;) {
        const tamis__reply *reply;
        tamis_status status = tamis__link_reply(run->link, &reply, &run->trouble);
        if (status != TAMIS_OK)
            return ride_out(run, status, err);
        if (!reply)
            return TAMIS_OK;
        if (run->pending_count == 0) {
            tamis__fail(&run->trouble, TAMIS_E_IO, 0,
                        "redis %s: sent a reply that nobody asked for; is it a Redis at that port?",
                        run->redis->to.shown);
            return ride_out(run, TAMIS_E_IO, err);
        }
        status = take_one(run, reply, err);
        if (status != TAMIS_OK)
            return status;
    }
}

static tamis_status receive(flight *run, tamis_error *err) {
    bool some;
    tamis_status status = tamis__link_receive(run->link, &some, &run->trouble);
    if (status != TAMIS_OK)
        return ride_out(run, status, err);
    if (some)
        run->heard = tamis__now_ns();
    return take_all(run, err);
}

/* A server that says nothing is lost; one that says much and answers nothing is not waited for either. */
static tamis_status check_silence(flight *run, tamis_error *err) {
    const uint64_t now = tamis__now_ns();
    const bool is_late = now >= deadline_of(run);
    if (!is_late && (run->pending_count == 0 || now < run->heard + run->redis->read_ns))
        return TAMIS_OK;
    if (run->pending_count == 0 && run->trouble.status != TAMIS_OK)
        return fail_with_trouble(run, err); /* all it had was refused for now */
    tamis_status status = tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                                      "redis %s: did not answer in time; check server and network, or give "
                                      "more time (%s=)",
                                      run->redis->to.shown, is_late ? "patience" : "read_timeout");
    return is_late ? fail_with_trouble(run, err) : ride_out(run, status, err);
}

/* Moves bytes both ways; waits only where there is nothing else to do. */
static tamis_status move(flight *run, tamis_error *err) {
    const bool pausing = run->pause_till > tamis__now_ns();
    int ready;
    if (!pausing)
        put_some(run);
    if (run->answered == run->exchange->count)
        return TAMIS_OK; /* what was left was no command */
    tamis_status status = tamis__link_send(run->link, &run->trouble);
    if (status != TAMIS_OK)
        return ride_out(run, status, err);
    struct pollfd fd = tamis__link_poll(run->link);
    bool can_ask =
        !is_asked_out(run) && run->pending_count < WINDOW && tamis__link_unsent(run->link) < AT_ONCE;
    uint64_t until = deadline_of(run);
    if (run->pending_count > 0)
        until = earlier(until, run->heard + run->redis->read_ns);
    if (can_ask)
        until = pausing ? earlier(until, run->pause_till) : 0;
    status = tamis__link_wait(&fd, 1, until, &ready, err);
    if (status == TAMIS_OK && ready > 0 && (fd.revents & ~POLLOUT))
        status = receive(run, err);
    return status == TAMIS_OK && run->link ? check_silence(run, err) : status;
}

static tamis_status run_all(flight *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    while (run->answered < run->exchange->count && status == TAMIS_OK)
        status = run->link ? move(run, err) : reach(run, err);
    /* After a failure replies are on their way that nobody waits for. */
    if (status == TAMIS_OK && run->link)
        tamis__redis_give_back(run->redis, run->link);
    else
        tamis__link_close(run->link);
    return status;
}

tamis_status tamis__redis_run(tamis_redis *redis, const tamis__exchange *exchange, bool *redone,
                              tamis_error *err) {
    flight run = {.redis = redis, .exchange = exchange, .last = tamis__now_ns(), .trouble = TAMIS_ERROR_INIT};
    const size_t size = 2 * WINDOW * sizeof(size_t);
    run.pending = tamis__alloc(&redis->allocator, size, _Alignof(size_t));
    if (!run.pending)
        return tamis__fail_nomem(err, "redis", size);
    run.redo = run.pending + WINDOW;
    tamis_status status = run_all(&run, err);
    tamis__free(&redis->allocator, run.pending, size);
    if (run.sent)
        tamis__free(&redis->allocator, run.sent, (exchange->count + 7) / 8);
    if (redone)
        *redone = run.redone;
    return status;
}
