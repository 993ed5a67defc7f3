/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run of tamis_kafka_count_run: options, handles, the loop, and its end.
 *
 *     options -> templates -> topic -> Redis -> join the group -> loop -> count the rest -> leave the group
 *
 * A step of the loop lasts at most a slice of time while nothing happens, so stop_fd is seen soon. A Redis
 * that is away ends the run after the `patience` of its URI; brokers are waited for.
 *
 * The description is what decides which counters a record has. It is in Redis, so that a member with other
 * templates is refused. Policies for other records are not in it: such a record has no counter, whatever the
 * policy.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "kafka/kafka_count_int.h"

/* ---- options ---- */

static tamis_status check_options(const tamis_kafka_count_options *options, tamis_error *err) {
    TAMIS__NEED_AS(options->brokers, "options.brokers", err);
    TAMIS__NEED_AS(options->group, "options.group", err);
    TAMIS__NEED_AS(options->from, "options.from", err);
    TAMIS__NEED_AS(options->to, "options.to", err);
    TAMIS__NEED_IF(options->setting_count, options->settings, err);
    TAMIS__NEED_IF(options->template_count, options->templates, err);
    TAMIS__NEED_IF(options->sum_count, options->sums, err);
    TAMIS__NEED_IF(options->distinct_count, options->distincts, err);
    if (options->missing == TAMIS_STREAM_PASS || options->malformed == TAMIS_STREAM_PASS)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "a count cannot pass records on; drop them, or fail");
    if (options->commit_ms == 0)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "commit_ms: is 0; give a time from 1 ms");
    if (tamis__kafka_check_name("group", options->group, err) != TAMIS_OK ||
        tamis__kafka_check_name("from", options->from, err) != TAMIS_OK)
        return err->status;
    return tamis__kafka_check_name("instance", options->instance, err);
}

/* Makes a template, and refuses one that could give the names of another. */
static tamis_status make_template(kafka_count_run *run, kafka_adds adds, const char *text, tamis_error *err) {
    if (run->template_count == TAMIS__KAFKA_TEMPLATES)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "count: more than %d templates; leave some out",
                           TAMIS__KAFKA_TEMPLATES);
    if (tamis__kafka_template_create(&run->templates[run->template_count], adds, text, &run->extract, err) !=
        TAMIS_OK)
        return err->status;
    const kafka_template *template = run->templates[run->template_count++];
    for (size_t i = 0; i + 1 < run->template_count; i++)
        if (tamis__kafka_template_conflicts(template, run->templates[i]))
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "%s '%.100s': could give the same names as '%.100s'; change its text",
                               tamis__kafka_template_word(template), text,
                               tamis__kafka_template_text(run->templates[i]));
    return TAMIS_OK;
}

static tamis_status make_templates(kafka_count_run *run, tamis_error *err) {
    const tamis_kafka_count_options *options = &run->options;
    const struct {
        const char *const *texts;
        size_t count;
    } given[] = {[KAFKA_ADDS_ONE] = {options->templates, options->template_count},
                 [KAFKA_ADDS_NUMBER] = {options->sums, options->sum_count},
                 [KAFKA_ADDS_ELEMENT] = {options->distincts, options->distinct_count}};
    tamis_extractor_options *extract = &run->extract;
    bool has_time = false;

    *extract = (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
    if (tamis__read_options(extract, sizeof *extract, run->options.extract, "TAMIS_EXTRACTOR_OPTIONS_INIT",
                            err) != TAMIS_OK)
        return err->status;
    if (!extract->allocator)
        extract->allocator = run->options.allocator;
    for (size_t adds = 0; adds < sizeof given / sizeof *given; adds++)
        for (size_t i = 0; i < given[adds].count; i++)
            if (make_template(run, (kafka_adds)adds, given[adds].texts[i], err) != TAMIS_OK)
                return err->status;
    for (size_t i = 0; i < run->template_count; i++)
        has_time = has_time || tamis__kafka_template_has_time(run->templates[i]);
    if (run->template_count == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "count: no template; give one as clicks:{day}");
    if (options->expire_ms > 0 && !has_time)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "expire: no name of a counter has a time; put {month}, {day} or {hour} into one");
    return TAMIS_OK;
}

static tamis_status make_description(kafka_count_run *run, tamis_error *err) {
    const tamis_kafka_count_options *options = &run->options;
    const tamis_extractor_options *extract = &run->extract;
    char *text = run->description;
    const size_t size = sizeof run->description;

    tamis__kafka_describe(text, size, "from=%s", options->from);
    for (size_t i = 0; i < run->template_count; i++)
        tamis__kafka_describe(text, size, "%s=%s", tamis__kafka_template_word(run->templates[i]),
                              tamis__kafka_template_text(run->templates[i]));
    if (extract->time)
        tamis__kafka_describe(text, size, "time=%s", extract->time);
    if (extract->delimiter >= 0)
        tamis__kafka_describe(text, size, "delimiter=%d", extract->delimiter);
    if (extract->trim)
        tamis__kafka_describe(text, size, "trim");
    if (extract->ignore_case)
        tamis__kafka_describe(text, size, "ignore-case");
    snprintf(run->name, sizeof run->name, "%s.%s.tamis-count", options->group, options->from);
    return strlen(text) + 1 < size ? TAMIS_OK
                                   : tamis__fail(err, TAMIS_E_RANGE, 0,
                                                 "count: all templates are too long together; shorten them");
}

/* Callback of the client while A waits for brokers. */
static void on_brokers_wait(void *context, bool for_offsets) {
    (void)for_offsets;
    tamis__kafka_client_note_wait(context);
}

/* Callback while a request waits for Redis. */
static void on_redis_wait(void *context, const char *why) {
    kafka_count_run *run = context;

    run->has_remarked_redis = true;
    tamis__kafka_client_remark(&run->client, "%s: waits for Redis%s%s", run->options.group,
                               why[0] != '\0' ? ": " : "", why);
}

static tamis_status configure(kafka_count_run *run, tamis_error *err) {
    const tamis_kafka_count_options *options = &run->options;

    run->client = (kafka_client){.brokers = options->brokers,
                                 .group = options->group,
                                 .from = options->from,
                                 .instance = options->instance,
                                 .settings = options->settings,
                                 .setting_count = options->setting_count,
                                 .until_end = options->until_end,
                                 .stop_fd = options->stop_fd,
                                 .remark = options->remark,
                                 .context = options->context,
                                 .on_rebalance = tamis__kafka_count_on_rebalance,
                                 .on_wait = on_brokers_wait,
                                 .stop_error = TAMIS_ERROR_INIT};
    if (check_options(options, err) != TAMIS_OK ||
        tamis__kafka_client_check_options(&run->client, err) != TAMIS_OK ||
        make_templates(run, err) != TAMIS_OK)
        return err->status;
    return make_description(run, err);
}

/* ---- start and end ---- */

static tamis_status make_positions(kafka_count_run *run, tamis_error *err) {
    const size_t count = run->client.partition_count, size = count * sizeof *run->next;

    run->next = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->home = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->lower = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->scratch = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    if (!run->next || !run->home || !run->lower || !run->scratch)
        return tamis__fail_nomem(err, "partitions", 4 * size);
    for (size_t i = 0; i < count; i++)
        run->next[i] = run->lower[i] = TAMIS__NO_POSITION;
    return TAMIS_OK;
}

static tamis_status start(kafka_count_run *run, tamis_error *err) {
    if (tamis__kafka_client_start(&run->client, &run->memory, err) != TAMIS_OK)
        return tamis__kafka_client_must_stop(&run->client) ? TAMIS_E_INTERRUPTED : err->status;
    if (make_positions(run, err) != TAMIS_OK)
        return err->status;
    const tamis__counts_options counts = {.uri = run->options.to,
                                          .name = run->name,
                                          .description = run->description,
                                          .partition_count = run->client.partition_count,
                                          .on_wait = on_redis_wait,
                                          .context = run,
                                          .allocator = run->options.allocator};
    return tamis__counts_open(&run->counts, &counts, err);
}

static tamis_status join(kafka_count_run *run, tamis_error *err) {
    tamis__kafka_client_leave(&run->client);
    return tamis__kafka_client_join(&run->client, err);
}

static void release(kafka_count_run *run) {
    const tamis_allocator memory = run->memory;
    const size_t size = run->client.partition_count * sizeof *run->next;

    tamis__kafka_client_leave(&run->client);
    tamis__kafka_client_end(&run->client, &memory);
    tamis__counts_close(run->counts);
    for (size_t i = 0; i < TAMIS__KAFKA_TEMPLATES; i++)
        tamis__kafka_template_free(run->templates[i]);
    tamis__free(&memory, run->next, size);
    tamis__free(&memory, run->home, size);
    tamis__free(&memory, run->lower, size);
    tamis__free(&memory, run->scratch, size);
    if (!run->client.is_stuck)
        tamis__free(&memory, run, sizeof *run);
}

/* ---- the loop ---- */

static tamis_status loop(kafka_count_run *run, tamis_error *err) {
    kafka_client *client = &run->client;
    tamis_status status = TAMIS_OK;

    while (status == TAMIS_OK) {
        if (tamis__kafka_client_must_stop(client))
            return TAMIS_E_INTERRUPTED;
        rd_kafka_poll(client->probe, 0); /* its errors and its log */
        tamis__kafka_client_check_brokers(client);
        tamis__kafka_count_report_progress(run);
        if (!client->consumer || client->must_join)
            status = join(run, err);
        else if (client->phase == KAFKA_UNASSIGNED)
            status = tamis__kafka_client_stay_member(client, TAMIS__KAFKA_SLICE, err);
        else if (client->phase == KAFKA_ASSIGNED)
            status = tamis__kafka_count_assign(run, err);
        else if (!tamis__kafka_client_has_reached_end(client))
            status = tamis__kafka_count_records(run, err);
        else if (run->is_open)
            status = tamis__kafka_count_flush(run, err);
        else
            return tamis__kafka_client_remark_rest(client);
    }
    return status;
}

/* Counts the records of the batch, also after an error in a later one. If that fails, they are read again
 * at the next start. */
static tamis_status finish(kafka_count_run *run, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;

    if (run->client.phase != KAFKA_RUNNING || !run->is_open ||
        tamis__kafka_count_flush(run, &second) == TAMIS_OK ||
        (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED))
        return status;
    *err = second;
    return second.status;
}

tamis_status tamis_kafka_count_run(const tamis_kafka_count_options *options, tamis_kafka_count_stats *stats,
                                   tamis_error *err) {
    tamis_kafka_count_options given = TAMIS_KAFKA_COUNT_OPTIONS_INIT;
    tamis_error found = TAMIS_ERROR_INIT;

    TAMIS__NEED(options, err);
    if (tamis__read_options(&given, sizeof given, options, "TAMIS_KAFKA_COUNT_OPTIONS_INIT", err) != TAMIS_OK)
        return TAMIS_E_INVALID;
    const tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    kafka_count_run *run = tamis__alloc(&memory, sizeof *run, _Alignof(kafka_count_run));
    if (!run)
        return tamis__fail_nomem(err, "run", sizeof *run);
    run->options = given;
    run->memory = memory;
    run->committed = (tamis_kafka_count_stats)TAMIS_KAFKA_COUNT_STATS_INIT;

    tamis_status status = configure(run, &found);
    if (status == TAMIS_OK)
        status = start(run, &found);
    if (status == TAMIS_OK)
        status = finish(run, loop(run, &found), &found);
    if (status == TAMIS_OK || status == TAMIS_E_INTERRUPTED)
        tamis__kafka_count_observe(run);
    tamis__write_struct(stats, &run->committed, sizeof run->committed);
    release(run);
    return tamis__kafka_result(status, &found, err);
}
