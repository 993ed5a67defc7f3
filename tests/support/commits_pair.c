/* SPDX-License-Identifier: BSD-2-Clause */
#include "commits_pair.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"
#include "support/decompress.h"
#include "support/fault.h"
#include "support/tools.h"

enum { OUTPUTS = 2, TESTS_MAX = 64 };

const pair_scenario *pair_current;
pair_acknowledged *pair_consumer;
void (*pair_on_report)(void);

static char names[PAIR_INPUTS + OUTPUTS][300];
static const char *inputs[PAIR_INPUTS];
static test_bytes expected[OUTPUTS];
static uint64_t snapshots_at;
static struct tamis__system real;
static tamis_extractor *extractor; /* with `delivered` */
static test_bytes deliveries;

/* ---- the consumer ---- */

/* Record n is position n / PAIR_SOURCES of source n % PAIR_SOURCES. */
static void make_deliveries(size_t records, uint64_t keys) {
    char text[60];
    uint64_t random = 1;
    for (size_t n = 0; n < records; n++) {
        const int size = snprintf(text, sizeof text, "s%zu\t%zu\trecord %llu\n", n % PAIR_SOURCES,
                                  n / PAIR_SOURCES, (unsigned long long)test_below(&random, keys));
        bytes_add(&deliveries, text, (size_t)size);
    }
}

/* Makes standard input a pipe with all records that are not acknowledged. Returns what it was. */
static int deliver(void) {
    int ends[2];
    const int before = dup(STDIN_FILENO);
    if (before < 0 || pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0)
        abort();
    const unsigned char *next = deliveries.data, *const end = next + deliveries.size;
    for (size_t n = 0; next < end; n++) {
        const unsigned char *behind = (const unsigned char *)memchr(next, '\n', (size_t)(end - next)) + 1;
        if (n / PAIR_SOURCES >= pair_consumer->records[n % PAIR_SOURCES] &&
            write(ends[1], next, (size_t)(behind - next)) != behind - next)
            abort();
        next = behind;
    }
    if (dup2(ends[0], STDIN_FILENO) < 0)
        abort();
    close(ends[0]);
    close(ends[1]);
    return before;
}

static tamis_status acknowledge(void *context, tamis_key source, uint64_t position, tamis_error *err) {
    (void)context;
    (void)err;
    pair_consumer->records[((const char *)source.data)[1] - '0'] = position + 1;
    if (pair_on_report)
        pair_on_report();
    return TAMIS_OK;
}

static tamis_status go_on_deliveries(commits_run *run) {
    static const char *const standard_input[] = {"-"};
    run->options.inputs = standard_input;
    run->options.input_count = 1;
    run->options.extractor = extractor;
    run->commits.on_position = acknowledge;
    const int before = deliver();
    const tamis_status status = commits_go(run);
    dup2(before, STDIN_FILENO);
    close(before);
    return status;
}

static bool set_up_consumer(size_t records, uint64_t keys) {
    static const char *const key[] = {"field:3"};
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    options.parts = key;
    options.part_count = 1;
    options.source = "field:1";
    options.position = "field:2";
    make_deliveries(PAIR_INPUTS * records, keys);
    pair_consumer =
        mmap(NULL, sizeof *pair_consumer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pair_consumer != MAP_FAILED && tamis_extractor_create(&extractor, &options, NULL) == TAMIS_OK;
}

/* ---- runs ---- */

tamis_status pair_go(commits_run *run, const tamis_allocator *allocator) {
    return pair_go_committing(run, allocator, 0);
}

tamis_status pair_go_committing(commits_run *run, const tamis_allocator *allocator, uint64_t bytes) {
    commits_init(run, &commits_makes[pair_current->make]);
    if (bytes > 0)
        run->commits.bytes = bytes;
    run->options.inputs = inputs;
    run->options.input_count = PAIR_INPUTS;
    run->options.output = names[PAIR_INPUTS];
    run->options.duplicates = names[PAIR_INPUTS + 1];
    run->options.compression = (int)pair_current->compression;
    run->options.compression_level = pair_current->compression ? 1 : 0;
    run->options.threads = pair_current->threads;
    run->snapshot_at = snapshots_at;
    run->allocator = allocator;
    run->commits.defer_unterminated = pair_current->partial;
    return pair_current->delivered ? go_on_deliveries(run) : commits_go(run);
}

int pair_sweep(void) {
    char directory[300];
    int found = 0;
    snprintf(directory, sizeof directory, "%s", scratch(""));
    DIR *open = opendir(directory);
    const struct dirent *entry;
    while (open && (entry = readdir(open)))
        if (strstr(entry->d_name, ".tail-") || strstr(entry->d_name, ".kept-")) {
            unlink(scratch(entry->d_name));
            found++;
        }
    if (open)
        closedir(open);
    return found;
}

void pair_forget(void) {
    commits_forget();
    if (pair_consumer)
        *pair_consumer = (pair_acknowledged){{0}};
    for (int i = 0; i < OUTPUTS; i++)
        unlink(names[PAIR_INPUTS + i]);
    pair_sweep();
}

static bool output_is_right(int i, bool quiet) {
    test_bytes got = {0};
    if (!file_exists(names[PAIR_INPUTS + i]))
        return false;
    if (pair_current->compression)
        decompress_file(pair_current->compression, names[PAIR_INPUTS + i], &got);
    else
        file_read(names[PAIR_INPUTS + i], &got);
    const bool right = quiet ? bytes_equal(&got, &expected[i])
                             : bytes_check(i ? "duplicates" : "output", &got, &expected[i]);
    bytes_clear(&got);
    return right;
}

bool pair_is_right(bool quiet) {
    return output_is_right(0, quiet) && output_is_right(1, quiet);
}

/* ---- number of trials ---- */

uint64_t pair_step(uint64_t full, uint64_t sanitizer, uint64_t quick) {
    return test_is_torture() ? 1 : pair_current->step * test_scale(full, sanitizer, quick);
}

/* ---- set-up and tear-down ---- */

/* Does nothing: advice is a hint, and there would be many such calls. */
static int no_advice(void *block, size_t size, int advice) {
    (void)block;
    (void)size;
    (void)advice;
    return 0;
}

static void make_inputs(size_t records, uint64_t keys, bool partial) {
    static const char *const called[] = {"one", "two.gz", "output", "duplicates"};
    for (int i = 0; i < PAIR_INPUTS + OUTPUTS; i++)
        snprintf(names[i], sizeof names[i], "%s", scratch(called[i]));
    for (int i = 0; i < PAIR_INPUTS; i++) {
        test_bytes plain = {0}, compressed = {0};
        commits_records(&plain, records, keys, (uint64_t)i + 1);
        if (i == 0 && partial)
            bytes_add(&plain, "record", 6);
        if (i == 1)
            tool_run("gzip -c", plain.data, plain.size, &compressed);
        file_write(names[i], i ? compressed.data : plain.data, i ? compressed.size : plain.size);
        bytes_clear(&plain);
        bytes_clear(&compressed);
        inputs[i] = names[i];
    }
}

bool pair_set_up(const pair_scenario *scenario, size_t records, uint64_t keys, uint64_t snapshot_at,
                 commits_run *undisturbed) {
    scratch_make();
    make_inputs(records, keys, scenario->partial);
    if (scenario->delivered && !set_up_consumer(records, keys))
        abort();
    real = tamis__sys;
    tamis__sys.sync = fault_no_sync; /* the real disk does not matter here */
    tamis__sys.advise = no_advice;
    if (scenario->threads == 1)
        tamis__sys.thread = fault_no_thread;
    pair_scenario plain = *scenario;
    plain.compression = TAMIS_COMPRESSION_NONE;
    pair_current = &plain;
    snapshots_at = snapshot_at;
    const tamis_status status = pair_go(undisturbed, NULL);
    pair_current = scenario;
    if (status != TAMIS_OK) {
        fprintf(stderr, "undisturbed: %s\n", undisturbed->err.text);
        pair_tear_down();
        return false;
    }
    for (int i = 0; i < OUTPUTS; i++)
        file_read(names[PAIR_INPUTS + i], &expected[i]);
    pair_forget();
    return true;
}

void pair_tear_down(void) {
    tamis__sys = real;
    pair_forget();
    for (int i = 0; i < OUTPUTS; i++)
        bytes_clear(&expected[i]);
    bytes_clear(&deliveries);
    tamis_extractor_free(extractor);
    extractor = NULL;
    if (pair_consumer)
        munmap(pair_consumer, sizeof *pair_consumer);
    pair_consumer = NULL;
    scratch_remove();
}

int pair_main(const char *group, const pair_scenario *scenarios, size_t scenario_count,
              const pair_test *tests, size_t test_count, CMFixtureFunction set_up,
              CMFixtureFunction tear_down, int count, char **values) {
    static char texts[TESTS_MAX][60];
    struct CMUnitTest selected[TESTS_MAX];
    size_t used = 0;
    for (size_t i = 0; i < scenario_count * test_count; i++) {
        const pair_scenario *s = &scenarios[i / test_count];
        const pair_test *t = &tests[i % test_count];
        if (count > 1 && strcmp(values[1], s->name) != 0)
            continue;
        if (used == TESTS_MAX)
            abort();
        snprintf(texts[used], sizeof texts[used], "%s: %s", s->name, t->name);
        selected[used] = (struct CMUnitTest){texts[used], t->run, set_up, tear_down, (void *)(uintptr_t)s};
        used++;
    }
    return _cmocka_run_group_tests(group, selected, used, NULL, NULL);
}
