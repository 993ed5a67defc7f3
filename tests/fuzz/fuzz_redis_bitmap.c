/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A bitmap of a server as a filter in memory. Bytes 0 to 2 of the input select its parameters, the rest is
 * the bitmap. It is refused, or the filter has exactly these bits and accepts keys.
 */
#include <stdio.h>

#include <tamis/experimental/redis.h>

#include "filter/filter_int.h"
#include "fuzz_format.h"

static void has_bits(const tamis_filter *filter, const uint8_t *bytes, uint64_t bits) {
    size_t count;
    const uint64_t *words = tamis__bloom_words(filter, &count);
    fuzz_check(count == (bits + 63) / 64);
    for (uint64_t i = 0; i < 64 * count; i++)
        fuzz_check((words[i / 64] >> i % 64 & 1) == (i < bits ? bytes[i / 8] >> (7 - i % 8) & 1 : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3)
        return 0;
    const uint64_t bits = 1 + data[0] + 256u * (data[1] % 16);
    const unsigned probes = 1 + data[2] % TAMIS_PROBES_MAX;
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *there, *made = NULL;
    char name[96];
    options.allocator = &allocator;
    snprintf(name, sizeof name, "redis://127.0.0.1:1/n?layout=php1&bits=%u&probes=%u", (unsigned)bits,
             probes);
    fuzz_check(tamis_redis_filter_open(&there, NULL, name, &options, NULL) == TAMIS_OK);
    data += 3;
    size -= 3;

    tamis_status status = tamis_redis_from_bitmap(&made, there, data, size, &err);
    if (status == TAMIS_OK) {
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        fuzz_check(size == (bits + 7) / 8);
        has_bits(made, data, bits);
        fuzz_check(tamis_filter_info_get(made, &info, NULL) == TAMIS_OK);
        fuzz_check(info.fpr_live >= 0 && info.fpr_live <= 1 && info.cardinality >= 0 &&
                   info.false_present >= 0);
        fuzz_add_and_query(made, data, size);
    } else {
        fuzz_check(status == TAMIS_E_MISMATCH && !made && err.status == status && *err.text);
    }
    tamis_filter_free(made);
    tamis_filter_free(there);
    fuzz_check(memory.live_blocks == 0);
    return 0;
}
