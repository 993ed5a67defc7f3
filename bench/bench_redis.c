/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Clients of a Redis for bench/redis.py, which starts the servers and reads their statistics. Element i is
 * the text of the number FIRST + i. `add` adds COUNT elements, `check` looks up COUNT, every other one of
 * which was not added.
 *
 *     bench_redis bits PORT add|check COUNT BATCH BITS PROBES      layout java, as its published class: a SETBIT or
 *                                                                  GETBIT a probe, BATCH elements a flush
 *     bench_redis bitfield PORT add|check COUNT BATCH BITS PROBES  the same bits, a BITFIELD an element
 *     bench_redis filter URI add|check|absent COUNT BATCH          libtamis-redis, BATCH elements a call; absent: looks
 *                                                                  up elements that were not added
 *     bench_redis push URI BYTES                                   a filter made in memory
 *     bench_redis words add|check|absent COUNT                     writes the elements, a line each
 *
 * Prints wall seconds and CPU seconds of the loop, and the number of elements found (push: 0). An added
 * element that is not found is an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

enum {
    DIGITS = 8,
    FIRST = 10000000,      /* the lowest number with so many digits, */
    NOT_ADDED = FIRST * 5, /* and the first number of elements that are never added */
    HEAD = 64,             /* exceeds the words of a command before its bits */
    COMMAND_OF_BIT = 64,   /* SETBIT bf:seen OFFSET 1 */
    PUSHED_KEYS_QUERIED = 100000
};

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_redis: %s\n", what);
    exit(2);
}

static void succeed(tamis_status status, const tamis_error *err) {
    need(status == TAMIS_OK, err->text);
}

static void *allocate(size_t size) {
    void *bytes = malloc(size);
    need(bytes, "out of memory");
    return bytes;
}

/* ---- elements ---- */

typedef struct elements {
    tamis_key *keys;
    char *text;
    size_t count;
    bool adds, has_added; /* has_added: every other element was added */
} elements;

static uint64_t number_of(const elements *set, size_t i) {
    if (set->adds)
        return FIRST + i;
    if (set->has_added && i % 2 == 0)
        return FIRST + i / 2;
    return NOT_ADDED + i;
}

static bool was_added(const elements *set, size_t i) {
    return set->has_added && i % 2 == 0;
}

static elements make_elements(const char *what, const char *count) {
    elements set = {.count = (size_t)strtoull(count, NULL, 10)};
    set.adds = strcmp(what, "add") == 0;
    set.has_added = strcmp(what, "check") == 0;
    need(set.count > 0 && set.count < FIRST * UINT64_C(4), "no such COUNT");
    set.text = allocate(set.count * DIGITS);
    set.keys = allocate(set.count * sizeof *set.keys);
    for (size_t i = 0; i < set.count; i++) {
        char *to = set.text + i * DIGITS;
        uint64_t number = number_of(&set, i);
        for (int digit = DIGITS - 1; digit >= 0; digit--, number /= 10)
            to[digit] = (char)('0' + number % 10);
        set.keys[i] = (tamis_key){to, DIGITS};
    }
    return set;
}

static void free_elements(elements *set) {
    free(set->keys);
    free(set->text);
}

/* ---- clocks ---- */

typedef struct clocks {
    double wall, cpu;
} clocks;

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static clocks now(void) {
    return (clocks){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

static void print_since(clocks start, size_t found) {
    const clocks end = now();
    printf("%.6f %.6f %zu\n", end.wall - start.wall, end.cpu - start.cpu, found);
}

/* ---- a client without a library: it makes and parses the bytes itself, which is fastest ---- */

typedef struct raw {
    int fd;
    bool adds, is_bitfield;
    uint32_t probes;
    char *out, *in;
    size_t used;
} raw;

static void connect_to(raw *client, const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    const int enabled = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    need(client->fd >= 0 && connect(client->fd, (struct sockaddr *)&to, sizeof to) == 0, strerror(errno));
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
}

static void put_text(raw *client, const char *text) {
    const size_t size = strlen(text);
    memcpy(client->out + client->used, text, size);
    client->used += size;
}

/* $size CR LF number CR LF */
static void put_number(raw *client, uint64_t number) {
    char digits[24], *pos = digits + sizeof digits;
    *--pos = '\n';
    *--pos = '\r';
    do
        *--pos = (char)('0' + number % 10);
    while (number /= 10);
    const size_t size = (size_t)(digits + sizeof digits - pos);
    char *to = client->out + client->used;
    to[0] = '$';
    size_t used = 1;
    if (size - 2 > 9)
        to[used++] = '1';
    to[used++] = (char)('0' + (size - 2) % 10);
    to[used++] = '\r';
    to[used++] = '\n';
    memcpy(to + used, pos, size);
    client->used += used + size;
}

static void put_bits(raw *client, const uint64_t *positions) {
    for (uint32_t j = 0; j < client->probes; j++) {
        put_text(client, client->adds ? "*4\r\n$6\r\nSETBIT\r\n$7\r\nbf:seen\r\n"
                                      : "*3\r\n$6\r\nGETBIT\r\n$7\r\nbf:seen\r\n");
        put_number(client, positions[j]);
        if (client->adds)
            put_text(client, "$1\r\n1\r\n");
    }
}

static void put_bitfield(raw *client, const uint64_t *positions) {
    char head[HEAD];
    snprintf(head, sizeof head, "*%" PRIu32 "\r\n$8\r\nBITFIELD\r\n$7\r\nbf:seen\r\n",
             2 + client->probes * (client->adds ? 4 : 3));
    put_text(client, head);
    for (uint32_t j = 0; j < client->probes; j++) {
        put_text(client, client->adds ? "$3\r\nSET\r\n$2\r\nu1\r\n" : "$3\r\nGET\r\n$2\r\nu1\r\n");
        put_number(client, positions[j]);
        if (client->adds)
            put_text(client, "$1\r\n1\r\n");
    }
}

static void send_out(raw *client) {
    for (size_t sent = 0; sent < client->used;) {
        ssize_t moved = send(client->fd, client->out + sent, client->used - sent, MSG_NOSIGNAL);
        need(moved > 0, strerror(errno));
        sent += (size_t)moved;
    }
    client->used = 0;
}

/* True if all bits of the element were set before. Its replies begin at `from`. */
static bool had_all(const raw *client, const char *from, size_t head) {
    bool has_all = true;
    need(head == 0 || *from == '*', "expected an array as reply");
    from += head;
    for (uint32_t j = 0; j < client->probes; j++, from += 4) {
        need(from[0] == ':' && (from[1] == '0' || from[1] == '1') && from[2] == '\r',
             "expected a bit as reply");
        has_all = has_all && from[1] == '1';
    }
    return has_all;
}

/* Replies have a known size, except for errors, which had_all detects. */
static size_t receive_batch(raw *client, const elements *set, size_t from, size_t count) {
    const size_t head = !client->is_bitfield ? 0 : client->probes < 10 ? 4 : 5; /* *20 CR LF */
    const size_t each = head + 4 * (size_t)client->probes, size = count * each;
    size_t found = 0;
    for (size_t got = 0; got < size;) {
        ssize_t moved = recv(client->fd, client->in + got, size - got, 0);
        need(moved > 0, "the server closed the connection");
        got += (size_t)moved;
        need(client->in[0] != '-', "the server answered with an error");
    }
    for (size_t i = 0; i < count; i++) {
        const bool has = had_all(client, client->in + i * each, head);
        need(has || !was_added(set, from + i), "an element that was added is not found");
        found += has;
    }
    return found;
}

static int run_raw(char **args, bool is_bitfield) {
    elements set = make_elements(args[1], args[2]);
    const size_t batch = (size_t)strtoull(args[3], NULL, 10);
    const uint64_t bits = strtoull(args[4], NULL, 10);
    raw client = {.adds = set.adds, .is_bitfield = is_bitfield, .probes = (uint32_t)atoi(args[5])};
    uint64_t *positions = allocate(batch * client.probes * sizeof *positions);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_hasher *hasher;
    size_t found = 0;
    options.scheme = TAMIS_SCHEME_GUAVA64;
    succeed(tamis_hasher_create(&hasher, &options, &err), &err);
    client.out = allocate(batch * (HEAD + client.probes * (size_t)COMMAND_OF_BIT));
    client.in = allocate(batch * (HEAD + client.probes * (size_t)4));
    connect_to(&client, args[0]);
    const clocks start = now();
    for (size_t from = 0; from < set.count; from += batch) {
        const size_t count = set.count - from < batch ? set.count - from : batch;
        succeed(tamis_hash_positions(hasher, set.keys + from, count,
                                     &(tamis_bloom_shape){.bits = bits, .probes = client.probes}, positions,
                                     &err),
                &err);
        for (size_t i = 0; i < count; i++)
            (is_bitfield ? put_bitfield : put_bits)(&client, positions + i * client.probes);
        send_out(&client);
        found += receive_batch(&client, &set, from, count);
    }
    print_since(start, found);
    close(client.fd);
    free(client.out);
    free(client.in);
    free(positions);
    tamis_hasher_free(hasher);
    free_elements(&set);
    return 0;
}

/* ---- tamis ---- */

static tamis_filter *open_filter(const char *uri, bool makes) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    options.create = makes;
    succeed(tamis_redis_filter_open(&filter, NULL, uri, &options, &err), &err);
    return filter;
}

static int run_filter(char **args) {
    elements set = make_elements(args[1], args[2]);
    const size_t batch = (size_t)strtoull(args[3], NULL, 10);
    tamis_answer *answers = allocate(set.count);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = open_filter(args[0], set.adds);
    size_t done, found = 0;
    const clocks start = now();
    for (size_t from = 0; from < set.count; from += batch) {
        const size_t count = set.count - from < batch ? set.count - from : batch;
        const tamis_key *keys = set.keys + from;
        succeed(set.adds ? tamis_filter_add_many(filter, keys, count, answers + from, &done, &err)
                         : tamis_filter_contains_many(filter, keys, count, answers + from, &done, &err),
                &err);
        for (size_t i = from; i < from + count; i++) {
            need(answers[i] == TAMIS_PRESENT || !was_added(&set, i),
                 "an element that was added is not found");
            found += answers[i] == TAMIS_PRESENT;
        }
    }
    print_since(start, found);
    tamis_filter_free(filter);
    free(answers);
    free_elements(&set);
    return 0;
}

/* ---- a whole filter ---- */

static int run_push(char **args) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    plan_options.fpr = 1e-3;
    plan_options.memory = strtoull(args[1], NULL, 10);
    succeed(tamis_plan_fit(&plan, &plan_options, &err), &err);
    succeed(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    /* Sets bits in every page, so that no page is the system's shared page of zeros. */
    const size_t keys = (size_t)(plan.memory / 256), step = PUSHED_KEYS_QUERIED;
    size_t done;
    elements set = {.count = step, .keys = allocate(step * sizeof *set.keys)};
    uint64_t *numbers = allocate(step * sizeof *numbers);
    for (size_t from = 0; from < keys; from += step) {
        for (size_t i = 0; i < step; i++) {
            numbers[i] = from + i;
            set.keys[i] = (tamis_key){&numbers[i], sizeof *numbers};
        }
        succeed(tamis_filter_add_many(filter, set.keys, step, NULL, NULL, &err), &err);
    }
    const clocks start = now();
    succeed(tamis_redis_push(filter, NULL, args[0], NULL, &err), &err);
    print_since(start, 0);
    tamis_filter_free(filter);
    filter = open_filter(args[0], false);
    tamis_answer *answers = allocate(step); /* of the last keys */
    succeed(tamis_filter_contains_many(filter, set.keys, step, answers, &done, &err), &err);
    need(!memchr(answers, TAMIS_ABSENT, step), "a key of the filter that was pushed is not found");
    tamis_filter_free(filter);
    free(answers);
    free(numbers);
    free_elements(&set);
    return 0;
}

static int run_words(char **args) {
    elements set = make_elements(args[0], args[1]);
    for (size_t i = 0; i < set.count; i++)
        printf("%.*s\n", DIGITS, (const char *)set.keys[i].data);
    free_elements(&set);
    return fflush(stdout) == 0 ? 0 : 2;
}

int main(int count, char **args) {
    const char *way = count > 1 ? args[1] : "";
    if (count == 8 && strcmp(way, "bits") == 0)
        return run_raw(args + 2, false);
    if (count == 8 && strcmp(way, "bitfield") == 0)
        return run_raw(args + 2, true);
    if (count == 6 && strcmp(way, "filter") == 0)
        return run_filter(args + 2);
    if (count == 4 && strcmp(way, "push") == 0)
        return run_push(args + 2);
    if (count == 4 && strcmp(way, "words") == 0)
        return run_words(args + 2);
    fprintf(stderr, "bench_redis: see the head of bench_redis.c\n");
    return 2;
}
