/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/process/cli_signal.h"

/* --quiet has no effect, because clear prints no remarks. It is accepted for scripts that give it to all
 * commands. */
static const cli_option options[] = {
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

/* Checks that the path is an undamaged filter. The caller has locked it. */
static tamis_status check(const char *path, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *filter = NULL;
    (void)wait;
    tamis_status status = cli_file_open(&filter, path, CLI_CHANGE, NULL, NULL, err);

    tamis_filter_free(filter);
    return status;
}

/* Clears the filter. Waits while another process changes it on a server. */
static tamis_status empty(tamis_filter *filter, cli_lock_wait *wait, tamis_error *err) {
    tamis_status status;

    while ((status = tamis_filter_clear(filter, err)) == TAMIS_E_BUSY) {
        tamis_status code = cli_lock_again(wait, err);
        if (code != TAMIS_OK)
            return code;
    }
    return status;
}

static tamis_status clear(const char *path, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *filter = NULL;
    tamis_compression compression = TAMIS_COMPRESSION_NONE;
    tamis_status status = cli_file_open(&filter, path, CLI_CHANGE, NULL, &compression, err);

    if (status == TAMIS_OK)
        status = empty(filter, &wait, err);
    if (status == TAMIS_OK)
        status = cli_file_write(filter, path, TAMIS_FORMAT_AUTO, compression, wait, err);
    tamis_filter_free(filter);
    return status;
}

static tamis_status hold(const cli_args *args, const char *path,
                         tamis_status (*then)(const char *path, cli_lock_wait wait, tamis_error *err),
                         tamis_error *err) {
    const cli_lock_wait wait = cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]);
    tamis_lock *lock = NULL;
    tamis_status status = cli_signals_look(err);

    if (status == TAMIS_OK)
        status = cli_file_lock(&lock, path, wait, err);
    if (status == TAMIS_OK)
        status = then(path, wait, err);
    tamis_file_unlock(lock);
    return status;
}

static tamis_status check_each(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    (void)negative;
    return hold(args, path, check, err);
}

static tamis_status clear_each(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    (void)negative;
    return hold(args, path, clear, err);
}

/* Checks all filters before it clears the first one, because clearing cannot be undone, and a name without a
 * filter is probably a mistake. A single filter is checked when it is cleared. */
static tamis_status clear_all(const cli_args *args, bool *negative, tamis_error *err) {
    tamis_status status = args->operand_count > 1 ? cli_file_each(args, check_each, negative, err) : TAMIS_OK;

    return status == TAMIS_OK ? cli_file_each(args, clear_each, negative, err) : status;
}

static tamis_status run_clear(const cli_args *args, bool *negative, tamis_error *err) {
    int stop_fd;

    if (cli_signals_begin(&stop_fd, err) != TAMIS_OK)
        return err->status;
    return clear_all(args, negative, err);
}

const cli_command cmd_clear = {
    .name = "clear",
    .summary = "remove all keys from a filter",
    .operands = "FILTER...",
    .manual = &cli_manual_clear,
    .options = options,
    .run = run_clear,
};
