/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */

/*
 * Processes that add keys are killed at random times. So is the server, which is started again. New processes
 * continue with the batch that was not answered. No key of an answered batch may be missing, at once or at
 * the end.
 *
 *     client 0 adds keys  0 .. answered[0] .. n-1       then looks them up until it may end
 *     client 1            n .. n + answered[1] .. 2n-1
 *
 * ctest: long
 * ctest: timeout=900
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>

#include "support/redis_server.h"
#include "support/scratch.h"

enum { CLIENTS = 3, BATCH = 100, LATEST = 20 * BATCH };

/* Memory shared by all processes. */
typedef struct progress {
    _Atomic uint64_t answered[CLIENTS];
    atomic_bool may_end;
} progress;

typedef struct storm {
    char uri[300];
    uint64_t each; /* number of keys of a client */
    progress *shared;
    pid_t pids[CLIENTS];
} storm;

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

static redis_server server;

static int set_up(void **state) {
    (void)state;
    if (redis_server_installed())
        redis_server_start(&server, durable);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

/* ---- a client ---- */

static tamis_status open_it(const storm *ctx, tamis_filter **filter, tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    return tamis_redis_filter_open(filter, NULL, ctx->uri, &options, err);
}

/* Adds or looks up a batch of keys from that number on. */
static tamis_status batch(tamis_filter *filter, uint64_t from, bool adds, tamis_answer answers[BATCH],
                          tamis_error *err) {
    uint64_t values[BATCH];
    tamis_key keys[BATCH];
    for (uint64_t i = 0; i < BATCH; i++) {
        values[i] = from + i;
        keys[i] = (tamis_key){&values[i], sizeof values[i]};
    }
    return adds ? tamis_filter_add_many(filter, keys, BATCH, answers, NULL, err)
                : tamis_filter_contains_many(filter, keys, BATCH, answers, NULL, err);
}

static tamis_status check(tamis_filter *filter, uint64_t from, tamis_error *err) {
    tamis_answer answers[BATCH];
    tamis_status status = batch(filter, from, false, answers, err);
    for (uint64_t i = 0; i < BATCH && status == TAMIS_OK; i++)
        if (answers[i] != TAMIS_PRESENT) {
            snprintf(err->text, sizeof err->text, "key %" PRIu64 " was answered, and is not there", from + i);
            status = TAMIS_E_DAMAGED;
        }
    return status;
}

static tamis_status work(const storm *ctx, int number, tamis_error *err) {
    _Atomic uint64_t *answered = &ctx->shared->answered[number];
    const uint64_t first = (uint64_t)number * ctx->each;
    uint64_t random = (uint64_t)getpid();
    tamis_answer answers[BATCH];
    tamis_filter *filter = NULL;
    tamis_status status = open_it(ctx, &filter, err);
    while (status == TAMIS_OK && *answered < ctx->each) {
        status = batch(filter, first + *answered, true, answers, err);
        if (status == TAMIS_OK)
            *answered += BATCH;
    }
    while (status == TAMIS_OK && !ctx->shared->may_end)
        status = check(filter, first + test_below(&random, ctx->each / BATCH) * BATCH, err);
    tamis_filter_free(filter);
    return status;
}

static void start(storm *ctx, int number) {
    fflush(NULL);
    ctx->pids[number] = fork();
    assert_true(ctx->pids[number] >= 0);
    if (ctx->pids[number] > 0)
        return;
    tamis_error err = TAMIS_ERROR_INIT;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (work(ctx, number, &err) == TAMIS_OK)
        _exit(0);
    fprintf(stderr, "client %d: %s\n", number, err.text);
    _exit(1);
}

/* ---- kills ---- */

static void kill_one(storm *ctx, int number) {
    int how;
    kill(ctx->pids[number], SIGKILL);
    assert_int_equal(waitpid(ctx->pids[number], &how, 0), ctx->pids[number]);
    ctx->pids[number] = -1;
    assert_true(WIFSIGNALED(how)); /* otherwise it failed before */
}

/* Checks up to `max` of the keys that were answered last, which are not added again. */
static void check_one(const storm *ctx, int number, uint64_t max) {
    const uint64_t first = (uint64_t)number * ctx->each, answered = ctx->shared->answered[number];
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    tamis_status status = open_it(ctx, &filter, &err);
    for (uint64_t i = answered > max ? answered - max : 0; i < answered && status == TAMIS_OK; i += BATCH)
        status = check(filter, first + i, &err);
    tamis_filter_free(filter);
    if (status != TAMIS_OK)
        fail_msg("%s", err.text);
}

static void end_all(storm *ctx) {
    ctx->shared->may_end = true;
    for (int i = 0; i < CLIENTS; i++) {
        int how;
        assert_int_equal(waitpid(ctx->pids[i], &how, 0), ctx->pids[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
        assert_int_equal(ctx->shared->answered[i], ctx->each);
        check_one(ctx, i, ctx->each);
    }
}

static void run(const char *name, uint64_t seed) {
    const uint64_t each = test_scale_torture(170000, 60000, 5000, 5000),
                   kills = test_scale_torture(60, 24, 12, 12),
                   of_server = test_scale_torture(20, 8, 6, 6); /* one kill in so many is of the server */
    storm ctx = {.each = each};
    uint64_t early = 0;
    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
    ctx.shared = mmap(NULL, sizeof *ctx.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ctx.shared, MAP_FAILED);
    snprintf(ctx.uri, sizeof ctx.uri,
             "redis://127.0.0.1:%d/%s&expect=%" PRIu64
             "&fpr=1e-5&retry_interval=1ms&patience=60s&connect_wait=60s&read_timeout=20s&timeout=20s",
             server.port, name, CLIENTS * each);
    for (int i = 0; i < CLIENTS; i++)
        start(&ctx, i);
    for (uint64_t i = 0; i < kills; i++) {
        const int client = (int)test_below(&seed, CLIENTS);
        pause_ms(test_below(&seed, test_scale(50, 20, 20)));
        if (i % of_server == of_server - 1) {
            redis_server_kill(&server);
            redis_server_restart(&server);
        }
        kill_one(&ctx, client);
        early += ctx.shared->answered[client] < each;
        check_one(&ctx, client, LATEST);
        start(&ctx, client);
    }
    end_all(&ctx);
    printf("%" PRIu64 " adds, %" PRIu64 " clients killed, %" PRIu64 " of them while they added\n",
           CLIENTS * each, kills, early);
    assert_true(early > 0);
    munmap(ctx.shared, sizeof *ctx.shared);
}

static void answers_of_layout_tamis_stay(void **state) {
    (void)state;
    run("killed?partition=65536", test_seed(31));
}

static void answers_of_layout_java_stay(void **state) {
    (void)state;
    run("killed?layout=java", test_seed(32));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_layout_tamis_stay),
        cmocka_unit_test(answers_of_layout_java_stay),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
