/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis state: what is in a state, and the changes that need no run.
 *
 *     action       opens the state     does
 *     show         read-only           keys, commits, and each run with its files
 *     verify       read-only           reads and checks all bytes
 *     export       read-only           writes the filter of the last commit to a file
 *     compact      for writing         a snapshot, so that a start is short
 *     forget       for writing         removes keys, or gives up the rest of a run
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/cmd/dedup/dedup_command.h"
#include "cli/cmd/dedup/dedup_config.h"
#include "cli/cmd/state/state.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/process/cli_signal.h"

enum { STATE_RUN = CLI_OPT_OWN, STATE_KEYS };

static const cli_option options[] = {
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Secret that the state was made with, for a keyed hash."},
    {.id = CLI_OPT_OUTPUT,
     .name = "output",
     .letter = 'o',
     .type = CLI_FILE,
     .value = "FILE",
     .help = "export: write the filter to FILE (required). An existing FILE is replaced.",
     .more = "A temporary file in the same directory is renamed to FILE when it is complete."},
    {.id = STATE_RUN,
     .name = "run",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = UINT32_MAX,
     .help = "forget: give up the rest of run N, a number of show.",
     .more = "Then no other run is refused because of it. Without this, the same command goes on with it."},
    {.id = STATE_KEYS,
     .name = "keys",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "forget: remove the keys in FILE, one a line, as after a request for erasure.",
     .more = "- is standard input. Only a state of kind exact (dedup --exact) can do so. A removed key that "
             "comes again is new."},
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "Print one JSON object."},
    {.name = NULL},
};

/* ---- show ---- */

static tamis_status show(state_view *view, const cli_args *args, tamis_error *err) {
    view->options.read_only = true;
    if (tamis_state_open(&view->state, view->directory, &view->options, err) != TAMIS_OK)
        return err->status;
    tamis_state_info_get(view->state, &view->info);
    return args->values[CLI_OPT_JSON].given ? state_show_json(view, err) : state_show_text(view, err);
}

/* ---- compact ---- */

/* Writes a snapshot of the last commit, so that the log before it is removed. */
static tamis_status compact(state_view *view, const cli_args *args, tamis_error *err) {
    if (tamis_state_open(&view->state, view->directory, &view->options, err) != TAMIS_OK ||
        tamis_state_snapshot(view->state, 0, err) != TAMIS_OK)
        return err->status;
    tamis_state_info_get(view->state, &view->info);
    if (!args->values[CLI_OPT_JSON].given) {
        state_print_sizes(view);
        return TAMIS_OK;
    }
    json_t *object = json_object();
    cli_json_string(object, &state_fields.state, view->directory);
    cli_json_integer(object, &state_fields.log_bytes, view->info.log_bytes);
    cli_json_integer(object, &state_fields.snapshot_bytes, view->info.snapshot_bytes);
    return cli_json_write(object, stdout, 0, "state", err);
}

/* ---- forget ---- */

static tamis_status forget_keys(const state_view *view, const cli_args *args, tamis_error *err) {
    state_forgotten result;

    if (state_keys_forget(view->state, view->directory, args->values[STATE_KEYS].text, &result, err) !=
        TAMIS_OK)
        return err->status;
    if (!args->values[CLI_OPT_JSON].given) {
        state_print_number(&state_fields.forgotten, result.forgotten, "");
        state_print_number(&state_fields.not_present, result.not_present, "");
        return TAMIS_OK;
    }
    json_t *object = json_object();
    cli_json_string(object, &state_fields.state, view->directory);
    cli_json_integer(object, &state_fields.forgotten, result.forgotten);
    cli_json_integer(object, &state_fields.not_present, result.not_present);
    return cli_json_write(object, stdout, 0, "state", err);
}

/* Why a run with this status has no rest to give up. */
static const char *why_nothing(tamis_stream_run_status status) {
    switch (status) {
    case TAMIS_STREAM_RUN_ENDED:
        return "has ended, so it has no rest to forget";
    case TAMIS_STREAM_RUN_CLOSED:
        return "is closed already: its rest was given up, or read by a later run";
    case TAMIS_STREAM_RUN_REPEATED:
        return "has a later number now; see tamis state show";
    default:
        return "read a pipe, so it has no rest to forget";
    }
}

/* Gives up the rest of an unfinished run. Reports a run without a rest. */
static tamis_status forget_run(const state_view *view, const cli_value *number, tamis_error *err) {
    tamis_stream_checkpoint *run = NULL;
    tamis_stream_run_status run_status;
    char message[400];

    const tamis_status status =
        tamis_stream_run_at(&run, &run_status, view->state, (size_t)number->number - 1, err);
    tamis_stream_checkpoint_free(run);
    if (status == TAMIS_E_NOT_FOUND || status == TAMIS_E_FORMAT)
        return cli_fail(err, "--run %" PRIu64 ": %.200s has no such run; see tamis state show",
                        number->number, view->directory);
    if (status != TAMIS_OK)
        return status;
    if (run_status == TAMIS_STREAM_RUN_OPEN)
        return tamis_stream_run_close(view->state, (size_t)number->number - 1, err);
    snprintf(message, sizeof message, "%.200s: run %" PRIu64 " %s", view->directory, number->number,
             why_nothing(run_status));
    cli_report(message);
    return TAMIS_OK;
}

static tamis_status forget(state_view *view, const cli_args *args, tamis_error *err) {
    const cli_value *number = &args->values[STATE_RUN], *keys = &args->values[STATE_KEYS];

    if (number->given == keys->given)
        return cli_fail(err, "state forget: %s; give --run N, with N from tamis state show, or --keys FILE",
                        keys->given ? "--run and --keys do not go together" : "what to forget is missing");
    if (args->values[CLI_OPT_JSON].given && number->given)
        return cli_fail(err, "--json: state forget --run prints nothing; leave it out");
    if (tamis_state_open(&view->state, view->directory, &view->options, err) != TAMIS_OK)
        return err->status;
    return number->given ? forget_run(view, number, err) : forget_keys(view, args, err);
}

/* ---- export ---- */

static tamis_status write_filter(tamis_filter *filter, const cli_args *args, tamis_error *err) {
    const char *output = args->values[CLI_OPT_OUTPUT].text;
    const cli_file_target target = {output, TAMIS_FORMAT_TAMIS, TAMIS_COMPRESSION_NONE};
    const cli_lock_wait wait = {.seconds = CLI_LOCK_WAIT_DEFAULT};
    tamis_lock *lock = NULL;
    tamis_status status = cli_file_lock(&lock, output, wait, err);

    if (status == TAMIS_OK)
        status = cli_file_save_until_signal(filter, &target, wait, err);
    tamis_file_unlock(lock);
    return status;
}

/* Refuses to write the filter over a file that a run has read or written. */
static tamis_status keep_files(const state_view *view, const char *output, tamis_error *err) {
    tamis_stream_run_status run_status;
    tamis_status status = TAMIS_OK;
    const char *name;
    bool is_used = false;

    for (size_t i = 0; status == TAMIS_OK && !is_used; i++) {
        tamis_stream_checkpoint *run = NULL;
        uint64_t bytes;
        status = tamis_stream_run_at(&run, &run_status, view->state, i, err);
        if (status == TAMIS_E_FORMAT)
            status = TAMIS_OK;
        for (size_t k = 0; run && (name = tamis_stream_checkpoint_input(run, k, NULL)) != NULL; k++)
            is_used = is_used || dedup_is_same_target(name, output);
        for (size_t k = 0; run && k < 2; k++)
            is_used = is_used || ((name = tamis_stream_checkpoint_output(run, k, &bytes)) != NULL &&
                                  dedup_is_same_target(name, output));
        tamis_stream_checkpoint_free(run);
    }
    if (is_used)
        return cli_fail(err, "%.300s: is a file of a run of this state; write elsewhere", output);
    return status == TAMIS_E_NOT_FOUND ? TAMIS_OK : status;
}

static tamis_status export(state_view *view, const cli_args *args, tamis_error *err) {
    const char *output = args->values[CLI_OPT_OUTPUT].text;
    cli_key_form form;

    if (!output)
        return cli_fail(err, "state export: --output is missing; name the file to write as -o FILE");
    if (dedup_is_in_directory(output, view->directory))
        return cli_fail(
            err,
            "%.300s: is in the directory of the state, which may contain no other files; write elsewhere",
            output);
    view->options.read_only = true;
    if (tamis_state_open(&view->state, view->directory, &view->options, err) != TAMIS_OK)
        return err->status;
    if (keep_files(view, output, err) != TAMIS_OK)
        return err->status;
    tamis_filter *filter = tamis_state_filter(view->state);
    if (!dedup_command_key_form(&form, tamis_state_metadata(view->state)))
        return cli_fail(
            err, "%.200s: its key options cannot be read: %.200s; export it with the tamis that made it",
            view->directory, tamis_state_metadata(view->state));
    if (cli_key_store_form(form, filter, err) != TAMIS_OK)
        return err->status;
    return write_filter(filter, args, err);
}

/* ---- verify ---- */

static tamis_status verify(state_view *view, const cli_args *args, bool *negative, tamis_error *err) {
    const tamis_status status = tamis_state_verify(view->directory, &view->options, err);

    if (status != TAMIS_OK && status != TAMIS_E_DAMAGED)
        return err->status;
    *negative = status != TAMIS_OK;
    if (!args->values[CLI_OPT_JSON].given) {
        cli_text_print(stdout, status == TAMIS_OK ? view->directory : err->text);
        puts(status == TAMIS_OK ? ": whole" : "");
        return TAMIS_OK;
    }
    json_t *object = json_object();
    cli_json_string(object, &state_fields.state, view->directory);
    cli_json_boolean(object, &state_fields.whole, status == TAMIS_OK);
    cli_json_string(object, &state_fields.damage, status == TAMIS_OK ? NULL : err->text);
    return cli_json_write(object, stdout, 0, "state", err);
}

/* The actions of the command, in the order of action_names. */
typedef enum action { SHOW, VERIFY, EXPORT, COMPACT, FORGET, ACTIONS } action;

static const char *const action_names[] = {"show", "verify", "export", "compact", "forget", NULL};

static tamis_status run_action(action chosen, state_view *view, const cli_args *args, bool *negative,
                               tamis_error *err) {
    switch (chosen) {
    case SHOW:
        return show(view, args, err);
    case VERIFY:
        return verify(view, args, negative, err);
    case EXPORT:
        return export(view, args, err);
    case COMPACT:
        return compact(view, args, err);
    default:
        return forget(view, args, err);
    }
}

static tamis_status run_state(const cli_args *args, bool *negative, tamis_error *err) {
    state_view view = {.options = TAMIS_STATE_OPTIONS_INIT, .info = TAMIS_STATE_INFO_INIT};
    const char *word = args->operand_count > 0 ? args->operands[0] : NULL;
    tamis_status status = TAMIS_OK;
    action chosen = SHOW;
    int stop_fd;

    if (!word)
        return cli_fail(err, "state: what to do is missing; give show, verify, export, compact or forget");
    while (chosen < ACTIONS && strcmp(word, action_names[chosen]) != 0)
        chosen++;
    if (chosen == ACTIONS)
        return cli_fail(err, "state: '%.60s' is not known; give show, verify, export, compact or forget",
                        word);
    if (args->values[CLI_OPT_OUTPUT].given && chosen != EXPORT)
        return cli_fail(err, "--output: belongs to state export; leave it out");
    if (args->values[CLI_OPT_JSON].given && chosen == EXPORT)
        return cli_fail(err, "--json: state export prints nothing; leave it out");
    if ((args->values[STATE_RUN].given || args->values[STATE_KEYS].given) && chosen != FORGET)
        return cli_fail(err, "--%s: belongs to state forget; leave it out",
                        args->values[STATE_RUN].given ? "run" : "keys");
    if (args->operand_count != 2)
        return cli_fail(err, "state %s: takes DIR, the directory of --state; see tamis help state", word);
    view.directory = args->operands[1];
    if (chosen == EXPORT || args->values[CLI_OPT_SECRET_FILE].given)
        status = cli_signals_begin(&stop_fd, err);
    if (args->values[CLI_OPT_SECRET_FILE].given) {
        if (status == TAMIS_OK)
            status = cli_secret_read(&view.secret, args->values[CLI_OPT_SECRET_FILE].text, stop_fd, err);
        view.options.secret = view.secret.bytes;
        view.options.secret_size = view.secret.size;
    }
    if (status == TAMIS_OK)
        status = run_action(chosen, &view, args, negative, err);
    if (status == TAMIS_E_BUSY) /* a run that follows its input does not end by itself */
        cli_remedy(err, "stop it, or wait for it to end");
    if (status == TAMIS_E_SECRET)
        cli_remedy(err, "give that one by --secret-file");
    if (status == TAMIS_E_MISMATCH && view.secret.size > 0) /* the state was made without a secret */
        cli_remedy(err, "leave --secret-file out");
    cli_secret_forget(&view.secret);
    tamis_state_close(view.state);
    return status;
}

const cli_command cmd_state = {
    .name = "state",
    .summary = "show and change what dedup --state keeps",
    .operands = "show|verify|export|compact|forget DIR",
    .operand_words = action_names,
    .manual = &cli_manual_state,
    .options = options,
    .fields = CLI_FIELDS(state_fields),
    .run = run_state,
};
