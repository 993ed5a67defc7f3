/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/state/state.h"

#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/extract.h>
#include <tamis/experimental/stream.h>

#include "cli/cmd/dedup/dedup_command.h"
#include "cli/input/cli_stream.h"
#include "cli/input/cli_typed.h"
#include "cli/process/cli_signal.h"

/* Hashes of all keys: they are forgotten together, or none of them is. */
typedef struct key_list {
    const tamis_hasher *hasher;
    tamis_hash *hashes;
    size_t count, capacity;
} key_list;

static tamis_status add_keys(void *context, const tamis_stream_batch *batch, size_t *done, tamis_error *err) {
    key_list *list = context;
    const size_t count = batch->count;

    *done = 0;
    if (list->capacity - list->count < count) {
        const size_t capacity = 2 * list->capacity + count;
        tamis_hash *hashes = realloc(list->hashes, capacity * sizeof *hashes);
        if (!hashes)
            return cli_fail_nomem("state", err);
        list->hashes = hashes;
        list->capacity = capacity;
    }
    if (tamis_hash_many(list->hasher, batch->keys, count, list->hashes + list->count, err) != TAMIS_OK)
        return err->status;
    list->count += count;
    memset(batch->answers, TAMIS_ABSENT, count);
    *done = count;
    return TAMIS_OK;
}

/* Reads the keys as texts, trimmed and folded as the form says. */
static tamis_status read_keys(key_list *list, const char *file, cli_key_form form, tamis_error *err) {
    tamis_extractor_options extractor_options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    cli_typed typed;
    tamis_status status;

    extractor_options.trim = (form.normalization & TAMIS_KEYS_TRIMMED) != 0;
    extractor_options.ignore_case = (form.normalization & TAMIS_KEYS_FOLDED) != 0;
    service.context = list;
    service.query = add_keys;
    options.inputs = &file;
    options.input_count = 1;
    if (cli_typed_begin(&typed, form, &service, err) != TAMIS_OK ||
        cli_signals_begin(&options.stop_fd, err) != TAMIS_OK ||
        tamis_extractor_create(&options.extractor, &extractor_options, err) != TAMIS_OK)
        status = err->status;
    else
        status = tamis_stream_run(&typed.service, &options, &stats, NULL, err);
    cli_stream_advise(status, err);
    tamis_extractor_free(options.extractor);
    cli_typed_end(&typed);
    return status;
}

tamis_status state_keys_forget(tamis_state *state, const char *directory, const char *file,
                               state_forgotten *result, tamis_error *err) {
    uint64_t forgotten = 0;
    const char *options = tamis_state_metadata(state);
    key_list list = {.hasher = tamis_filter_hasher(tamis_state_filter(state))};
    cli_key_form form;
    bool joins;

    if (!dedup_command_key_form(&form, options) || !dedup_command_joins_keys(&joins, options))
        return cli_fail(err, "%.200s: its key options cannot be read: %.200s; use the tamis that made it",
                        directory, options);
    if (joins)
        return cli_fail(err,
                        "%.200s: its keys are joined from several values (%.200s), so no line is a key of it",
                        directory, options);
    if (tamis_state_forget(state, NULL, 0, &forgotten, err) != TAMIS_OK) /* another kind, for example */
        return err->status;
    if (read_keys(&list, file, form, err) == TAMIS_OK)
        (void)tamis_state_forget(state, list.hashes, list.count, &forgotten, err);
    *result = (state_forgotten){forgotten, list.count - forgotten};
    free(list.hashes);
    return err->status;
}
