/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters in files, through the C API. bench/files.py measures the command. One part a run:
 *
 *     bench_files ask DIR LINES BYTES  lookups in filters of BYTES, mapped from files in DIR, until LINES cache lines
 *                                      were needed; compared with a loop that only reads as many lines
 *     bench_files open FILE...         opening and the first lookup, compared with the first FILE
 *     bench_files copy BYTES           memcpy of BYTES, GB/s
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tamis/tamis.h>

enum { BATCH = 1024, AHEAD = 64, LINE = 64, WORDS = LINE / 8, RUNS = 3, OPENS = 101 };
/* AHEAD: lines prefetched ahead, more than a core can fetch at once. */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_files: %s\n", what);
    exit(2);
}

static void succeed(tamis_status status, const tamis_error *err) {
    need(status == TAMIS_OK, err->text);
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

/* ---- lookups ---- */

/* A batch of keys: the integers from..from+count-1, of 8 bytes. Both loops make them. */
typedef struct batch {
    uint64_t numbers[BATCH];
    tamis_key keys[BATCH];
    size_t count;
} batch;

static void make_batch(batch *batch_keys, uint64_t from, uint64_t end) {
    batch_keys->count = end - from < BATCH ? (size_t)(end - from) : BATCH;
    for (size_t i = 0; i < batch_keys->count; i++) {
        batch_keys->numbers[i] = from + i;
        batch_keys->keys[i] = (tamis_key){&batch_keys->numbers[i], sizeof batch_keys->numbers[i]};
    }
}

static uint64_t scatter(uint64_t x) {
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

/* Half of the integers are in the filters, in an order that a branch predictor cannot learn. */
static bool is_in(uint64_t number) {
    return scatter(number) & 1;
}

typedef struct answered {
    double seconds;
    uint64_t present;
} answered;

static answered query(const tamis_filter *filter, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[BATCH];
    batch queried;
    answered result = {now(), 0};
    for (uint64_t from = 0; from < count; from += queried.count) {
        make_batch(&queried, from, count);
        succeed(tamis_filter_contains_many(filter, queried.keys, queried.count, answers, NULL, &err), &err);
        for (size_t i = 0; i < queried.count; i++)
            result.present += answers[i] == TAMIS_PRESENT;
    }
    result.seconds = now() - result.seconds;
    return result;
}

/* Checks, outside the timed part, that every added key is found. Returns the number of false positives. */
static uint64_t check_answers(const tamis_filter *filter, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[BATCH];
    batch queried;
    uint64_t wrong = 0;
    for (uint64_t from = 0; from < count; from += queried.count) {
        make_batch(&queried, from, count);
        succeed(tamis_filter_contains_many(filter, queried.keys, queried.count, answers, NULL, &err), &err);
        for (size_t i = 0; i < queried.count; i++) {
            bool present = answers[i] == TAMIS_PRESENT;
            need(present || !is_in(queried.numbers[i]),
                 "a key that was added is not found: a false negative");
            wrong += present && !is_in(queried.numbers[i]);
        }
    }
    return wrong;
}

/* The lower bound: makes the same keys and reads two words of `lines` random lines for each, without a
 * filter. Positions are scattered like hashes; a product alone would visit the pages in even steps, which
 * is faster. With `fetched` each line is prefetched into the second-level cache AHEAD lines before it is
 * read. No other distance, and neither rows of prefetches nor the first-level cache, is faster. */
static answered read_lines(const uint64_t *words, uint64_t all_lines, uint64_t count, uint32_t lines,
                           bool fetched) {
    uint64_t ring[AHEAD] = {0}, used = 0; /* the first lines read are line 0 */
    batch queried;
    answered result = {now(), 0};
    for (uint64_t from = 0; from < count; from += queried.count) {
        make_batch(&queried, from, count);
        for (size_t i = 0; i < queried.count; i++) {
            uint64_t x = *(const uint64_t *)queried.keys[i].data;
            for (uint32_t k = 0; k < lines; k++, x += UINT64_C(0xd1342543de82ef95)) {
                uint64_t line = (scatter(x) >> 32) * all_lines >> 32;
                if (fetched) {
                    uint64_t *waiting = &ring[used++ % AHEAD], due = *waiting;
                    __builtin_prefetch(words + line * WORDS, 0, 2);
                    *waiting = line;
                    line = due;
                }
                result.present += words[line * WORDS] ^ words[line * WORDS + WORDS - 1];
            }
        }
    }
    result.seconds = now() - result.seconds;
    return result;
}

/* Saves a filter with half of `count` keys as `path`, of the size that `bytes` of memory allow at that
 * rate. */
static uint32_t make_file(const char *path, tamis_kind kind, double rate, uint64_t bytes, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    batch batch_keys;
    plan_options.kind = kind;
    plan_options.fpr = rate;
    plan_options.memory = bytes;
    succeed(tamis_plan_fit(&plan, &plan_options, &err), &err);
    succeed(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    for (uint64_t from = 0; from < count; from += BATCH) {
        make_batch(&batch_keys, from, count);
        size_t in = 0;
        for (size_t i = 0; i < batch_keys.count; i++)
            if (is_in(batch_keys.numbers[i]))
                batch_keys.keys[in++] = batch_keys.keys[i];
        succeed(tamis_filter_add_many(filter, batch_keys.keys, in, NULL, NULL, &err), &err);
    }
    succeed(tamis_filter_save(filter, path, &err), &err);
    tamis_filter_free(filter);
    return plan.probes;
}

static const uint64_t *map_file(const char *path, size_t *size) {
    struct stat st;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    need(file >= 0 && fstat(file, &st) == 0, path);
    *size = (size_t)st.st_size;
    void *bytes = mmap(NULL, *size, PROT_READ, MAP_SHARED, file, 0);
    need(bytes != MAP_FAILED, path);
    close(file);
    return bytes;
}

/* One row of the table. Both loops read every page before they are timed, in turns. */
static void query_kind(const char *directory, tamis_kind kind, double rate, uint64_t lines, uint64_t bytes) {
    tamis_error err = TAMIS_ERROR_INIT;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.tamis", directory, tamis_kind_name(kind));
    uint64_t count = kind == TAMIS_KIND_CLASSIC ? lines / 10 : lines;
    uint32_t probes = make_file(path, kind, rate, bytes, count);
    uint32_t lines_a_key = kind == TAMIS_KIND_CLASSIC ? probes : 1;
    tamis_filter *filter;
    succeed(tamis_filter_open(&filter, path, NULL, &err), &err);
    answered first = query(filter, count);
    need(check_answers(filter, count) <= 10 + (uint64_t)(rate * (double)count),
         "more false positives than promised");

    size_t size;
    const uint64_t *words = map_file(path, &size);
    (void)madvise((void *)(uintptr_t)words, size, MADV_RANDOM); /* as in the library */
    uint64_t sum = 0;
    for (size_t i = 0; i < size / 8; i += 512)
        sum += words[i];
    double warm[RUNS], reads[RUNS], fetched[RUNS];
    for (int run = 0; run < RUNS; run++) {
        answered result = query(filter, count);
        need(result.present == first.present, "the same keys were answered otherwise");
        warm[run] = result.seconds;
        result = read_lines(words, size / LINE, count, lines_a_key, false);
        sum += result.present;
        reads[run] = result.seconds;
        result = read_lines(words, size / LINE, count, lines_a_key, true);
        sum += result.present;
        fetched[run] = result.seconds;
    }
    volatile uint64_t used = sum; /* so that the compiler keeps every read */
    (void)used;
    double ns = 1e9 / (double)count, ours = median(warm, RUNS);
    double plain = median(reads, RUNS), best = median(fetched, RUNS);
    printf("%-12s%8.2f%7" PRIu32 "%12" PRIu64 "%10.1f%9.1f%10.1f%8.2f%12.1f%8.2f\n", tamis_kind_name(kind),
           (double)size / (1 << 30), lines_a_key, count, first.seconds * ns, ours * ns, plain * ns,
           ours / plain, best * ns, ours / best);
    fflush(stdout);
    munmap((void *)(uintptr_t)words, size);
    tamis_filter_free(filter);
    need(unlink(path) == 0, path);
}

static int run_queries(char **args) {
    uint64_t lines = strtoull(args[1], NULL, 10), bytes = strtoull(args[2], NULL, 10);
    printf("%-12s%8s%7s%12s%10s%9s%10s%8s%12s%8s\n", "kind", "GiB", "lines", "keys", "first ns", "warm ns",
           "reads ns", "ratio", "fetched ns", "ratio");
    query_kind(args[0], TAMIS_KIND_BLOCKED, 1e-3, lines, bytes);
    query_kind(args[0], TAMIS_KIND_FINGERPRINT, 1e-6, lines, bytes);
    query_kind(args[0], TAMIS_KIND_CLASSIC, 1e-3, lines, bytes);
    return 0;
}

/* ---- opening ---- */

static uint64_t resident(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    need(file && fscanf(file, "%*u %lu", &pages) == 1, "/proc/self/statm cannot be read");
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Microseconds of opening and of the first lookup, and the resident memory after both. */
static void open_file(const char *path, double *opening, double *querying, uint64_t *grown) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter;
    tamis_answer answer;
    uint64_t before = resident();
    double start = now();
    succeed(tamis_filter_open(&filter, path, NULL, &err), &err);
    double opened = now();
    succeed(tamis_filter_contains(filter, "key", 3, &answer, &err), &err);
    *querying = 1e6 * (now() - opened);
    *opening = 1e6 * (opened - start);
    *grown = resident() - before;
    tamis_filter_free(filter);
}

static int run_open(char **paths) {
    double first = 0;
    printf("%-10s%12s%12s%12s%16s\n", "GiB", "open us", "ask us", "RSS KiB", "times first");
    for (; *paths; paths++) {
        struct stat st;
        double opening[OPENS], querying[OPENS];
        uint64_t grown = 0;
        need(stat(*paths, &st) == 0, *paths);
        for (int i = 0; i < OPENS; i++)
            open_file(*paths, &opening[i], &querying[i], &grown);
        double open_us = median(opening, OPENS), query_us = median(querying, OPENS);
        if (first == 0)
            first = open_us + query_us;
        printf("%-10.3f%12.1f%12.1f%12" PRIu64 "%16.2f\n", (double)st.st_size / (1 << 30), open_us, query_us,
               grown / 1024, (open_us + query_us) / first);
    }
    return 0;
}

/* ---- copying ---- */

static int run_copy(char **args) {
    size_t size = (size_t)strtoull(args[0], NULL, 10);
    char *from = malloc(size), *to = malloc(size);
    double seconds[RUNS];
    need(from && to, "out of memory");
    memset(from, 1, size);
    memset(to, 2, size);
    for (int run = 0; run < RUNS; run++) {
        from[run] = 3; /* so that the compiler keeps every copy */
        double start = now();
        memcpy(to, from, size);
        seconds[run] = now() - start;
        need(to[run] == 3, "memcpy did not copy");
    }
    printf("%.2f\n", (double)size / median(seconds, RUNS) / 1e9);
    free(from);
    free(to);
    return 0;
}

int main(int count, char **args) {
    if (count == 5 && strcmp(args[1], "ask") == 0)
        return run_queries(args + 2);
    if (count > 2 && strcmp(args[1], "open") == 0)
        return run_open(args + 2);
    if (count == 3 && strcmp(args[1], "copy") == 0)
        return run_copy(args + 2);
    fprintf(stderr, "Usage: bench_files ask FOLDER LINES BYTES | open FILE... | copy BYTES\n");
    return 2;
}
