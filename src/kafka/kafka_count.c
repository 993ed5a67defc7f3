/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run of tamis_kafka_count_run: options, handles, the loop, and its end.
 *
 *     options --> templates --> topic --> Redis --> join the group --> loop --> count the rest --> leave the group
 *
 * A step of the loop lasts at most a slice of time while nothing happens, so stop_fd is seen soon. A Redis
 * that is away ends the run after the `patience` of its URI; brokers are waited for.
 *
 * The description is what decides which counters a record has. It is in Redis, so that a member with other
 * templates is refused. Policies for other records are not in it: such a record has no counter, whatever the
 * policy.
 */
#include <stdarg.h>
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
    if (options->template_count == 0 || options->template_count > TAMIS__KAFKA_TEMPLATES)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "count: %zu templates; give from 1 to %d",
                           options->template_count, TAMIS__KAFKA_TEMPLATES);
    if (options->missing == TAMIS_STREAM_PASS || options->malformed == TAMIS_STREAM_PASS)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "a count cannot pass records on; drop them, or fail");
    if (options->commit_ms == 0)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "commit_ms: is 0; give a time from 1 ms");
    if (!tamis__kafka_is_name(options->group) || !tamis__kafka_is_name(options->from))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%.200s: names of group and topic have up to %d letters, digits and ._-; give another name",
            tamis__kafka_is_name(options->group) ? options->from : options->group, TAMIS__KAFKA_NAME - 1);
    return TAMIS_OK;
}

static tamis_status make_templates(count_run *run, tamis_error *err) {
    tamis_extractor_options *extract = &run->extract;

    *extract = (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
    if (tamis__read_options(extract, sizeof *extract, run->options.extract, "TAMIS_EXTRACTOR_OPTIONS_INIT",
                            err) != TAMIS_OK)
        return err->status;
    if (!extract->allocator)
        extract->allocator = run->options.allocator;
    for (size_t i = 0; i < run->options.template_count; i++) {
        if (tamis__kafka_template_create(&run->templates[i], run->options.templates[i], extract, err) !=
            TAMIS_OK)
            return err->status;
        for (size_t k = 0; k < i; k++)
            if (tamis__kafka_template_conflicts(run->templates[i], run->templates[k]))
                return tamis__fail(err, TAMIS_E_INVALID, 0,
                                   "count '%.100s': could give the same names as '%.100s'; change its text",
                                   run->options.templates[i], run->options.templates[k]);
    }
    return TAMIS_OK;
}

/* Appends a line to the description. */
__attribute__((format(printf, 2, 3))) static void describe(count_run *run, const char *format, ...) {
    const size_t used = strlen(run->description);
    va_list args;

    va_start(args, format);
    vsnprintf(run->description + used, sizeof run->description - used, format, args);
    va_end(args);
}

static tamis_status make_description(count_run *run, tamis_error *err) {
    const tamis_kafka_count_options *options = &run->options;
    const tamis_extractor_options *extract = &run->extract;

    describe(run, "from=%s", options->from);
    for (size_t i = 0; i < options->template_count; i++)
        describe(run, "\ncount=%s", options->templates[i]);
    if (extract->time)
        describe(run, "\ntime=%s", extract->time);
    if (extract->delimiter >= 0)
        describe(run, "\ndelimiter=%d", extract->delimiter);
    describe(run, "%s%s", extract->trim ? "\ntrim" : "", extract->ignore_case ? "\nignore-case" : "");
    snprintf(run->name, sizeof run->name, "%s.%s.tamis-count", options->group, options->from);
    return strlen(run->description) + 1 < sizeof run->description
               ? TAMIS_OK
               : tamis__fail(err, TAMIS_E_RANGE, 0,
                             "count: all templates are too long together; shorten them");
}

static tamis_status configure(count_run *run, tamis_error *err) {
    const tamis_kafka_count_options *options = &run->options;

    run->client = (kafka_client){.brokers = options->brokers,
                                 .group = options->group,
                                 .from = options->from,
                                 .instance = options->instance,
                                 .settings = options->settings,
                                 .setting_count = options->setting_count,
                                 .stop_fd = options->stop_fd,
                                 .remark = options->remark,
                                 .context = options->context,
                                 .on_rebalance = tamis__kafka_count_rebalance};
    if (check_options(options, err) != TAMIS_OK ||
        tamis__kafka_client_check_settings(&run->client, err) != TAMIS_OK ||
        make_templates(run, err) != TAMIS_OK)
        return err->status;
    return make_description(run, err);
}

/* ---- start and end ---- */

static tamis_status make_partitions(count_run *run, tamis_error *err) {
    const size_t count = run->partition_count, size = count * sizeof *run->next;

    run->partitions = tamis__alloc(&run->memory, count * sizeof *run->partitions, _Alignof(count_partition));
    run->next = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->home = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->lower = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    run->scratch = tamis__alloc(&run->memory, size, _Alignof(uint64_t));
    if (!run->partitions || !run->next || !run->home || !run->lower || !run->scratch)
        return tamis__fail_nomem(err, "partitions", count * sizeof *run->partitions + 4 * size);
    for (size_t i = 0; i < count; i++)
        run->next[i] = run->lower[i] = TAMIS__NO_POSITION;
    return TAMIS_OK;
}

static tamis_status start(count_run *run, tamis_error *err) {
    tamis__counts_options counts = {.uri = run->options.to,
                                    .name = run->name,
                                    .description = run->description,
                                    .allocator = run->options.allocator};

    if (tamis__kafka_client_open(&run->client, KAFKA_PROBE, &run->client.probe, err) != TAMIS_OK ||
        tamis__kafka_await_topic(&run->client, run->options.from, TAMIS__KAFKA_EXISTING_MS,
                                 &run->partition_count, err) != TAMIS_OK)
        return tamis__kafka_client_must_stop(&run->client) ? TAMIS_E_INTERRUPTED : err->status;
    if (make_partitions(run, err) != TAMIS_OK)
        return err->status;
    counts.partition_count = run->partition_count;
    return tamis__counts_open(&run->counts, &counts, err);
}

static void leave(count_run *run) {
    if (!run->consumer)
        return;
    run->phase = COUNT_UNASSIGNED; /* the rebalance counts nothing */
    rd_kafka_consumer_close(run->consumer);
    tamis__kafka_client_destroy(&run->client, run->consumer);
    run->consumer = NULL;
}

static tamis_status join(count_run *run, tamis_error *err) {
    leave(run);
    run->must_join = false;
    if (tamis__kafka_client_open(&run->client, KAFKA_MEMBER, &run->consumer, err) != TAMIS_OK)
        return err->status;
    rd_kafka_poll_set_consumer(run->consumer);
    return tamis__kafka_client_subscribe(&run->client, run->consumer, run->options.from, err);
}

static void release(count_run *run) {
    const tamis_allocator memory = run->memory;
    const size_t size = run->partition_count * sizeof *run->next;

    leave(run);
    tamis__kafka_client_destroy(&run->client, run->client.probe);
    tamis__counts_close(run->counts);
    for (size_t i = 0; i < TAMIS__KAFKA_TEMPLATES; i++)
        tamis__kafka_template_free(run->templates[i]);
    tamis__free(&memory, run->partitions, run->partition_count * sizeof *run->partitions);
    tamis__free(&memory, run->next, size);
    tamis__free(&memory, run->home, size);
    tamis__free(&memory, run->lower, size);
    tamis__free(&memory, run->scratch, size);
    if (!run->client.is_stuck)
        tamis__free(&memory, run, sizeof *run);
}

/* ---- the loop ---- */

/* With until_end: true if each assigned partition was read to the end that it had. */
static bool has_reached_end(const count_run *run) {
    if (!run->options.until_end || run->phase != COUNT_COUNTING)
        return false;
    for (size_t i = 0; i < run->partition_count; i++)
        if (run->partitions[i].is_assigned && run->partitions[i].position < run->partitions[i].stop_at)
            return false;
    return true;
}

/* Polls until the group gives partitions. */
static tamis_status await_assignment(count_run *run, tamis_error *err) {
    rd_kafka_message_t *message;
    const tamis_status status = tamis__kafka_count_poll(run, TAMIS__KAFKA_SLICE, &message, err);

    if (message)
        rd_kafka_message_destroy(message);
    return status;
}

static tamis_status loop(count_run *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    while (status == TAMIS_OK) {
        if (tamis__kafka_client_must_stop(&run->client))
            return TAMIS_E_INTERRUPTED;
        rd_kafka_poll(run->client.probe, 0); /* its errors and its log */
        if (!run->consumer || run->must_join)
            status = join(run, err);
        else if (run->phase == COUNT_UNASSIGNED)
            status = await_assignment(run, err);
        else if (run->phase == COUNT_ASSIGNED)
            status = tamis__kafka_count_assign(run, err);
        else if (!has_reached_end(run))
            status = tamis__kafka_count_records(run, err);
        else if (run->is_open)
            status = tamis__kafka_count_flush(run, err);
        else
            return tamis__kafka_client_remark_rest(&run->client, run->assigned, run->partition_count);
    }
    return status;
}

/* Counts what was read, also after an error: the records before it are good. If that fails, they come again. */
static tamis_status finish(count_run *run, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;

    if (run->phase != COUNT_COUNTING || !run->is_open || tamis__kafka_count_flush(run, &second) == TAMIS_OK ||
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
    count_run *run = tamis__alloc(&memory, sizeof *run, _Alignof(count_run));
    if (!run)
        return tamis__fail_nomem(err, "run", sizeof *run);
    run->options = given;
    run->memory = memory;
    run->committed = (tamis_kafka_count_stats)TAMIS_KAFKA_COUNT_STATS_INIT;
    run->stop_error = (tamis_error)TAMIS_ERROR_INIT;

    tamis_status status = configure(run, &found);
    if (status == TAMIS_OK)
        status = start(run, &found);
    if (status == TAMIS_OK)
        status = finish(run, loop(run, &found), &found);
    tamis__write_struct(stats, &run->committed, sizeof run->committed);
    release(run);
    if (status == TAMIS_E_INTERRUPTED)
        return tamis__fail(err, status, 0, "stopped on request");
    if (status != TAMIS_OK && err)
        tamis__fail(err, status, found.sys_errno, "%s", found.text);
    return status;
}
