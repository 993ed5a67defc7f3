/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Keys of records: the value of a record, a part of it (tamis/experimental/extract.h), Kafka's own key, or a
 * header.
 *
 *     --key of the user   source          records without a key
 *     line (default)      whole value     tombstones (value NULL)
 *     json:/id, ...       extractor       tombstones; valid values without this part
 *     kafka:key           record's key    key NULL; an empty key is a key
 *     kafka:header:NAME   last header     no such header, or its value is NULL
 *
 * With a window a key has a time: Kafka's time of the record, or a part of its value (options.extract->time).
 * A record whose time is ahead of the clock is treated as a late one: it would make other records late. That
 * is never an error, since the clock of this host may be the wrong one.
 *
 * All parts and the hash are in the description, a text that each state record carries. A member that would
 * make other keys is refused, since it would take every old record for a new one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "kafka/kafka_dedup_int.h"

static const char key_part[] = "kafka:key", header_part[] = "kafka:header:";

static tamis_status find_source(kafka_keys *keys, const tamis_extractor_options *extract, tamis_error *err) {
    const size_t parts = extract->part_count;

    keys->source = KAFKA_VALUE;
    for (size_t i = 0; i < parts; i++) {
        const char *part = extract->parts[i];
        if (strncmp(part, "kafka:", strlen("kafka:")) != 0)
            continue;
        if (parts > 1)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "key '%.100s': cannot be joined with other parts; give it alone", part);
        if (extract->trim || extract->ignore_case)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "key '%.100s': is compared as it is; leave trim and ignore case out", part);
        if (strcmp(part, key_part) == 0) {
            keys->source = KAFKA_KEY;
        } else if (strncmp(part, header_part, strlen(header_part)) == 0 &&
                   part[strlen(header_part)] != '\0') {
            keys->source = KAFKA_HEADER;
            keys->header = part + strlen(header_part);
        } else {
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "key '%.100s': is not known; give kafka:key or kafka:header:NAME", part);
        }
    }
    return TAMIS_OK;
}

static tamis_status create_extractor(kafka_dedup_run *run, tamis_error *err) {
    kafka_keys *keys = &run->keys;
    tamis_extractor_options extract = run->extract;

    if (extract.time && !run->has_window)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "time: counts with a window alone; leave it out");
    if (keys->source != KAFKA_VALUE) { /* at most the time is in the value */
        extract.parts = NULL;
        extract.part_count = 0;
    }
    if (extract.part_count == 0 && !extract.time &&
        (keys->source != KAFKA_VALUE || (!extract.trim && !extract.ignore_case)))
        return TAMIS_OK;
    if (tamis_extractor_create(&keys->extractor, &extract, err) != TAMIS_OK)
        return err->status;
    if (tamis_extractor_wants_header(keys->extractor))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: a column has a name, but records of Kafka have no header; give csv:N",
                           extract.time ? "key or time" : "key");
    if (tamis_extractor_has_position(keys->extractor))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "key: records of Kafka have their own position; leave this part out");
    return TAMIS_OK;
}

static tamis_status make_description(kafka_dedup_run *run, tamis_error *err) {
    const tamis_extractor_options *extract = &run->extract;
    char *text = run->description;
    const size_t size = sizeof run->description;

    tamis__kafka_describe(text, size, "from=%s", run->options.from);
    tamis__kafka_describe(text, size, "to=%s", run->options.to);
    for (size_t i = 0; i < extract->part_count; i++)
        tamis__kafka_describe(text, size, "key=%s", extract->parts[i]);
    if (extract->part_count == 0)
        tamis__kafka_describe(text, size, "key=line");
    if (extract->delimiter >= 0)
        tamis__kafka_describe(text, size, "delimiter=%d", extract->delimiter);
    if (extract->trim)
        tamis__kafka_describe(text, size, "trim=yes");
    if (extract->ignore_case)
        tamis__kafka_describe(text, size, "ignore-case=yes");
    if (run->has_window)
        tamis__kafka_describe(
            text, size, "window=%" PRIu64 "ms\nstep=%" PRIu64 "ms\nlateness=%" PRIu64 "ms\ntime=%s",
            run->plan.window, run->plan.step, run->plan.lateness, extract->time ? extract->time : "kafka");
    else
        tamis__kafka_describe(text, size, "window=none");
    tamis__kafka_describe(text, size, "scheme=%s", tamis_scheme_name(tamis_hasher_scheme(run->keys.hasher)));
    tamis__kafka_describe(text, size, "hash=%016" PRIx64 "\nhash-bits=%u", run->keys.hasher_id,
                          run->keys.size.bits);
    return strlen(text) + 1 < size
               ? TAMIS_OK
               : tamis__fail(err, TAMIS_E_RANGE, 0,
                             "key: its parts are longer than %d bytes together; shorten them",
                             TAMIS__KAFKA_RECORD_DESCRIPTION);
}

tamis_status tamis__kafka_keys_init(kafka_dedup_run *run, tamis_error *err) {
    const tamis_kafka_dedup_options *options = &run->options;
    const tamis_key empty = {"", 0};
    tamis_hasher_options hasher = TAMIS_HASHER_OPTIONS_INIT;
    tamis_hash hash;

    hasher.scheme = run->plan.scheme;
    hasher.seed = options->seed;
    hasher.secret = options->secret;
    hasher.secret_size = options->secret_size;
    hasher.allocator = options->allocator;
    run->extract = (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
    if (tamis__read_options(&run->extract, sizeof run->extract, options->extract,
                            "TAMIS_EXTRACTOR_OPTIONS_INIT", err) != TAMIS_OK ||
        find_source(&run->keys, &run->extract, err) != TAMIS_OK || create_extractor(run, err) != TAMIS_OK ||
        tamis_hasher_create(&run->keys.hasher, &hasher, err) != TAMIS_OK ||
        tamis_hash_many(run->keys.hasher, &empty, 1, &hash, err) != TAMIS_OK)
        return err->status;
    run->keys.hasher_id = hash.hasher_id;
    return make_description(run, err);
}

void tamis__kafka_keys_release(kafka_keys *keys) {
    tamis_extractor_free(keys->extractor);
    tamis_hasher_free(keys->hasher);
    *keys = (kafka_keys){0};
}

/* The value of a record, its key in Kafka, or a header; data NULL: the record has none. */
static tamis_key source_of(const kafka_keys *keys, const rd_kafka_message_t *message) {
    if (keys->source == KAFKA_VALUE)
        return (tamis_key){message->payload, message->len};
    if (keys->source == KAFKA_KEY)
        return (tamis_key){message->key, message->key_len};
    return tamis__kafka_last_header(message, keys->header);
}

/* Finds the key of a record, if the extractor has not found it in the value. */
static void find_key(const kafka_keys *keys, const rd_kafka_message_t *message, tamis_extraction *extracted) {
    const tamis_key source = source_of(keys, message);

    /* A tombstone has no time in its value. */
    if (!source.data || (!message->payload && keys->extractor))
        extracted->outcome = TAMIS_KEY_MISSING;
    else if (!keys->extractor || keys->source != KAFKA_VALUE)
        extracted->key = source;
}

/* Sets the time of a record that has a key, if the extractor has not found it in the value. */
static void find_time(const kafka_dedup_run *run, const rd_kafka_message_t *message,
                      tamis_extraction *extracted) {
    rd_kafka_timestamp_type_t type;

    if (extracted->outcome != TAMIS_KEY_FOUND)
        return;
    if (!run->keys.extractor || !tamis_extractor_has_time(run->keys.extractor))
        extracted->time = rd_kafka_message_timestamp(message, &type);
    if (extracted->time >= 0)
        return;
    extracted->outcome = TAMIS_KEY_MALFORMED;
    extracted->why = "it has no time";
    extracted->pos = SIZE_MAX;
}

/* The latest time that does not count as ahead of the clock. */
static int64_t latest_time(const kafka_dedup_run *run) {
    enum { AHEAD_MIN = 1000, AHEAD_MAX = 300000 };
    const int64_t half = (int64_t)(run->plan.lateness / 2);

    return tamis__sys.now_unix_ms() + (half < AHEAD_MIN ? AHEAD_MIN : half > AHEAD_MAX ? AHEAD_MAX : half);
}

/* The hash of a key, from its digest. A digest of 64 bits has a second word of 0. */
static tamis_hash hash_of(const kafka_keys *keys, const tamis_hash *digest) {
    const uint64_t bits = digest->word[0] ^ digest->word[1];

    if (keys->size.bits == 128)
        return *digest;
    return tamis__kafka_short_hash(keys->size.bits == 48 ? bits >> 16 << 16 : bits, digest->hasher_id);
}

/* The partition of a key, as producers choose it for records with this key in Kafka. */
static int32_t target_of(const kafka_dedup_run *run, const tamis_key *key) {
    if (!run->is_stateless || run->list || !key->data)
        return -1;
    return rd_kafka_msg_partitioner_murmur2(run->outputs[KAFKA_UNIQUE].topic, key->data, key->size,
                                            (int32_t)run->outputs[KAFKA_UNIQUE].partitions, NULL, NULL);
}

tamis_status tamis__kafka_keys_find(kafka_dedup_run *run, tamis_error *err) {
    const int64_t latest = run->has_window ? latest_time(run) : 0;
    tamis_key records[TAMIS__KAFKA_BATCH];
    tamis_extraction extracted[TAMIS__KAFKA_BATCH];
    tamis_hash hashes[TAMIS__KAFKA_BATCH];

    for (size_t i = 0; i < run->batch_count; i++) {
        records[i] = (tamis_key){run->batch[i]->payload, run->batch[i]->len};
        extracted[i] = (tamis_extraction){.outcome = TAMIS_KEY_FOUND};
    }
    if (run->keys.extractor &&
        tamis_extractor_extract(run->keys.extractor, records, run->batch_count, extracted, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < run->batch_count; i++) {
        find_key(&run->keys, run->batch[i], &extracted[i]);
        if (run->has_window)
            find_time(run, run->batch[i], &extracted[i]);
        records[i] = extracted[i].outcome == TAMIS_KEY_FOUND ? extracted[i].key : (tamis_key){NULL, 0};
    }
    /* Keys that are not there are looked up as empty ones, and the answers are not used. */
    if (run->list &&
        tamis_filter_contains_many(run->list, records, run->batch_count, run->answers, NULL, err) != TAMIS_OK)
        return err->status;
    if (tamis_hash_many(run->keys.hasher, records, run->batch_count, hashes, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < run->batch_count; i++)
        run->found[i] = (kafka_found){
            .outcome = extracted[i].outcome,
            .why = extracted[i].outcome == TAMIS_KEY_MISSING ? "the record has no key" : extracted[i].why,
            .pos = extracted[i].outcome == TAMIS_KEY_MISSING ? SIZE_MAX : extracted[i].pos,
            .hash = hash_of(&run->keys, &hashes[i]),
            .time = extracted[i].time,
            .target = target_of(run, &records[i]),
            .is_ahead = run->has_window && extracted[i].time > latest};
    return TAMIS_OK;
}
