/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The caller's structs become a run's own copies, checked, before anything is opened.
 *
 *     given, of the caller's version --tamis__read_struct--> copy with defaults --checks--> the run's options
 *
 * - A caller that was compiled with an older header passes a shorter struct. Its missing fields get their
 *   defaults, so the run reads every field without asking for the version.
 * - A struct without struct_size was not initialised, and is refused: its fields may be anything.
 * - Options that contradict each other are refused here, not where they meet. So such a run neither reads its
 *   inputs nor creates a file.
 * - A service has all three functions for parts or none. With them it needs a hasher, since the run then
 *   hashes the keys and the service gets hashes.
 */
#include "stream/run/run.h"

#include <inttypes.h>

#include <tamis/experimental/window.h>

#include "base/versioned.h"
#include "stream/extract/find.h"
#include "stream/io/input_pattern.h"

tamis_status tamis__stream_check_service(tamis_stream_service *checked, const tamis_stream_service *given,
                                         tamis_error *err) {
    *checked = (tamis_stream_service)TAMIS_STREAM_SERVICE_INIT;
    tamis_status status =
        tamis__read_struct(checked, sizeof *checked, given, "TAMIS_STREAM_SERVICE_INIT", err);
    if (status == TAMIS_OK && !checked->query)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: service without query; give it the function that answers");
    if (status == TAMIS_OK && checked->timed && !checked->hasher)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: service that is timed and has no hasher; give it one");
    const int part_functions =
        (checked->parts != NULL) + (checked->query_part != NULL) + (checked->finish_parts != NULL);
    if (status == TAMIS_OK && part_functions != 0 && (part_functions != 3 || !checked->hasher))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "stream: service with some of parts, query_part and finish_parts; give all three and a hasher, "
            "or none");
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
                           "stream: byte %d ends records and also separates the columns of CSV; give the "
                           "extractor another delimiter",
                           options->terminator);
    return TAMIS_OK;
}

static tamis_status check_files(const tamis_stream_options *options, tamis_error *err) {
    if (!options->files)
        return TAMIS_OK;
    if (!options->follow || options->input_count > 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: a pattern for inputs needs follow, and no other inputs");
    return tamis__input_pattern_check(options->files, err);
}

tamis_status tamis__stream_check_options(tamis_stream_options *checked, const tamis_stream_options *given,
                                         const tamis_stream_stats *stats, const tamis_stream_result *result,
                                         tamis_error *err) {
    *checked = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    if (stats && stats->struct_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: stats without struct_size; start from TAMIS_STREAM_STATS_INIT");
    if (result && result->struct_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: result without struct_size; start from TAMIS_STREAM_RESULT_INIT");
    tamis_status status =
        tamis__read_struct(checked, sizeof *checked, given, "TAMIS_STREAM_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (checked->profile && checked->profile->struct_size == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: profile without struct_size; start from TAMIS_STREAM_PROFILE_INIT");
    if (checked->input_count > 0 && !checked->inputs)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: input_count is %zu and inputs is NULL; give their names",
                           checked->input_count);
    if (checked->threads > TAMIS_STREAM_THREADS_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "stream: %" PRIu32
                           " threads; give 1 to %d, or 0 for as many as there are processors",
                           checked->threads, TAMIS_STREAM_THREADS_MAX);
    if (checked->late != TAMIS_STREAM_PASS && checked->late != TAMIS_STREAM_DROP)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: late is %d; use TAMIS_STREAM_PASS or TAMIS_STREAM_DROP",
                           (int)checked->late);
    if (checked->merge_within > (uint64_t)TAMIS_TIME_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "stream: merge_within is %" PRIu64 " ms; give at most 2^53",
                           checked->merge_within);
    if (checked->max_record == 0)
        checked->max_record = TAMIS_MAX_RECORD_DEFAULT;
    status = check_files(checked, err);
    if (status == TAMIS_OK)
        status = check_delimiter(checked, err);
    return status == TAMIS_OK ? check_marking(checked, err) : status;
}
