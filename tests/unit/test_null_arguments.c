/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The rule about NULL in tamis/status.h. Each function that returns a status is called once for each pointer
 * that it needs, with that pointer NULL. The other pointers are to meaningless bytes, so a function that uses
 * one before it has checked all would crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/funnel.h>
#include <tamis/compat/guava.h>
#include <tamis/compat/redisbloom.h>
#include <tamis/compat/redisbloom_cuckoo.h>
#include <tamis/experimental/audit.h>
#include <tamis/experimental/census.h>
#include <tamis/experimental/compressed.h>
#include <tamis/experimental/extract.h>
#include <tamis/experimental/filter_set.h>
#include <tamis/experimental/key_buffer.h>
#include <tamis/experimental/key_maker.h>
#include <tamis/experimental/redis.h>
#include <tamis/experimental/redis_bitmap.h>
#include <tamis/experimental/redis_family.h>
#include <tamis/experimental/state.h>
#include <tamis/experimental/stream.h>
#include <tamis/tamis.h>

static _Alignas(64) unsigned char bytes[4096];
#define ANY ((void *)bytes)

static tamis_error err;

static void check(tamis_status status, const char *name, const char *call) {
    if (status != TAMIS_E_INVALID || strncmp(err.text, name, strlen(name)) != 0 || !strstr(err.text, "NULL"))
        fail_msg("%s: status %d, %s", call, (int)status, err.text);
    err = (tamis_error)TAMIS_ERROR_INIT;
}

#define REFUSED(call, name) check(call, name, #call)

static void of_census(void **state) {
    (void)state;
    REFUSED(tamis_cardinality_create(NULL, ANY, &err), "sketch");
    REFUSED(tamis_heavy_hitters_create(NULL, ANY, &err), "hitters");
    REFUSED(tamis_key_sampler_create(NULL, ANY, &err), "sampler");
    REFUSED(tamis_key_buffer_create(NULL, ANY, &err), "buffer");
    REFUSED(tamis_audit_create(NULL, ANY, ANY, &err), "audit");
    REFUSED(tamis_audit_create(ANY, NULL, ANY, &err), "filter");
    REFUSED(tamis_audit_check_keys(NULL, ANY, 1, ANY, &err), "audit");
    REFUSED(tamis_audit_check_keys(ANY, NULL, 1, ANY, &err), "keys");
    REFUSED(tamis_audit_check_keys(ANY, ANY, 1, NULL, &err), "answers");
    REFUSED(tamis_audit_query_random(NULL, 1, &err), "audit");
}

static void of_dedup(void **state) {
    (void)state;
    REFUSED(tamis_dedup_open(NULL, ANY, ANY, &err), "session");
    REFUSED(tamis_dedup_add_many(NULL, ANY, 1, ANY, ANY, &err), "session");
    REFUSED(tamis_dedup_add_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_dedup_add_many(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_dedup_add_hashes(NULL, ANY, 1, ANY, ANY, &err), "session");
    REFUSED(tamis_dedup_add_hashes(ANY, NULL, 1, ANY, ANY, &err), "hashes");
    REFUSED(tamis_dedup_add_hashes(ANY, ANY, 1, NULL, ANY, &err), "answers");
    const tamis_timed_hashes no_hashes = {.count = 1};
    const tamis_deliveries no_records = {.count = 1};
    REFUSED(tamis_dedup_add_timed(NULL, ANY, ANY, ANY, &err), "session");
    REFUSED(tamis_dedup_add_timed(ANY, NULL, ANY, ANY, &err), "batch");
    REFUSED(tamis_dedup_add_timed(ANY, &no_hashes, ANY, ANY, &err), "batch->hashes");
    REFUSED(tamis_dedup_add_delivered(NULL, ANY, ANY, ANY, &err), "session");
    REFUSED(tamis_dedup_add_delivered(ANY, NULL, ANY, ANY, &err), "batch");
    REFUSED(tamis_dedup_add_delivered(ANY, &no_records, ANY, ANY, &err), "batch->records");
    REFUSED(tamis_dedup_commit(NULL, ANY, 1, &err), "session");
    REFUSED(tamis_dedup_commit(ANY, NULL, 1, &err), "checkpoint");
    REFUSED(tamis_dedup_abort(NULL, &err), "session");
}

static void of_extract(void **state) {
    (void)state;
    const tamis_key record = {NULL, 0};
    REFUSED(tamis_extractor_create(NULL, ANY, &err), "extractor");
    REFUSED(tamis_extractor_header(NULL, record, &err), "extractor");
    REFUSED(tamis_extractor_extract(NULL, ANY, 1, ANY, &err), "extractor");
    REFUSED(tamis_extractor_extract(ANY, NULL, 1, ANY, &err), "records");
    REFUSED(tamis_extractor_extract(ANY, ANY, 1, NULL, &err), "found");
    REFUSED(tamis_extractor_values(NULL, ANY, 1, ANY, ANY, &err), "extractor");
    REFUSED(tamis_extractor_values(ANY, NULL, 1, ANY, ANY, &err), "records");
    REFUSED(tamis_extractor_values(ANY, ANY, 1, NULL, ANY, &err), "found");
    REFUSED(tamis_extractor_values(ANY, ANY, 1, ANY, NULL, &err), "values");
}

static void of_file(void **state) {
    (void)state;
    REFUSED(tamis_format_parse(ANY, NULL, &err), "name");
    REFUSED(tamis_format_parse(NULL, ANY, &err), "format");
    REFUSED(tamis_filter_metadata_get(NULL, ANY, &err), "filter");
    REFUSED(tamis_filter_metadata_set(NULL, ANY, &err), "filter");
    REFUSED(tamis_filter_encoded_size(NULL, 0, ANY, &err), "filter");
    REFUSED(tamis_filter_encoded_size(ANY, 0, NULL, &err), "size");
    REFUSED(tamis_filter_encode(NULL, 0, ANY, 1, &err), "filter");
    REFUSED(tamis_filter_encode(ANY, 0, NULL, 1, &err), "bytes");
    REFUSED(tamis_filter_decode(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_filter_decode(ANY, NULL, 1, ANY, &err), "bytes");
    REFUSED(tamis_filter_open(NULL, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_open(ANY, NULL, ANY, &err), "path");
    REFUSED(tamis_file_lock(NULL, ANY, &err), "lock");
    REFUSED(tamis_file_lock(ANY, NULL, &err), "path");
    REFUSED(tamis_filter_save(NULL, ANY, &err), "filter");
    REFUSED(tamis_filter_save(ANY, NULL, &err), "path");
    REFUSED(tamis_filter_save_as(NULL, ANY, 0, &err), "filter");
    REFUSED(tamis_filter_save_as(ANY, NULL, 0, &err), "path");
    REFUSED(tamis_filter_save_new(NULL, ANY, 0, &err), "filter");
    REFUSED(tamis_filter_save_new(ANY, NULL, 0, &err), "path");
    REFUSED(tamis_filter_reload(NULL, ANY, &err), "filter");
    REFUSED(tamis_filter_verify(NULL, &err), "filter");
}

static void of_filter(void **state) {
    (void)state;
    REFUSED(tamis_filter_create(NULL, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_add_many(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_add_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_filter_contains_many(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_contains_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_filter_contains_many(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_filter_add_hashes(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_add_hashes(ANY, NULL, 1, ANY, ANY, &err), "hashes");
    REFUSED(tamis_filter_count_key(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_filter_count_key(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_filter_count_key(ANY, ANY, 1, NULL, &err), "copies");
    REFUSED(tamis_filter_remove_many(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_remove_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_filter_remove_hashes(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_remove_hashes(ANY, NULL, 1, ANY, ANY, &err), "hashes");
    REFUSED(tamis_filter_remove(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_filter_remove(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_filter_contains_hashes(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_filter_contains_hashes(ANY, NULL, 1, ANY, ANY, &err), "hashes");
    REFUSED(tamis_filter_contains_hashes(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_filter_add(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_filter_add(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_filter_contains(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_filter_contains(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_filter_contains(ANY, ANY, 1, NULL, &err), "answer");
    REFUSED(tamis_filter_clear(NULL, &err), "filter");
    REFUSED(tamis_filter_union(NULL, ANY, &err), "into");
    REFUSED(tamis_filter_union(ANY, NULL, &err), "from");
    REFUSED(tamis_filter_copy(NULL, ANY, &err), "copy");
    REFUSED(tamis_filter_copy(ANY, NULL, &err), "filter");
    REFUSED(tamis_filter_compare(ANY, NULL, ANY, &err), "a");
    REFUSED(tamis_filter_compare(ANY, ANY, NULL, &err), "b");
    REFUSED(tamis_filter_info_get(NULL, ANY, &err), "filter");
}

static void of_filter_set(void **state) {
    (void)state;
    const tamis_filter_set_answers no_answers = {.any = NULL};
    REFUSED(tamis_filter_set_contains_many(NULL, ANY, 1, ANY, ANY, &err), "set");
    REFUSED(tamis_filter_set_contains_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_filter_set_contains_many(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_filter_set_contains_many(ANY, ANY, 1, &no_answers, ANY, &err), "answers->any");
    REFUSED(tamis_filter_set_contains_hashes(NULL, ANY, 1, ANY, ANY, &err), "set");
    REFUSED(tamis_filter_set_contains_hashes(ANY, NULL, 1, ANY, ANY, &err), "hashes");
    REFUSED(tamis_filter_set_contains_hashes(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_filter_set_contains_hashes(ANY, ANY, 1, &no_answers, ANY, &err), "answers->any");
}

static void of_funnel(void **state) {
    (void)state;
    REFUSED(tamis_sink_create(NULL, ANY, &err), "sink");
    REFUSED(tamis_sink_keys(NULL, ANY, ANY, &err), "sink");
    REFUSED(tamis_sink_keys(ANY, NULL, ANY, &err), "keys");
    REFUSED(tamis_sink_keys(ANY, ANY, NULL, &err), "count");
    REFUSED(tamis_sink_recover(NULL, &err), "sink");
    REFUSED(tamis_key_maker_create(NULL, ANY, &err), "maker");
    REFUSED(tamis_key_maker_make(NULL, ANY, 1, ANY, ANY, &err), "maker");
    REFUSED(tamis_key_maker_make(ANY, NULL, 1, ANY, ANY, &err), "texts");
    REFUSED(tamis_key_maker_make(ANY, ANY, 1, NULL, ANY, &err), "keys");
    REFUSED(tamis_key_maker_make(ANY, ANY, 1, ANY, NULL, &err), "made");
}

static void of_redisbloom_cuckoo(void **state) {
    (void)state;
    REFUSED(tamis_redisbloom_cuckoo_create(NULL, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_copy(NULL, ANY, &err), "copy");
    REFUSED(tamis_redisbloom_cuckoo_copy(ANY, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_add(NULL, ANY, 1, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_add(ANY, NULL, 1, &err), "key");
    REFUSED(tamis_redisbloom_cuckoo_add_absent(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_add_absent(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_redisbloom_cuckoo_add_many(NULL, ANY, 1, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_add_many(ANY, NULL, 1, NULL, &err), "keys");
    REFUSED(tamis_redisbloom_cuckoo_add_absent_many(NULL, ANY, 1, ANY, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_add_absent_many(ANY, NULL, 1, ANY, NULL, &err), "keys");
    REFUSED(tamis_redisbloom_cuckoo_add_absent_many(ANY, ANY, 1, NULL, NULL, &err), "answers");
    REFUSED(tamis_redisbloom_cuckoo_contains_many(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_contains_many(ANY, NULL, 1, ANY, &err), "keys");
    REFUSED(tamis_redisbloom_cuckoo_contains_many(ANY, ANY, 1, NULL, &err), "answers");
    REFUSED(tamis_redisbloom_cuckoo_count(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_count(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_redisbloom_cuckoo_count(ANY, ANY, 1, NULL, &err), "count");
    REFUSED(tamis_redisbloom_cuckoo_remove(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_remove(ANY, NULL, 1, ANY, &err), "key");
    REFUSED(tamis_redisbloom_cuckoo_compact(NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_info_get(NULL, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_info_get(ANY, NULL, &err), "info");
    REFUSED(tamis_redisbloom_cuckoo_load_header(NULL, ANY, 1, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_load_header(ANY, NULL, 1, NULL, &err), "bytes");
    REFUSED(tamis_redisbloom_cuckoo_load_chunk(NULL, 1, ANY, 1, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_load_chunk(ANY, 1, NULL, 1, &err), "bytes");
    REFUSED(tamis_redisbloom_cuckoo_rdb_read(NULL, 4, ANY, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_rdb_read(ANY, 4, NULL, NULL, &err), "source");
    REFUSED(tamis_redisbloom_cuckoo_rdb_write(NULL, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_cuckoo_rdb_write(ANY, NULL, &err), "sink");
}

static void of_redisbloom(void **state) {
    (void)state;
    REFUSED(tamis_redisbloom_create(NULL, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_copy(NULL, ANY, &err), "copy");
    REFUSED(tamis_redisbloom_copy(ANY, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_add_many(NULL, ANY, 1, ANY, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_add_many(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_redisbloom_contains_many(NULL, ANY, 1, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_contains_many(ANY, NULL, 1, ANY, &err), "keys");
    REFUSED(tamis_redisbloom_contains_many(ANY, ANY, 1, NULL, &err), "answers");
    REFUSED(tamis_redisbloom_info_get(NULL, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_info_get(ANY, NULL, &err), "info");
    REFUSED(tamis_redisbloom_subfilter_get(NULL, 0, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_subfilter_get(ANY, 0, NULL, &err), "subfilter");
    REFUSED(tamis_redisbloom_load_header(NULL, ANY, 1, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_load_header(ANY, NULL, 1, NULL, &err), "bytes");
    REFUSED(tamis_redisbloom_load_chunk(NULL, 1, ANY, 1, &err), "filter");
    REFUSED(tamis_redisbloom_load_chunk(ANY, 1, NULL, 1, &err), "bytes");
    REFUSED(tamis_redisbloom_rdb_read(NULL, 4, ANY, NULL, &err), "filter");
    REFUSED(tamis_redisbloom_rdb_read(ANY, 4, NULL, NULL, &err), "source");
    REFUSED(tamis_redisbloom_rdb_write(NULL, ANY, &err), "filter");
    REFUSED(tamis_redisbloom_rdb_write(ANY, NULL, &err), "sink");
}

static void of_guava(void **state) {
    (void)state;
    REFUSED(tamis_guava_create(NULL, ANY, &err), "guava");
    REFUSED(tamis_guava_put(NULL, ANY, ANY, &err), "guava");
    REFUSED(tamis_guava_might_contain(NULL, ANY, ANY, &err), "guava");
    REFUSED(tamis_guava_might_contain(ANY, ANY, NULL, &err), "might");
    REFUSED(tamis_guava_put_all(NULL, ANY, &err), "guava");
    REFUSED(tamis_guava_put_all(ANY, NULL, &err), "other");
    REFUSED(tamis_guava_copy(NULL, ANY, &err), "copy");
    REFUSED(tamis_guava_copy(ANY, NULL, &err), "guava");
    REFUSED(tamis_guava_approximate_element_count(NULL, ANY, &err), "guava");
    REFUSED(tamis_guava_approximate_element_count(ANY, NULL, &err), "count");
}

static void of_hash(void **state) {
    (void)state;
    REFUSED(tamis_scheme_parse(ANY, NULL, &err), "name");
    REFUSED(tamis_scheme_parse(NULL, ANY, &err), "scheme");
    REFUSED(tamis_hasher_create(NULL, ANY, &err), "hasher");
    REFUSED(tamis_hash_many(NULL, ANY, 1, ANY, &err), "hasher");
    REFUSED(tamis_hash_many(ANY, NULL, 1, ANY, &err), "keys");
    REFUSED(tamis_hash_many(ANY, ANY, 1, NULL, &err), "hashes");
    REFUSED(tamis_hash_positions(NULL, ANY, 1, ANY, ANY, &err), "hasher");
    REFUSED(tamis_hash_positions(ANY, NULL, 1, ANY, ANY, &err), "keys");
    REFUSED(tamis_hash_positions(ANY, ANY, 1, NULL, ANY, &err), "shape");
    REFUSED(tamis_hash_positions(ANY, ANY, 1, ANY, NULL, &err), "positions");
    REFUSED(tamis_hash_series(NULL, ANY, 1, 0, ANY, &err), "hasher");
    REFUSED(tamis_hash_series(ANY, NULL, 1, 0, ANY, &err), "keys");
    REFUSED(tamis_hash_series(ANY, ANY, 1, 0, NULL, &err), "values");
}

static void of_compressed(void **state) {
    (void)state;
    REFUSED(tamis_compressed_open(NULL, ANY, ANY, ANY, &err), "filter");
    REFUSED(tamis_compressed_open(ANY, ANY, NULL, ANY, &err), "path");
    REFUSED(tamis_compressed_save(NULL, ANY, 0, 0, &err), "filter");
    REFUSED(tamis_compressed_save(ANY, NULL, 0, 0, &err), "path");
    REFUSED(tamis_compressed_save_until(NULL, ANY, 0, 0, 0, &err), "filter");
    REFUSED(tamis_compressed_save_until(ANY, NULL, 0, 0, 0, &err), "path");
}

static void of_plan(void **state) {
    (void)state;
    REFUSED(tamis_kind_parse(ANY, NULL, &err), "name");
    REFUSED(tamis_kind_parse(NULL, ANY, &err), "kind");
}

static void of_redis(void **state) {
    (void)state;
    REFUSED(tamis_redis_open(NULL, ANY, ANY, &err), "redis");
    REFUSED(tamis_redis_open(ANY, NULL, ANY, &err), "uri");
    REFUSED(tamis_redis_filter_open(NULL, ANY, ANY, ANY, &err), "filter");
    REFUSED(tamis_redis_filter_open(ANY, ANY, NULL, ANY, &err), "name");
    REFUSED(tamis_redis_plan_for(ANY, ANY, ANY, NULL, &err), "name");
    REFUSED(tamis_redis_filter_enforce_capacity(NULL, &err), "filter");
    REFUSED(tamis_redis_filter_trace(NULL, NULL, ANY, &err), "filter");
    REFUSED(tamis_redis_pull(ANY, NULL, &err), "there");
    REFUSED(tamis_redis_pull(NULL, ANY, &err), "pulled");
    REFUSED(tamis_redis_pull_bitmap(NULL, NULL, ANY, &err), "there");
    REFUSED(tamis_redis_pull_bitmap(ANY, NULL, ANY, &err), "sink");
    REFUSED(tamis_redis_from_bitmap(ANY, NULL, ANY, 1, &err), "there");
    REFUSED(tamis_redis_from_bitmap(ANY, ANY, NULL, 1, &err), "bytes");
    REFUSED(tamis_redis_from_bitmap(NULL, ANY, ANY, 1, &err), "made");
    REFUSED(tamis_redis_push(NULL, ANY, ANY, ANY, &err), "filter");
    REFUSED(tamis_redis_push(ANY, ANY, NULL, ANY, &err), "name");
    REFUSED(tamis_redis_union(NULL, ANY, &err), "there");
    REFUSED(tamis_redis_union(ANY, NULL, &err), "from");
    REFUSED(tamis_redis_resize_begin(NULL, ANY, ANY, ANY, &err), "resize");
    REFUSED(tamis_redis_resize_begin(ANY, NULL, ANY, ANY, &err), "like");
    REFUSED(tamis_redis_resize_begin(ANY, ANY, ANY, NULL, &err), "name");
    REFUSED(tamis_redis_alias(ANY, NULL, ANY, &err), "name");
    REFUSED(tamis_redis_drop(ANY, NULL, &err), "name");
    REFUSED(tamis_redis_expire(ANY, NULL, 0, &err), "name");
    REFUSED(tamis_redis_list(ANY, ANY, NULL, ANY, &err), "sink");
}

static void of_redis_bitmap(void **state) {
    (void)state;
    const tamis_redis_bits no_offsets = {.count = 1};
    REFUSED(tamis_redis_bitmap_open(NULL, ANY, ANY, ANY, &err), "bitmap");
    REFUSED(tamis_redis_bitmap_open(ANY, ANY, NULL, ANY, &err), "key");
    REFUSED(tamis_redis_bitmap_set(NULL, ANY, ANY, ANY, &err), "bitmap");
    REFUSED(tamis_redis_bitmap_set(ANY, NULL, ANY, ANY, &err), "bits");
    REFUSED(tamis_redis_bitmap_set(ANY, &no_offsets, ANY, ANY, &err), "bits->offsets");
    REFUSED(tamis_redis_bitmap_get(NULL, ANY, 1, ANY, ANY, &err), "bitmap");
    REFUSED(tamis_redis_bitmap_get(ANY, NULL, 1, ANY, ANY, &err), "offsets");
    REFUSED(tamis_redis_bitmap_get(ANY, ANY, 1, NULL, ANY, &err), "bits");
    REFUSED(tamis_redis_bitmap_count(NULL, ANY, ANY, &err), "bitmap");
    REFUSED(tamis_redis_bitmap_count(ANY, ANY, NULL, &err), "count");
    REFUSED(tamis_redis_bitmap_pos(NULL, 0, ANY, ANY, &err), "bitmap");
    REFUSED(tamis_redis_bitmap_pos(ANY, 0, ANY, NULL, &err), "offset");
    REFUSED(tamis_redis_bitmap_op(NULL, 0, ANY, 1, ANY, &err), "target");
    REFUSED(tamis_redis_bitmap_op(ANY, 0, NULL, 1, ANY, &err), "sources");
}

static void of_redis_family(void **state) {
    (void)state;
    REFUSED(tamis_redis_family_open(NULL, ANY, ANY, ANY, &err), "family");
    REFUSED(tamis_redis_family_open(ANY, ANY, NULL, ANY, &err), "name");
    REFUSED(tamis_redis_family_add_many(NULL, ANY, 1, ANY, ANY, &err), "family");
    REFUSED(tamis_redis_family_add_many(ANY, NULL, 1, ANY, ANY, &err), "pairs");
    REFUSED(tamis_redis_family_contains_many(NULL, ANY, 1, ANY, ANY, &err), "family");
    REFUSED(tamis_redis_family_contains_many(ANY, NULL, 1, ANY, ANY, &err), "pairs");
    REFUSED(tamis_redis_family_contains_many(ANY, ANY, 1, NULL, ANY, &err), "answers");
    REFUSED(tamis_redis_family_info(NULL, ANY, 1, ANY, &err), "family");
    REFUSED(tamis_redis_family_info(ANY, NULL, 1, ANY, &err), "name");
}

static void of_state(void **state) {
    (void)state;
    REFUSED(tamis_state_open(NULL, ANY, ANY, &err), "state");
    REFUSED(tamis_state_open(ANY, NULL, ANY, &err), "directory");
    REFUSED(tamis_state_set_metadata(NULL, ANY, &err), "state");
    REFUSED(tamis_state_expect(NULL, 0, &err), "state");
    REFUSED(tamis_state_log(NULL, ANY, 1, &err), "state");
    REFUSED(tamis_state_log(ANY, NULL, 1, &err), "hashes");
    REFUSED(tamis_state_note(NULL, ANY, 1, &err), "state");
    REFUSED(tamis_state_note(ANY, NULL, 1, &err), "note");
    REFUSED(tamis_state_commit(NULL, ANY, 1, &err), "state");
    REFUSED(tamis_state_commit(ANY, NULL, 1, &err), "checkpoint");
    REFUSED(tamis_state_abort(NULL, &err), "state");
    REFUSED(tamis_state_snapshot(NULL, 0, &err), "state");
    REFUSED(tamis_state_verify(NULL, ANY, &err), "directory");
}

static void of_stream(void **state) {
    (void)state;
    REFUSED(tamis_stream_dedup(NULL, ANY, ANY, NULL, &err), "session");
    REFUSED(tamis_stream_checkpoint_decode(NULL, ANY, 1, &err), "checkpoint");
    REFUSED(tamis_stream_checkpoint_decode(ANY, NULL, 1, &err), "bytes");
    REFUSED(tamis_stream_run_at(NULL, ANY, ANY, 0, &err), "checkpoint");
    REFUSED(tamis_stream_run_at(ANY, NULL, ANY, 0, &err), "run_status");
    REFUSED(tamis_stream_run_at(ANY, ANY, NULL, 0, &err), "state");
    REFUSED(tamis_stream_run_close(NULL, 0, &err), "state");
}

/* Arguments that may be NULL. */
static void arguments_that_may_be_null(void **state) {
    (void)state;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_hasher *hasher = NULL;
    tamis_dedup *session = NULL;
    tamis_answer answer = 9;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_plan_make(NULL, &plan_options, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_plan_make(&plan, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_plan_fit(NULL, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_create(&filter, NULL, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_info_get(filter, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_metadata_get(filter, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_metadata_set(filter, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_compare(NULL, filter, filter, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_add(filter, NULL, 0, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_add_many(filter, NULL, 0, NULL, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_many(filter, NULL, 0, NULL, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains(filter, NULL, 0, &answer, NULL), TAMIS_OK);
    assert_int_equal(tamis_dedup_open(&session, filter, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_dedup_add_many(session, NULL, 0, NULL, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_hash_many(hasher, NULL, 0, NULL, NULL), TAMIS_OK);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
    tamis_hasher_free(hasher);
    tamis_dedup_close(NULL);
    tamis_filter_free(NULL);
    tamis_hasher_free(NULL);
    tamis_sink_free(NULL);
    tamis_key_maker_free(NULL);
    tamis_guava_free(NULL);
    tamis_redisbloom_free(NULL);
    tamis_redisbloom_cuckoo_free(NULL);
    tamis_state_close(NULL);
    tamis_file_unlock(NULL);
    tamis_extractor_free(NULL);
    tamis_stream_checkpoint_free(NULL);
    tamis_redis_close(NULL);
    tamis_redis_bitmap_close(NULL);
    tamis_redis_family_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_may_be_null),
        cmocka_unit_test(of_census),
        cmocka_unit_test(of_compressed),
        cmocka_unit_test(of_dedup),
        cmocka_unit_test(of_extract),
        cmocka_unit_test(of_file),
        cmocka_unit_test(of_filter),
        cmocka_unit_test(of_filter_set),
        cmocka_unit_test(of_funnel),
        cmocka_unit_test(of_guava),
        cmocka_unit_test(of_redisbloom),
        cmocka_unit_test(of_redisbloom_cuckoo),
        cmocka_unit_test(of_hash),
        cmocka_unit_test(of_plan),
        cmocka_unit_test(of_redis),
        cmocka_unit_test(of_redis_bitmap),
        cmocka_unit_test(of_redis_family),
        cmocka_unit_test(of_state),
        cmocka_unit_test(of_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
