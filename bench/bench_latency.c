/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_latency TAMIS THREADS RATE SECONDS: the time of a record from pipe to pipe through `tamis dedup
 * --threads THREADS`. RATE unique records of 32 bytes a second are written when they are due, those due
 * together in one call; with RATE 0 as many as the pipe takes. Each record contains the time at which it
 * was written.
 *
 * Prints microseconds: the median, the percentiles 99 and 99.9, and the maximum; then the number of records.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORD = 32, AT_ONCE = 2048, SLOTS = 1 << 20 /* of a microsecond */ };

typedef struct writing {
    int to;
    double rate, seconds;
} writing;

static uint64_t counts[SLOTS];

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void give_up(const char *what) {
    perror(what);
    exit(2);
}

static void write_all(int to, const char *bytes, size_t size) {
    for (ssize_t written; size > 0; bytes += written, size -= (size_t)written)
        if ((written = write(to, bytes, size)) < 0)
            give_up("bench_latency: write");
}

static void *write_records(void *context) {
    static char bytes[AT_ONCE * RECORD + 1];
    const writing *w = context;
    const uint64_t start = now_ns(), end = start + (uint64_t)(w->seconds * 1e9);
    uint64_t number = 0;
    for (uint64_t now = start; now < end; now = now_ns()) {
        double due = w->rate > 0 ? (double)(now - start) * 1e-9 * w->rate - (double)number : AT_ONCE;
        size_t count = due >= AT_ONCE ? AT_ONCE : due >= 1 ? (size_t)due : 0;
        for (size_t i = 0; i < count; i++)
            snprintf(bytes + i * RECORD, RECORD + 1, "%016" PRIx64 "%015" PRIu64 "\n", now, number++);
        write_all(w->to, bytes, count * RECORD);
        if (count == 0)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    close(w->to);
    return NULL;
}

static uint64_t read_records(int from) {
    static char bytes[AT_ONCE * RECORD];
    uint64_t records = 0;
    size_t held = 0;
    for (ssize_t got; (got = read(from, bytes + held, sizeof bytes - held)) != 0;) {
        if (got < 0)
            give_up("bench_latency: read");
        const uint64_t now = now_ns();
        size_t pos = 0;
        for (held += (size_t)got; held - pos >= RECORD; pos += RECORD, records++) {
            char sent[17] = {0};
            memcpy(sent, bytes + pos, 16);
            const uint64_t elapsed = (now - strtoull(sent, NULL, 16)) / 1000;
            counts[elapsed < SLOTS ? elapsed : SLOTS - 1]++;
        }
        memmove(bytes, bytes + pos, held - pos);
        held -= pos;
    }
    return records;
}

/* The time that `share` of the records do not exceed. */
static size_t time_of(uint64_t records, double share) {
    const double wanted = (double)records * share;
    double sum = 0;
    size_t elapsed = 0;
    while (elapsed < SLOTS - 1 && (sum += (double)counts[elapsed]) < wanted)
        elapsed++;
    return elapsed;
}

int main(int argc, char **argv) {
    int in[2], out[2], status;
    pthread_t writer;
    if (argc != 5) {
        fprintf(stderr, "bench_latency: give TAMIS, THREADS, RATE and SECONDS\n");
        return 2;
    }
    if (pipe(in) < 0 || pipe(out) < 0)
        give_up("bench_latency: pipe");
    const pid_t child = fork();
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(argv[1], argv[1], "dedup", "--threads", argv[2], (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    writing w = {in[1], strtod(argv[3], NULL), strtod(argv[4], NULL)};
    if (pthread_create(&writer, NULL, write_records, &w) != 0)
        give_up("bench_latency: thread");
    const uint64_t records = read_records(out[0]);
    pthread_join(writer, NULL);
    if (waitpid(child, &status, 0) != child || status != 0 || records == 0) {
        fprintf(stderr, "bench_latency: tamis failed\n");
        return 2;
    }
    printf("%zu %zu %zu %zu %" PRIu64 "\n", time_of(records, 0.5), time_of(records, 0.99),
           time_of(records, 0.999), time_of(records, 1), records);
    return 0;
}
