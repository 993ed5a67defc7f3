/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/process/cli_signal.h"

/* --quiet has no effect, because clear prints no remarks. It is accepted for scripts that give it to all
 * commands. */
static const cli_option options[] = {
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

/* Locks the filter and checks that it is undamaged and can be changed. With `clears` also clears and saves
 * it, and waits while another process changes it on a server. */
static tamis_status check_or_clear(const cli_args *args, const char *path, bool clears, tamis_error *err) {
    cli_lock_wait wait = cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]);
    const cli_filter_file file = {.path = path, .access = CLI_CHANGE};
    cli_file_target target = {.path = path, .format = TAMIS_FORMAT_AUTO};
    tamis_filter *filter = NULL;
    tamis_lock *lock = NULL;
    tamis_status status = cli_signals_look(err);

    if (status == TAMIS_OK)
        status = cli_file_lock(&lock, path, wait, err);
    if (status == TAMIS_OK)
        status = cli_file_open(&filter, &file, &target.compression, err);
    if (status == TAMIS_OK)
        status = cli_filter_check_change(filter, path, err);
    if (status == TAMIS_OK && clears) {
        do
            status = tamis_filter_clear(filter, err);
        while (status == TAMIS_E_BUSY && (status = cli_lock_again(&wait, err)) == TAMIS_OK);
        if (status == TAMIS_OK)
            status = cli_file_save_until_signal(filter, &target, wait, err);
    }
    tamis_filter_free(filter);
    tamis_file_unlock(lock);
    return status;
}

static tamis_status check(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    (void)negative;
    return check_or_clear(args, path, false, err);
}

static tamis_status clear(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    (void)negative;
    return check_or_clear(args, path, true, err);
}

/* Checks all filters before it clears the first one, because clearing cannot be undone, and a name without a
 * filter is probably a mistake. A single filter is checked when it is cleared. */
static tamis_status run_clear(const cli_args *args, bool *negative, tamis_error *err) {
    int stop_fd;

    if (cli_signals_begin(&stop_fd, err) != TAMIS_OK ||
        (args->operand_count > 1 && cli_file_each(args, check, negative, err) != TAMIS_OK))
        return err->status;
    return cli_file_each(args, clear, negative, err);
}

const cli_command cmd_clear = {
    .name = "clear",
    .summary = "remove all keys from a filter",
    .operands = "FILTER...",
    .manual = &cli_manual_clear,
    .options = options,
    .run = run_clear,
};
