/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Commands of a client through a whole server, with rows in SQLite and named filters. Byte 0 of the input is the
 * size of the pieces in which the rest arrives; its lowest bit: the client must send the password `pw` first.
 *
 * Each command has one reply, in its order. Replies about rows are right. Replies are whole, and nothing follows
 * the last one. The server answers all that it has received, and then closes the connection.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "server/server_int.h"
#include "support/scratch.h"

enum { BIG = 50000, REPLY_MAX = 256 << 10, DEPTH_MAX = 4, RUNS = 1000 };

static tamis_server *server;
static unsigned runs;

static void check(bool holds) {
    if (!holds)
        abort();
}

/* ---- the server; this thread is the one of its event loop ---- */

static atomic_long live_blocks;

static void *alloc_block(void *context, size_t size, size_t align) {
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    (void)context;
    if (!block)
        return NULL;
    atomic_fetch_add(&live_blocks, 1);
    return memset(block, 0, size);
}

static void free_block(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    atomic_fetch_sub(&live_blocks, block != NULL);
    free(block);
}

static int remove_path(const char *path, const struct stat *st, int type, struct FTW *position) {
    (void)st;
    (void)type;
    (void)position;
    return remove(path);
}

static void remove_directory(void) {
    nftw(scratch(""), remove_path, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_server(void) {
    static const char rows[] = "CREATE TABLE items (id INTEGER PRIMARY KEY, value TEXT);"
                               "INSERT INTO items VALUES (1, 'one'), (2, 'two'), (3, '');";
    static const char config[] =
        "listen: unix:socket\n"
        "password: pw\n"
        "command_max: 16KiB\n"
        "reply_max: 256KiB\n"
        "database: {sqlite: memory, init: rows.sql}\n"
        "filters: {directory: filters, max: 4, memory: 4MiB}\n"
        "keyspaces:\n"
        "  - {keys: 'item:*', row: SELECT value FROM items WHERE id = ?1, all_keys: SELECT id FROM items,\n"
        "     timeout: 60s}\n"
        "  - {keys: 'big:*', row: SELECT zeroblob(50000) WHERE ?1 = 'b', cache: 64KiB, timeout: 60s}\n";
    static const tamis_allocator allocator = {alloc_block, free_block, NULL};
    tamis_server_options options = TAMIS_SERVER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    options.allocator = &allocator; /* all memory in blocks that a sanitizer knows */
    scratch_make_in_memory();
    file_write(scratch("rows.sql"), rows, sizeof rows - 1);
    file_write(scratch("config.yaml"), config, sizeof config - 1);
    if (tamis_server_open(&server, scratch("config.yaml"), &options, &err) != TAMIS_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void close_server(void) {
    if (!server)
        return;
    tamis_server_close(server);
    check(atomic_load(&live_blocks) == 0);
    remove_directory();
    server = NULL;
}

/* Filters would make a run depend on earlier ones. */
static bool is_used(void) {
    filter_stats stats;
    tamis__filters_stats(server->filters, &stats);
    return stats.filters > 0 || ++runs % RUNS == 0;
}

/* False: the server has closed the connection. */
static bool receive_replies(int fd, test_bytes *replies) {
    char bytes[16 << 10];
    ssize_t count;

    while ((count = recv(fd, bytes, sizeof bytes, 0)) > 0)
        bytes_add(replies, bytes, (size_t)count);
    return count < 0 && errno == EAGAIN;
}

/* Sends the input and collects the replies, until the server has closed the connection. */
static void run_client(const uint8_t *data, size_t size, size_t piece, bool knows_password,
                       test_bytes *replies) {
    int ends[2];
    size_t sent = 0;
    bool is_open = true;

    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    tamis__client_accept(server, ends[0]);
    check(server->client_count == 1);
    server->clients->is_authenticated = knows_password;
    while (server->client_count > 0) {
        if (is_open && sent < size) {
            const ssize_t count =
                send(ends[1], data + sent, size - sent < piece ? size - sent : piece, MSG_NOSIGNAL);
            sent = count < 0 && errno != EAGAIN ? size : sent + (count > 0 ? (size_t)count : 0);
        }
        if (is_open && sent == size)
            shutdown(ends[1], SHUT_WR);
        check(event_base_loop(server->base, sent < size ? EVLOOP_NONBLOCK : EVLOOP_ONCE) >= 0);
        if (is_open && !receive_replies(ends[1], replies)) {
            is_open = false;
            sent = size;
            close(ends[1]);
        }
    }
    check(!is_open || !receive_replies(ends[1], replies));
    if (is_open)
        close(ends[1]);
    check(server->request_count == 0);
}

/* ---- replies ---- */

/* Returns the bytes of the first reply. Aborts if there is no whole one. */
static size_t reply_size(const char *bytes, size_t size, int depth) {
    const char *end = size > 0 ? memchr(bytes, '\n', size) : NULL;
    check(end && end - bytes >= 2 && end[-1] == '\r' && depth <= DEPTH_MAX);
    size_t used = (size_t)(end + 1 - bytes);
    long count = strtol(bytes + 1, NULL, 10);

    switch (*bytes) {
    case '+':
    case '-':
    case ':':
    case '_':
    case '#':
        return used;
    case '$':
    case '=':
        if (count == -1)
            return used;
        check(count >= 0 && (size_t)count + 2 <= size - used && memcmp(bytes + used + count, "\r\n", 2) == 0);
        return used + (size_t)count + 2;
    case '*':
    case '~':
    case '%':
        for (count *= *bytes == '%' ? 2 : 1; count > 0; count--)
            used += reply_size(bytes + used, size - used, depth + 1);
        return used;
    default:
        abort();
    }
}

static bool has_text(const char *bytes, size_t size, const char *text) {
    return size >= strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

/* ---- expected replies ---- */

typedef enum row_kind { ROW_FOUND, ROW_NONE, ROW_ERROR } row_kind;

static bool key_is(tamis_key key, const char *text) {
    return key.size == strlen(text) && memcmp(key.data, text, key.size) == 0;
}

static row_kind find_row(tamis_key key, const char **value, size_t *size) {
    static const char *const items[] = {"item:1", "item:2", "item:3"}, *const values[] = {"one", "two", ""};
    static const char zeros[BIG];

    for (size_t i = 0; i < 3; i++) {
        if (!key_is(key, items[i]))
            continue;
        *value = values[i];
        *size = strlen(values[i]);
        return ROW_FOUND;
    }
    *value = zeros;
    *size = BIG;
    if (key_is(key, "big:b"))
        return ROW_FOUND;
    const bool is_item = has_text(key.data, key.size, "item:"), is_big = has_text(key.data, key.size, "big:");
    return (is_item && key.size > 5) || (is_big && key.size > 4) ? ROW_NONE : ROW_ERROR;
}

static void check_value(tamis_key key, const char *bytes, size_t size) {
    const char *value;
    size_t value_size;
    char head[24];

    switch (find_row(key, &value, &value_size)) {
    case ROW_FOUND:
        snprintf(head, sizeof head, "$%zu\r\n", value_size);
        check(has_text(bytes, size, head) && size == strlen(head) + value_size + 2);
        check(memcmp(bytes + strlen(head), value, value_size) == 0);
        break;
    case ROW_NONE:
        check((size == 5 && has_text(bytes, size, "$-1\r\n")) ||
              (size == 3 && has_text(bytes, size, "_\r\n")));
        break;
    default:
        check(*bytes == '-');
    }
}

/* Without a reply that is longer than reply_max. */
static void check_values(const tamis_key *keys, size_t count, const char *bytes, size_t size) {
    size_t used = strcspn(bytes, "\n") + 1, found = 0;
    bool has_error = false;

    for (size_t i = 0; i < count; i++) {
        const char *value;
        size_t value_size;
        const row_kind kind = find_row(keys[i], &value, &value_size);
        has_error |= kind == ROW_ERROR;
        found += kind == ROW_FOUND ? value_size : 0;
    }
    if (has_error || found > REPLY_MAX) {
        check(*bytes == '-');
        return;
    }
    check(*bytes == '*' && strtoul(bytes + 1, NULL, 10) == count);
    for (size_t i = 0; i < count; i++) {
        const size_t more = reply_size(bytes + used, size - used, 1);
        check_value(keys[i], bytes + used, more);
        used += more;
    }
    check(used == size);
}

static void check_number(const char *bytes, tamis_key key, long found, long missing) {
    const char *value;
    size_t size;
    const row_kind kind = find_row(key, &value, &size);
    check(kind == ROW_ERROR
              ? *bytes == '-'
              : *bytes == ':' && strtol(bytes + 1, NULL, 10) == (kind == ROW_FOUND ? found : missing));
}

static void check_reply(const tamis_key *arguments, size_t count, const char *bytes, size_t size) {
    if (count == 2 && tamis__server_is_word(arguments[0], "GET"))
        check_value(arguments[1], bytes, size);
    else if (count >= 2 && tamis__server_is_word(arguments[0], "MGET"))
        check_values(arguments + 1, count - 1, bytes, size);
    else if (count == 2 && tamis__server_is_word(arguments[0], "EXISTS"))
        check_number(bytes, arguments[1], 1, 0);
    else if (count == 2 && tamis__server_is_word(arguments[0], "TTL"))
        check_number(bytes, arguments[1], -1, -2);
    else if (count == 2 && tamis__server_is_word(arguments[0], "ECHO"))
        check(*bytes == '$' && size >= arguments[1].size + 2 &&
              memcmp(bytes + size - 2 - arguments[1].size, arguments[1].data, arguments[1].size) == 0);
}

/* ---- a run ---- */

/* Compares the replies with the commands, which are parsed as a whole. */
static void check_replies(char *data, size_t size, bool knows_password, const char *bytes, size_t left) {
    const size_t max = server->config->command_max;
    const resp_limits limits = {.arguments = max / 4, .bulk = max, .command = max + 64};
    resp_parser parser = {.memory = tamis__allocator_resolve(NULL)};
    resp_result result = RESP_COMMAND;
    bool has_ended = false;

    while (!has_ended) {
        size_t used = 0;
        result = tamis__resp_parse(&parser, &limits, data, size, &used);
        if (result == RESP_PARTIAL || (result == RESP_COMMAND && parser.count == 0 && used == size))
            break;
        data += used;
        size -= used;
        if (result == RESP_COMMAND && parser.count == 0)
            continue;
        const size_t reply = reply_size(bytes, left, 0);
        const bool is_refused = has_text(bytes, reply, "-ERR Protocol error: ");
        /* A client without the password has smaller limits. */
        check(result == RESP_INVALID ? is_refused : !is_refused || !knows_password);
        has_ended = is_refused;
        if (result == RESP_COMMAND && !is_refused) {
            knows_password &= !tamis__server_is_word(parser.arguments[0], "RESET");
            if (!has_text(bytes, reply, "-NOAUTH "))
                check_reply(parser.arguments, parser.count, bytes, reply);
            else
                check(!knows_password);
            has_ended = tamis__server_is_word(parser.arguments[0], "QUIT");
        }
        bytes += reply;
        left -= reply;
    }
    check(left == 0);
    tamis__resp_parser_release(&parser);
}

/* libFuzzer calls this first. While threads of the server run, a block whose only address is on its way to
 * another thread seems to be leaked. Leaks are looked for when the fuzzer has ended. */
int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerInitialize(int *count, char ***words) {
    static char flag[] = "-detect_leaks=0";
    static char *more[64];

    if (*count + 2 > (int)(sizeof more / sizeof *more))
        return 0;
    memcpy(more, *words, (size_t)*count * sizeof *more);
    more[(*count)++] = flag;
    *words = more;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool is_registered;
    if (size < 2)
        return 0;
    if (!server) {
        signal(SIGPIPE, SIG_IGN);
        open_server();
        if (!is_registered)
            is_registered = atexit(close_server) == 0;
    }
    const bool knows_password = !(data[0] & 1);
    test_bytes replies = {0}, input = {0};

    bytes_add(&input, data + 1, size - 1);
    run_client(data + 1, size - 1, 1u + data[0], knows_password, &replies);
    bytes_add(&replies, "", 1);
    check_replies((char *)input.data, input.size, knows_password, (const char *)replies.data,
                  replies.size - 1);
    bytes_clear(&replies);
    bytes_clear(&input);
    if (is_used())
        close_server();
    return 0;
}
