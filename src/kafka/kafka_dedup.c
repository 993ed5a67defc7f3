/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run of tamis_kafka_dedup_run, tamis_kafka_repartition_run or tamis_kafka_check_run: options, handles, the
 * loop, and its end.
 *
 *     options --> topics (B2) --> producer (B1) --> join the group --> loop --> commit --> leave the group
 *
 * The loop does what the phase asks for: a new producer, a slice of the restore, or a batch of records. A
 * step of it lasts at most a slice of time while nothing happens, so stop_fd is seen soon. Waits for brokers
 * that are away end by themselves only when they answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "filter/filter_int.h"
#include "kafka/kafka_dedup_int.h"

static const uint64_t PROGRESS_NS = 1000000000; /* between two calls of options.progress */

const char *tamis_kafka_library_version(void) {
    return rd_kafka_version_str();
}

/* ---- options ---- */

static tamis_status check_outputs(const kafka_dedup_run *run, tamis_error *err) {
    static const char *const options[] = {[KAFKA_UNIQUE] = "to",
                                          [KAFKA_DUPLICATES] = "duplicates_to",
                                          [KAFKA_DEAD_LETTERS] = "dead_letters_to"};
    const kafka_output *outputs = run->outputs;

    if (tamis__kafka_check_name("from", run->options.from, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < KAFKA_OUTPUTS; i++) {
        if (tamis__kafka_check_name(options[i], outputs[i].name, err) != TAMIS_OK)
            return err->status;
        if (outputs[i].name && strcmp(run->options.from, outputs[i].name) == 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "%s '%.150s': is the topic that is read; give another one", options[i],
                               outputs[i].name);
        for (size_t k = 0; outputs[i].name && k < i; k++)
            if (outputs[k].name && strcmp(outputs[i].name, outputs[k].name) == 0)
                return tamis__fail(err, TAMIS_E_INVALID, 0,
                                   "%s '%.150s': is the topic of another output; give each its own, or none",
                                   options[i], outputs[i].name);
    }
    return TAMIS_OK;
}

static tamis_status check_options(kafka_dedup_run *run, tamis_error *err) {
    const tamis_kafka_dedup_options *options = &run->options;

    TAMIS__NEED_AS(options->brokers, "options.brokers", err);
    TAMIS__NEED_AS(options->group, "options.group", err);
    TAMIS__NEED_AS(options->from, "options.from", err);
    if (!run->list || !options->duplicates_to)
        TAMIS__NEED_AS(options->to, "options.to", err);
    TAMIS__NEED_IF(options->setting_count, options->settings, err);
    run->outputs[KAFKA_UNIQUE].name = options->to;
    run->outputs[KAFKA_DUPLICATES].name = options->duplicates_to;
    run->outputs[KAFKA_DEAD_LETTERS].name = options->dead_letters_to;
    if (check_outputs(run, err) != TAMIS_OK)
        return err->status;
    if (run->is_stateless &&
        (options->plan || options->secret || options->standby || (options->duplicates_to && !run->list)))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "options.plan, secret, standby or duplicates_to: partitions have no filter in this run; leave "
            "them out");
    if (options->missing > TAMIS_STREAM_FAIL || options->malformed > TAMIS_STREAM_FAIL ||
        options->late > TAMIS_STREAM_DROP)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "options.missing, malformed or late: unknown policy; choose PASS, DROP or FAIL "
                           "(late: PASS or DROP)");
    if (options->commit_ms == 0)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "commit_ms: is 0; give a time from 1 ms");
    return TAMIS_OK;
}

static tamis_status make_names(kafka_dedup_run *run, tamis_error *err) {
    const tamis_kafka_dedup_options *options = &run->options;
    const struct {
        const char *option, *name;
    } given[] = {{"group", options->group},
                 {"instance", options->instance},
                 {"to", options->to},
                 {"duplicates_to", options->duplicates_to},
                 {"dead_letters_to", options->dead_letters_to}};
    uint64_t number;
    char random_name[20];

    if (tamis__kafka_check_name("group", options->group, err) != TAMIS_OK ||
        tamis__kafka_check_name("instance", options->instance, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].name &&
            strstr(given[i].name, ".tamis")) /* else it could be taken for one that is made of two names */
            return tamis__fail(
                err, TAMIS_E_INVALID, 0,
                "%s '%.150s': names with .tamis are those of state topics and transactions; give another",
                given[i].option, given[i].name);
    if ((size_t)snprintf(run->state_topic, sizeof run->state_topic, "%s.%s.tamis-state", options->group,
                         options->from) >= sizeof run->state_topic)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "group '%.100s': %.100s.%.100s.tamis-state is too long for the name of a topic; give a shorter "
            "group",
            options->group, options->group, options->from);
    /* Members without a stable name must not fence each other. */
    if (tamis__random(&number, sizeof number, "the name of this member", err) != TAMIS_OK)
        return err->status;
    snprintf(random_name, sizeof random_name, "%016llx", (unsigned long long)number);
    if ((size_t)snprintf(run->transactional_id, sizeof run->transactional_id, "%s.tamis.%s", options->group,
                         options->instance ? options->instance : random_name) >= sizeof run->transactional_id)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "instance '%.150s': is too long together with the group; shorten one",
                           options->instance ? options->instance : random_name);
    return TAMIS_OK;
}

static tamis_status plan_filter(kafka_dedup_run *run, tamis_error *err) {
    const tamis_kafka_dedup_options *options = &run->options;
    tamis_plan_options wanted = TAMIS_PLAN_OPTIONS_INIT;

    if (tamis__read_options(&wanted, sizeof wanted, options->plan, "TAMIS_PLAN_OPTIONS_INIT", err) !=
        TAMIS_OK)
        return err->status;
    run->has_window = wanted.kind == TAMIS_KIND_WINDOW;
    run->plan = (tamis_plan)TAMIS_PLAN_INIT;
    if (tamis__kafka_plan_filter(&run->plan, &run->keys.size, &wanted, err) != TAMIS_OK)
        return err->status;
    tamis_plan_start_small(&run->plan);
    run->plan.refresh = run->has_window; /* committed keys are counted whatever the filter says */
    run->filter_options = (tamis_filter_options)TAMIS_FILTER_OPTIONS_INIT;
    run->filter_options.seed = options->seed;
    run->filter_options.secret = options->secret;
    run->filter_options.secret_size = options->secret_size;
    run->filter_options.allocator = options->allocator;
    return TAMIS_OK;
}

static size_t largest_record(const kafka_dedup_run *run) {
    return tamis__kafka_record_size_max(strlen(run->description), TAMIS__KAFKA_RECORD_HASHES);
}

static void configure_client(kafka_dedup_run *run) {
    const tamis_kafka_dedup_options *options = &run->options;

    run->client = (kafka_client){.brokers = options->brokers,
                                 .group = options->group,
                                 .from = options->from,
                                 .instance = options->instance,
                                 .settings = options->settings,
                                 .setting_count = options->setting_count,
                                 .transactional_id = run->transactional_id,
                                 .commit_ms = options->commit_ms,
                                 .until_end = options->until_end,
                                 .stop_fd = options->stop_fd,
                                 .remark = options->remark,
                                 .context = options->context,
                                 .on_rebalance = tamis__kafka_dedup_on_rebalance,
                                 .on_delivery = tamis__kafka_dedup_on_delivery,
                                 .stop_error = TAMIS_ERROR_INIT};
}

static tamis_status configure(kafka_dedup_run *run, tamis_error *err) {
    configure_client(run);
    if (check_options(run, err) != TAMIS_OK || make_names(run, err) != TAMIS_OK ||
        plan_filter(run, err) != TAMIS_OK ||
        tamis__kafka_client_check_options(&run->client, err) != TAMIS_OK ||
        tamis__kafka_keys_init(run, err) != TAMIS_OK)
        return err->status;
    const size_t size = largest_record(run);
    run->record_bytes = tamis__alloc(&run->memory, size, 8);
    return run->record_bytes ? TAMIS_OK : tamis__fail_nomem(err, "state record", size);
}

/* ---- start and end ---- */

static void leave_group(kafka_dedup_run *run) {
    if (run->from)
        rd_kafka_topic_destroy(run->from);
    run->from = NULL;
    tamis__kafka_client_leave(&run->client);
}

static tamis_status join_group(kafka_dedup_run *run, tamis_error *err) {
    leave_group(run);
    if (tamis__kafka_client_join(&run->client, err) != TAMIS_OK)
        return err->status;
    run->from = rd_kafka_topic_new(run->client.consumer, run->options.from, NULL);
    return run->from ? TAMIS_OK
                     : tamis__kafka_client_fail(&run->client, run->options.from, rd_kafka_last_error(), err);
}

static tamis_status start(kafka_dedup_run *run, tamis_error *err) {
    tamis_status status = tamis__kafka_client_start(&run->client, &run->memory, err);

    if (status == TAMIS_OK)
        status = tamis__kafka_dedup_check_topics(run, err);
    if (status == TAMIS_OK)
        status = tamis__kafka_dedup_make_producer(run, err);
    if (tamis__kafka_client_must_stop(&run->client))
        return TAMIS_E_INTERRUPTED;
    return status == TAMIS_OK ? join_group(run, err) : status;
}

static void release(kafka_dedup_run *run) {
    const tamis_allocator memory = run->memory;

    tamis__kafka_dedup_drop_batch(run);
    leave_group(run);
    tamis__kafka_dedup_destroy_producer(run);
    tamis__kafka_dedup_close_reader(run);
    if (run->membership)
        rd_kafka_consumer_group_metadata_destroy(run->membership);
    free(run->member_id);
    if (run->cut_results)
        rd_kafka_queue_destroy(run->cut_results);
    if (run->offset_results)
        rd_kafka_queue_destroy(run->offset_results);
    tamis__kafka_refusals_forget(run);
    for (size_t i = 0; run->partitions && i < run->client.partition_count; i++)
        tamis__kafka_partition_release(&run->partitions[i]);
    tamis__free(&memory, run->partitions, run->client.partition_count * sizeof *run->partitions);
    tamis__kafka_client_end(&run->client, &memory);
    if (run->record_bytes)
        tamis__free(&memory, run->record_bytes, largest_record(run));
    tamis__kafka_keys_release(&run->keys);
    if (!run->client.is_stuck)
        tamis__free(&memory, run, sizeof *run);
}

/* ---- the loop ---- */

/* Fills the statistics of the partitions that this member has now. */
static void observe_partitions(kafka_dedup_run *run) {
    tamis_kafka_dedup_stats *stats = &run->committed;

    stats->partitions = run->client.assigned;
    stats->lag = stats->keys = stats->memory = stats->standby = 0;
    for (size_t i = 0; i < run->client.partition_count; i++) {
        const kafka_partition *partition = &run->partitions[i];
        stats->standby += tamis__kafka_is_warm(partition);
        if (!run->client.inputs[i].is_assigned || (!partition->filter && !run->is_stateless))
            continue;
        int64_t low, end;
        const bool has_end =
            rd_kafka_get_watermark_offsets(run->client.consumer, run->options.from, partition->number, &low,
                                           &end) == RD_KAFKA_RESP_ERR_NO_ERROR;
        /* Markers of transactions may follow the last record. They are not lag. */
        const bool has_read_all =
            has_end && !partition->is_open && (int64_t)partition->input->position >= end;
        if (has_end && !has_read_all && end > (int64_t)partition->to)
            stats->lag += (uint64_t)end - partition->to;
        if (!partition->filter)
            continue;
        /* tamis_filter_info_get would read all of a Bloom filter. */
        stats->keys += tamis__kafka_partition_keys(run, partition);
        stats->memory += partition->filter->tally.memory;
    }
}

void tamis__kafka_dedup_report_progress(kafka_dedup_run *run) {
    const uint64_t now = tamis__now_ns();

    if (!run->options.progress || now - run->reported_at < PROGRESS_NS)
        return;
    run->reported_at = now;
    observe_partitions(run);
    run->options.progress(run->options.context, &run->committed);
}

static tamis_status loop(kafka_dedup_run *run, tamis_error *err) {
    kafka_client *client = &run->client;
    tamis_status status = TAMIS_OK;

    while (status == TAMIS_OK) {
        if (tamis__kafka_client_must_stop(client))
            return TAMIS_E_INTERRUPTED;
        rd_kafka_poll(client->probe, 0); /* its errors and its log */
        tamis__kafka_client_check_brokers(client);
        tamis__kafka_dedup_report_progress(run);
        if (run->needs_producer)
            status = tamis__kafka_dedup_make_producer(run, err);
        else if (client->must_join)
            status = join_group(run, err);
        else if (client->phase == KAFKA_UNASSIGNED)
            status = tamis__kafka_client_stay_member(client, TAMIS__KAFKA_SLICE, err);
        else if (tamis__kafka_dedup_advance(run, err) != TAMIS_OK)
            status = err->status;
        else if (tamis__kafka_dedup_needs_transaction(run))
            status = tamis__kafka_dedup_apply(run, tamis__kafka_dedup_open_empty(run), err);
        else if (!tamis__kafka_client_has_reached_end(client) || (run->merge.partition && !run->is_open))
            status = tamis__kafka_dedup_apply(run, tamis__kafka_dedup_forward(run, err), err);
        else if (run->is_open)
            status = tamis__kafka_dedup_apply(run, tamis__kafka_dedup_commit(run, err), err);
        else
            return tamis__kafka_client_remark_rest(client);
    }
    return status;
}

/* Commits the answered records, also after an error in a later one. If that fails, they are read again at
 * the next start. */
static tamis_status finish(kafka_dedup_run *run, tamis_status status, tamis_error *err) {
    tamis_error second = TAMIS_ERROR_INIT;

    if (run->needs_producer || run->client.phase != KAFKA_RUNNING)
        return status;
    if (tamis__kafka_dedup_apply(run, tamis__kafka_dedup_commit(run, &second), &second) == TAMIS_OK ||
        (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED))
        return status;
    *err = second;
    return second.status;
}

static tamis_status run_dedup(const tamis_kafka_dedup_options *options, bool is_stateless,
                              const tamis_filter *list, tamis_kafka_dedup_stats *stats, tamis_error *err) {
    tamis_kafka_dedup_options given = TAMIS_KAFKA_DEDUP_OPTIONS_INIT;
    tamis_error found = TAMIS_ERROR_INIT;

    TAMIS__NEED(options, err);
    if (tamis__read_options(&given, sizeof given, options, "TAMIS_KAFKA_DEDUP_OPTIONS_INIT", err) != TAMIS_OK)
        return TAMIS_E_INVALID;
    const tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    kafka_dedup_run *run = tamis__alloc(&memory, sizeof *run, _Alignof(kafka_dedup_run));
    if (!run)
        return tamis__fail_nomem(err, "run", sizeof *run);
    run->options = given;
    run->memory = memory;
    run->is_stateless = is_stateless;
    run->list = list;
    run->open = run->committed = (tamis_kafka_dedup_stats)TAMIS_KAFKA_DEDUP_STATS_INIT;

    tamis_status status = configure(run, &found);
    if (status == TAMIS_OK)
        status = start(run, &found);
    if (status == TAMIS_OK)
        status = finish(run, loop(run, &found), &found);
    if (status == TAMIS_OK || status == TAMIS_E_INTERRUPTED)
        observe_partitions(run);
    tamis__write_struct(stats, &run->committed, sizeof run->committed);
    release(run);
    return tamis__kafka_result(status, &found, err);
}

tamis_status tamis_kafka_dedup_run(const tamis_kafka_dedup_options *options, tamis_kafka_dedup_stats *stats,
                                   tamis_error *err) {
    return run_dedup(options, false, NULL, stats, err);
}

tamis_status tamis_kafka_repartition_run(const tamis_kafka_dedup_options *options,
                                         tamis_kafka_dedup_stats *stats, tamis_error *err) {
    return run_dedup(options, true, NULL, stats, err);
}

tamis_status tamis_kafka_check_run(const tamis_filter *filter, const tamis_kafka_dedup_options *options,
                                   tamis_kafka_dedup_stats *stats, tamis_error *err) {
    TAMIS__NEED(filter, err);
    return run_dedup(options, true, filter, stats, err);
}
