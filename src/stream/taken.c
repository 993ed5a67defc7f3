/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/taken.h"

#include <inttypes.h>

#include "base/versioned.h"
#include "stream/find.h"

tamis_status tamis__stream_take_service(tamis_stream_service *taken, const tamis_stream_service *given,
                                        tamis_error *err) {
    *taken = (tamis_stream_service)TAMIS_STREAM_SERVICE_INIT;
    tamis_status status = tamis__take_struct(taken, sizeof *taken, given, "TAMIS_STREAM_SERVICE_INIT", err);
    if (status == TAMIS_OK && !taken->ask)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: service without ask; give it the function that answers");
    if (status == TAMIS_OK && !taken->hasher != !taken->ask_hashes)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: service with one of hasher and ask_hashes; give both, or none");
    const int of_parts = (taken->parts != NULL) + (taken->ask_part != NULL) + (taken->settle != NULL);
    if (status == TAMIS_OK && of_parts != 0 && (of_parts != 3 || !taken->ask_hashes))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: service with some of parts, ask_part and settle; give all three and "
                           "ask_hashes, or none");
    return status;
}

static tamis_status check_marking(const tamis_stream_options *options, tamis_error *err) {
    if (options->marking && options->duplicates)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: marked records all go to output, and duplicates is given; leave one out");
    if (options->marking == TAMIS_STREAM_MEMBER &&
        !(options->extractor && tamis_extractor_is_json(options->extractor)))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "stream: a member is added to records of JSON; give an extractor with a json part, or "
            "mark by column");
    return TAMIS_OK;
}

static tamis_status check_delimiter(const tamis_stream_options *options, tamis_error *err) {
    const tamis_extractor *x = options->extractor;
    if (x && tamis_extractor_is_csv(x) && tamis__extractor_delimiter(x) == options->terminator)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: byte %d ends records, and stands between the columns of CSV; give the "
                           "extractor another delimiter",
                           options->terminator);
    return TAMIS_OK;
}

tamis_status tamis__stream_take_options(tamis_stream_options *taken, const tamis_stream_options *given,
                                        const tamis_stream_stats *stats, tamis_error *err) {
    *taken = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    if (stats && stats->struct_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: stats without struct_size; start from TAMIS_STREAM_STATS_INIT");
    tamis_status status = tamis__take_struct(taken, sizeof *taken, given, "TAMIS_STREAM_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (taken->profile && taken->profile->struct_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: profile without struct_size; start from TAMIS_STREAM_PROFILE_INIT");
    if (taken->input_count > 0 && !taken->inputs)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: input_count is %zu and inputs is NULL; give their names",
                           taken->input_count);
    if (taken->threads > TAMIS_STREAM_THREADS_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "stream: %" PRIu32
                           " threads; give 1 to %d, or 0 for as many as there are processors",
                           taken->threads, TAMIS_STREAM_THREADS_MAX);
    if (taken->max_record == 0)
        taken->max_record = TAMIS_MAX_RECORD_DEFAULT;
    status = check_delimiter(taken, err);
    return status == TAMIS_OK ? check_marking(taken, err) : status;
}
