/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables with hashes that an adversary chose: all in one line, in adjacent lines, or different in
 * their last bits only. No added hash is answered TAMIS_ABSENT afterwards, and a table without a free slot
 * reports it by a status.
 *
 * Input: byte 0: the rate; byte 1: the capacity (0: it grows). Then runs of 4 bytes: the first hash of the
 * run, the distance of its hashes as a power of two, and their number.
 */
#include <stdint.h>
#include <stdlib.h>

#include <tamis/tamis.h>

enum { HASHES_MAX = 4096, MEMORY_MAX = 4 << 20 };

static tamis_filter *make(const uint8_t *data) {
    static const double rates[] = {1e-4, 1e-5, 1e-6, 1e-9, 1e-11, 1e-13, 1e-18, 1e-26};
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = TAMIS_KIND_FINGERPRINT;
    plan_options.fpr = rates[data[0] % 8];
    plan_options.expect = (uint64_t)data[1] * 8;
    plan_options.memory = MEMORY_MAX;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    if (tamis_plan_make(&plan, &plan_options, NULL) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, NULL) != TAMIS_OK)
        abort();
    return filter;
}

static size_t read_hashes(const uint8_t *data, size_t size, uint64_t hasher_id, tamis_hash *hashes) {
    size_t count = 0;
    for (; size >= 4; data += 4, size -= 4) {
        tamis_hash hash = {{data[1], (uint64_t)data[0] << 56 | (uint64_t)data[1] << 40}, hasher_id};
        uint32_t shift = data[2] % 128;
        for (uint32_t i = 0; i <= data[3] && count < HASHES_MAX; i++) {
            hashes[count++] = hash;
            if (shift < 64)
                hash.word[0] += UINT64_C(1) << shift;
            else
                hash.word[1] += UINT64_C(1) << (shift - 64);
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tamis_hash hashes[HASHES_MAX];
    static tamis_answer answers[HASHES_MAX];
    if (size < 2)
        return 0;
    tamis_filter *filter = make(data);
    tamis_key none = {NULL, 0};
    tamis_hash like;
    tamis_hash_many(tamis_filter_hasher(filter), &none, 1, &like, NULL);
    size_t count = read_hashes(data + 2, size - 2, like.hasher_id, hashes), done;

    tamis_status status = tamis_filter_add_hashes(filter, hashes, count, answers, &done, NULL);
    if (status != TAMIS_OK && status != TAMIS_E_FULL)
        abort();
    if (done > count || (status == TAMIS_OK && done != count))
        abort();
    if (tamis_filter_contains_hashes(filter, hashes, done, answers, NULL, NULL) != TAMIS_OK)
        abort();
    for (size_t i = 0; i < done; i++)
        if (answers[i] != TAMIS_PRESENT)
            abort();
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    if (info.memory_peak > MEMORY_MAX || info.added > done)
        abort();
    tamis_filter_free(filter);
    return 0;
}
