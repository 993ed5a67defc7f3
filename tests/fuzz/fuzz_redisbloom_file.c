/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters of RedisBloom and of the Redis module in DUMPs and RDB files, of any bytes. An input that begins like
 * an RDB file is one, in which key "k" is looked for; its checksum is set to 0, which means none. Any other
 * input is the value of a DUMP, behind which its footer is put. So the fuzzer gets behind the checksums.
 * fuzz_native_file.c gets behind those of the .tamis file that a key of the module has.
 *
 * The bytes are refused without a leak, or they are a filter that is encoded to a DUMP of itself, which is
 * encoded to the same bytes again. A filter of the module is encoded to a .tamis file, and refuses keys.
 * Memory is bounded: LZF makes at most 264 bytes of three, and a table is copied once.
 */
#include "fuzz_format.h"

#include <tamis/compat/redisbloom_cuckoo.h>

#include "base/bytes.h"
#include "format/rdb.h"

static tamis_filter *decode(const uint8_t *bytes, size_t size, tamis_format format, fault_memory *memory) {
    tamis_allocator allocator = fault_memory_allocator(memory);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    options.format = format;
    options.allocator = &allocator;
    memory->limit = 600 * size + 16 * FUZZ_HANDLES;
    const tamis__encoded_bytes source = {
        .bytes = bytes, .size = size, .name = "fuzzed", .key = tamis__rdb_is_file(bytes, size) ? "k" : NULL};
    const tamis_status status = tamis__format_decode(&filter, &source, &options, &err);
    memory->limit = 0;
    fuzz_check((status == TAMIS_OK) == (filter != NULL));
    fuzz_check(status == TAMIS_OK || (err.status == status && *err.text && memory->live_blocks == 0));
    return filter;
}

/* Copies the input, and completes it as above. */
static uint8_t *complete(const uint8_t *data, size_t *size) {
    const bool is_file = tamis__rdb_is_file(data, *size);
    uint8_t *bytes = malloc(*size + 10);
    fuzz_check(bytes);
    memcpy(bytes, data, *size);
    if (is_file && *size >= TAMIS__RDB_HEADER + 9) {
        memset(bytes + *size - 8, 0, 8);
    } else if (!is_file) {
        tamis__crc64 crc;
        tamis__store16le(bytes + *size, 8);
        tamis__crc64_init(&crc);
        tamis__crc64_update(&crc, bytes, *size + 2);
        tamis__store64le(bytes + *size + 2, crc.value);
        *size += 10;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fault_memory memory = {0}, more = {0};
    uint64_t encoded = 0, again = 0;
    uint8_t *bytes = complete(data, &size);
    tamis_filter *filter = decode(bytes, size, TAMIS_FORMAT_REDISBLOOM, &memory);
    free(bytes);
    if (!filter)
        return 0;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_answer answer = TAMIS_UNKNOWN;
    fuzz_check(tamis_filter_info_get(filter, &info, NULL) == TAMIS_OK);
    fuzz_check(info.fpr_live >= 0 && info.fpr_live <= 1 && info.cardinality >= 0);
    fuzz_check(tamis_filter_contains(filter, data, size < 8 ? size : 8, &answer, NULL) == TAMIS_OK);
    fuzz_check(tamis_filter_add(filter, data, size < 8 ? size : 8, NULL, NULL) == TAMIS_E_UNSUPPORTED);
    const bool is_own = !tamis_redisbloom_of(filter) && !tamis_redisbloom_cuckoo_of(filter);
    const tamis_format format = is_own ? TAMIS_FORMAT_TAMIS : TAMIS_FORMAT_REDISBLOOM;
    bytes = fuzz_encode(filter, format, &encoded);
    tamis_filter *copy = decode(bytes, encoded, format, &more);
    fuzz_check(copy != NULL);
    uint8_t *same = fuzz_encode(copy, format, &again);
    fuzz_check(again == encoded && memcmp(bytes, same, encoded) == 0);
    free(same);
    free(bytes);
    tamis_filter_free(copy);
    tamis_filter_free(filter);
    fuzz_check(memory.live_blocks == 0 && more.live_blocks == 0);
    return 0;
}
