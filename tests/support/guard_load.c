/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/guard_serve.h"
#include "support/scratch.h"

enum { PIPELINE = 16, ITEM_MAX = 20000, DELETED = 4 };

/* ---- the database ---- */

void guard_load_tables(const postgres_server *database) {
    PGconn *conn = postgres_reach(database);

    postgres_run(conn, "ALTER ROLE reader SET log_statement = 'all'");
    postgres_run(
        conn,
        "CREATE TABLE items AS SELECT n::bigint AS id, rpad('item ' || n || ' ', CASE WHEN n %% 50 = 0 "
        "THEN %d ELSE 20 + n %% 80 END, '.') AS value FROM generate_series(1, %d) AS n",
        ITEM_MAX, LOAD_ROWS);
    postgres_run(conn, "ALTER TABLE items ADD PRIMARY KEY (id); ANALYZE items");
    postgres_run(conn, "CREATE TABLE live (id bigint PRIMARY KEY, value text, place bigserial)");
    /* Some queries are late: they return the row as it was when they began. */
    postgres_run(conn, "CREATE FUNCTION late_row(wanted bigint) RETURNS SETOF text LANGUAGE plpgsql AS "
                       "'BEGIN RETURN QUERY SELECT value FROM live WHERE id = wanted; "
                       "IF random() < 0.2 THEN PERFORM pg_sleep(random() * 0.6); END IF; END'");
    PQfinish(conn);
}

static void read_log(const postgres_server *database, test_bytes *log) {
    char path[120];

    snprintf(path, sizeof path, "%s/log", database->directory);
    file_read(path, log);
    bytes_add(log, "", 1);
}

uint64_t guard_load_position(const postgres_server *database) {
    test_bytes log = {0};

    read_log(database, &log);
    const uint64_t size = log.size - 1;
    bytes_clear(&log);
    return size;
}

uint64_t guard_load_queries(const postgres_server *database, uint64_t position, const char *statement,
                            const char *part) {
    test_bytes log = {0};
    uint64_t count = 0;
    char head[60];

    snprintf(head, sizeof head, "execute %s_", statement); /* and the number of the session */
    read_log(database, &log);
    for (char *found = (char *)log.data + position; (found = strstr(found, head)) != NULL;) {
        char *text = found + strlen(head), *next = strstr(text, " LOG:  ");
        if (next)
            *next = '\0';
        count += strstr(text, part) != NULL;
        found = next ? next + 1 : text;
    }
    bytes_clear(&log);
    return count;
}

/* ---- the oracle ---- */

typedef struct request {
    bool is_live;
    uint64_t id;
    uint64_t finished; /* of is_live: the version whose write was finished before the request */
} request;

__attribute__((format(printf, 2, 3))) static void note_failure(guard_load *load, const char *format, ...) {
    va_list values;

    va_start(values, format);
    pthread_mutex_lock(&load->lock);
    if (!*load->failure)
        vsnprintf(load->failure, sizeof load->failure, format, values);
    pthread_mutex_unlock(&load->lock);
    va_end(values);
    atomic_store(&load->is_over, true);
}

/* Writes the bytes of the reply for an item. Returns their number. */
static size_t print_item_reply(char to[ITEM_MAX + 20], uint64_t id) {
    char value[40];

    if (id > LOAD_ROWS)
        return (size_t)sprintf(to, "$-1\r\n");
    const size_t used = (size_t)sprintf(value, "item %llu ", (unsigned long long)id);
    const size_t size = id % 50 == 0 ? ITEM_MAX : 20 + id % 80;
    const size_t head = (size_t)sprintf(to, "$%zu\r\n%s", size, value);
    memset(to + head, '.', size - used);
    memcpy(to + head + size - used, "\r\n", 2);
    return head + size - used + 2;
}

static bool is_known_error(const serve_reply *reply) {
    static const char *const words[] = {"LOADING ", "TIMEOUT ", "IOERR ", "BUSY "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(reply->text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool is_item_right(const request *sent, const serve_reply *reply) {
    char expected[ITEM_MAX + 20];
    const size_t size = print_item_reply(expected, sent->id);

    if (reply->kind == SERVE_NULL)
        return sent->id > LOAD_ROWS;
    return sent->id <= LOAD_ROWS && reply->size + 2 <= size &&
           memcmp(expected + size - 2 - reply->size, reply->text, reply->size) == 0 &&
           (size_t)atoll(expected + 1) == reply->size;
}

/* Reads the version of a value. False: it is not a value of the row. */
static bool read_version(const request *sent, const serve_reply *reply, uint64_t *version) {
    unsigned long long id, number;
    char text[60];
    int used = 0;

    snprintf(text, sizeof text, "%.*s", (int)reply->size, reply->text);
    if (sscanf(text, "live %llu %llu%n", &id, &number, &used) != 2 || (size_t)used != reply->size)
        return false;
    *version = number;
    return id == sent->id;
}

static bool is_live_right(guard_load *load, const request *sent, const serve_reply *reply) {
    const bool is_foreign = sent->id >= LOAD_FOREIGN;
    const uint64_t last = is_foreign ? 1 : atomic_load(&load->begun[sent->id]);
    uint64_t version;

    if (reply->kind == SERVE_NULL) /* is a multiple of four among the versions? */
        return !is_foreign && last / DELETED * DELETED >= sent->finished;
    return read_version(sent, reply, &version) && version >= sent->finished && version <= last;
}

static void check_reply(guard_load *load, const request *sent, const serve_reply *reply) {
    bool is_right = reply->kind != SERVE_OTHER;

    if (reply->kind == SERVE_ERROR) {
        is_right = is_known_error(reply);
        atomic_fetch_add(strncmp(reply->text, "LOADING ", 8) == 0 ? &load->loading : &load->errors, 1);
        pthread_mutex_lock(&load->lock);
        snprintf(load->error, sizeof load->error, "%.*s", (int)reply->size, reply->text);
        pthread_mutex_unlock(&load->lock);
    } else if (is_right) {
        is_right = sent->is_live ? is_live_right(load, sent, reply) : is_item_right(sent, reply);
        atomic_fetch_add(reply->kind == SERVE_NULL ? &load->absent : &load->values, 1);
    }
    if (!is_right)
        note_failure(load, "%s:%llu, version %llu or later: '%.*s'%s", sent->is_live ? "live" : "item",
                     (unsigned long long)sent->id, (unsigned long long)sent->finished,
                     (int)(reply->size < 100 ? reply->size : 100), reply->text,
                     reply->kind == SERVE_NULL ? ", no row" : "");
}

/* The bytes before the end of a connection are the beginning of the right reply, or of an error. */
static void check_beginning(guard_load *load, const request *sent, const serve_client *client) {
    char expected[ITEM_MAX + 20];
    const size_t got = client->end - client->begin;

    if (sent->is_live || got == 0 || client->bytes[client->begin] == '-')
        return;
    if (got > print_item_reply(expected, sent->id) || memcmp(expected, client->bytes + client->begin, got))
        note_failure(load, "item:%llu: begins with '%.*s'", (unsigned long long)sent->id,
                     (int)(got < 100 ? got : 100), client->bytes + client->begin);
}

/* ---- readers ---- */

typedef struct reader {
    guard_load *load;
    const char *socket;
    uint64_t random;
    serve_client client;
} reader;

static request draw_request(guard_load *load, uint64_t *random) {
    if (test_below(random, 100) < load->live_percent) {
        const unsigned foreign = atomic_load(&load->foreign);
        const uint64_t number = test_below(random, LOAD_LIVE + foreign);
        if (number >= LOAD_LIVE)
            return (request){true, LOAD_FOREIGN + number - LOAD_LIVE, 1};
        return (request){true, number + 1, atomic_load(&load->finished[number + 1])};
    }
    const uint64_t kind = test_below(random, 100);
    if (kind < 80)
        return (request){false, LOAD_ROWS + 1 + test_below(random, 1000000000), 0};
    const uint64_t id = 1 + test_below(random, kind < 95 ? LOAD_HOT : LOAD_ROWS);
    atomic_store(&load->was_requested[id], true);
    return (request){false, id, 0};
}

static bool send_requests(serve_client *client, const request *requests) {
    char bytes[PIPELINE * 64];
    size_t size = 0;

    for (size_t i = 0; i < PIPELINE; i++) {
        char key[40];
        const int length = sprintf(key, "%s:%llu", requests[i].is_live ? "live" : "item",
                                   (unsigned long long)requests[i].id);
        size += (size_t)sprintf(bytes + size, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", length, key);
    }
    return serve_send(client, bytes, size);
}

static void connect_reader(reader *self) {
    const guard_load *load = self->load;

    while (!atomic_load(&load->is_over)) {
        if (load->port ? serve_connect_port(&self->client, load->port)
                       : serve_connect(&self->client, self->socket))
            return;
        pause_ms(1);
    }
}

static void *run_reader(void *context) {
    reader *self = context;
    guard_load *load = self->load;
    request requests[PIPELINE];

    self->client.fd = -1;
    for (uint64_t sent = 0; !atomic_load(&load->is_over) && (!load->requests || sent < load->requests);) {
        if (self->client.fd < 0)
            connect_reader(self);
        for (size_t i = 0; i < PIPELINE; i++)
            requests[i] = draw_request(load, &self->random);
        bool is_open = self->client.fd >= 0;
        const uint64_t errors = load->errors + load->loading;
        (void)(is_open && send_requests(&self->client, requests)); /* some may have arrived */
        for (size_t i = 0; is_open && i < PIPELINE; i++) {
            serve_reply reply;
            is_open = serve_read(&self->client, &reply);
            if (is_open)
                check_reply(load, &requests[i], &reply);
            else
                check_beginning(load, &requests[i], &self->client);
            atomic_fetch_add(&load->lost, is_open ? 0 : PIPELINE - i);
        }
        sent += PIPELINE;
        if (!is_open)
            serve_disconnect(&self->client);
        if (load->errors + load->loading != errors)
            pause_ms(5);
    }
    serve_disconnect(&self->client);
    free(self);
    return NULL;
}

/* ---- writers ---- */

/* Writes a version of a row. False: GUARD.ADD was refused or lost. */
static bool write_version(guard_load *load, serve_client *client, unsigned long long id, uint64_t version) {
    serve_reply reply;

    if (!serve_query(client, &reply, "GUARD.ADD live:%llu", id)) {
        serve_disconnect(client);
        return false;
    }
    if (!serve_is(&reply, SERVE_OTHER, "OK")) {
        atomic_fetch_add(&load->refused_writes, 1);
        return false;
    }
    PGconn *conn = postgres_reach(load->database);
    atomic_store(&load->begun[id], version);
    if (version % DELETED == 0)
        postgres_run(conn, "DELETE FROM live WHERE id = %llu", id);
    else
        postgres_run(
            conn,
            "INSERT INTO live VALUES (%llu, 'live %llu %llu') ON CONFLICT (id) DO UPDATE SET value = "
            "excluded.value, place = nextval('live_place_seq')",
            id, id, (unsigned long long)version);
    atomic_fetch_add(&load->writes, 1);
    PQfinish(conn);
    return true;
}

/* Writes the next version of a row, as docs/guide/serve.md says. */
static void write_row(guard_load *load, serve_client *client, uint64_t id) {
    const uint64_t version = atomic_load(&load->begun[id]) + 1;
    serve_reply reply;

    if (client->fd < 0 && !serve_connect(client, load->sockets[0]))
        return;
    const bool is_written = write_version(load, client, id, version);
    if (client->fd >= 0 && !serve_query(client, &reply, "DEL live:%llu", (unsigned long long)id))
        serve_disconnect(client);
    else if (is_written)
        atomic_store(&load->finished[id], version);
}

/* Each writer has rows of its own. */
typedef struct writer {
    guard_load *load;
    uint64_t number;
} writer;

static void *run_writer(void *context) {
    const writer self = *(writer *)context;
    guard_load *load = self.load;
    serve_client *client = calloc(1, sizeof *client);

    assert_non_null(client);
    free(context);
    client->fd = -1;
    for (uint64_t id = self.number; !atomic_load(&load->is_over); id += LOAD_WRITERS) {
        if (id >= LOAD_LIVE)
            id = self.number;
        while (atomic_load(&load->holds_writes) && !atomic_load(&load->is_over))
            pause_ms(5);
        pthread_rwlock_rdlock(&load->writing);
        write_row(load, client, id + 1);
        pthread_rwlock_unlock(&load->writing);
        pause_ms(2);
    }
    serve_disconnect(client);
    free(client);
    return NULL;
}

void guard_load_hold_writes(guard_load *load) {
    atomic_store(&load->holds_writes, true);
    pthread_rwlock_wrlock(&load->writing);
}

void guard_load_allow_writes(guard_load *load) {
    atomic_store(&load->holds_writes, false);
    pthread_rwlock_unlock(&load->writing);
}

/* ---- the load ---- */

void guard_load_init(guard_load *load) {
    const char *const sockets[] = {load->sockets[0], load->sockets[1]};

    memset(load, 0, sizeof *load);
    memcpy(load->sockets, sockets, sizeof sockets);
    pthread_mutex_init(&load->lock, NULL);
    pthread_rwlock_init(&load->writing, NULL);
}

void guard_load_start(guard_load *load) {
    load->is_running = true;
    for (size_t i = 0; i < LOAD_READERS; i++) {
        reader *made = calloc(1, sizeof *made);
        assert_non_null(made);
        made->load = load;
        made->socket = load->sockets[load->sockets[1] ? i % 2 : 0];
        made->random = load->seed + i;
        assert_int_equal(pthread_create(&load->readers[i], NULL, run_reader, made), 0);
    }
    for (size_t i = 0; load->database && i < LOAD_WRITERS; i++) {
        writer *made = malloc(sizeof *made);
        assert_non_null(made);
        *made = (writer){load, i};
        assert_int_equal(pthread_create(&load->writers[i], NULL, run_writer, made), 0);
    }
}

/* Ends the readers after their requests, and then the writers. */
static void join_threads(guard_load *load) {
    for (size_t i = 0; i < LOAD_READERS; i++)
        pthread_join(load->readers[i], NULL);
    atomic_store(&load->is_over, true);
    for (size_t i = 0; load->database && i < LOAD_WRITERS; i++)
        pthread_join(load->writers[i], NULL);
    pthread_mutex_destroy(&load->lock);
    pthread_rwlock_destroy(&load->writing);
    load->is_running = false;
}

void guard_load_abandon(guard_load *load) {
    if (!load->is_running)
        return;
    atomic_store(&load->is_over, true);
    if (atomic_load(&load->holds_writes))
        guard_load_allow_writes(load);
    join_threads(load);
}

void guard_load_finish(guard_load *load) {
    if (!load->requests)
        atomic_store(&load->is_over, true);
    join_threads(load);
    printf("values %llu, absent %llu, loading %llu, errors %llu, lost %llu, writes %llu, refused %llu\n",
           (unsigned long long)load->values, (unsigned long long)load->absent,
           (unsigned long long)load->loading, (unsigned long long)load->errors,
           (unsigned long long)load->lost, (unsigned long long)load->writes,
           (unsigned long long)load->refused_writes);
    if (*load->failure)
        fail_msg("%s", load->failure);
    assert_true(load->values > 0 && load->absent > 0);
}

uint64_t guard_load_known(guard_load *load) {
    uint64_t count = 0;

    for (size_t i = 1; i <= LOAD_ROWS; i++)
        count += atomic_load(&load->was_requested[i]);
    return count;
}
