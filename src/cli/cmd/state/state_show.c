/* SPDX-License-Identifier: BSD-2-Clause */
/* `tamis state show`: what a state has, and each of its runs, as text and as JSON. */
#include "cli/cmd/state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/experimental/stream.h>

#include "cli/cmd/dedup/dedup_command.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_window.h"

enum { COMMAND_MAX = 1 << 20 /* max. bytes of a command; enough for all names in a checkpoint */ };

void state_print_number(const cli_field *field, uint64_t number, const char *more) {
    char text[CLI_TEXT_NUMBER];

    printf("%-12s %15s%s\n", field->label, cli_text_count(text, sizeof text, number), more);
}

void state_print_sizes(const state_view *view) {
    char more[100], volume[CLI_TEXT_NUMBER];

    snprintf(more, sizeof more, "  %s", cli_text_volume(volume, sizeof volume, (double)view->info.log_bytes));
    state_print_number(&state_fields.log_bytes, view->info.log_bytes, more);
    snprintf(more, sizeof more, "  %s",
             cli_text_volume(volume, sizeof volume, (double)view->info.snapshot_bytes));
    state_print_number(&state_fields.snapshot_bytes, view->info.snapshot_bytes, more);
}

/* Prints the command that finishes an unfinished run. */
static void print_command(const state_view *view, const tamis_stream_checkpoint *run) {
    char *command = malloc(COMMAND_MAX), missing[400];
    dedup_finish finish;

    if (command && dedup_command_of(command, COMMAND_MAX, run, view->directory, &finish)) {
        printf("%-12s ", "finish it by");
        cli_text_print(stdout, command);
        dedup_command_missing_names(missing, sizeof missing, &finish);
        cli_text_print(stdout, missing);
        putchar('\n');
    }
    free(command);
}

static void print_nonzero(const cli_field *field, uint64_t count) {
    char text[CLI_TEXT_NUMBER];

    if (count > 0)
        printf(", %s %s", cli_text_count(text, sizeof text, count), field->label);
}

/* Runs are numbered from 1 for the user. */
static void print_run(const state_view *view, const tamis_stream_checkpoint *run, size_t number,
                      tamis_stream_run_status status) {
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    char records[CLI_TEXT_NUMBER], unique[CLI_TEXT_NUMBER];
    const char *name;

    (void)tamis_stream_checkpoint_get(run, &stats);
    printf("run %-8zu %15s records, %s unique", number + 1,
           cli_text_count(records, sizeof records, stats.records),
           cli_text_count(unique, sizeof unique, stats.unique));
    print_nonzero(&state_fields.unknown, stats.unknown);
    print_nonzero(&state_fields.missing, stats.missing);
    print_nonzero(&state_fields.malformed, stats.malformed);
    print_nonzero(&state_fields.late, stats.late);
    print_nonzero(&state_fields.redelivered, stats.redelivered);
    fputs(status == TAMIS_STREAM_RUN_OPEN || status == TAMIS_STREAM_RUN_PIPE ? ", not finished:" : ":",
          stdout);
    for (size_t i = 0; (name = tamis_stream_checkpoint_input(run, i, NULL)) != NULL; i++) {
        putchar(' ');
        cli_text_print(stdout, name);
    }
    for (size_t i = 0; i < 2; i++)
        if ((name = tamis_stream_checkpoint_output(run, i, NULL)) != NULL) {
            fputs(i == 0 ? " to " : ", duplicates to ", stdout);
            cli_text_print(stdout, name);
        }
    puts(status == TAMIS_STREAM_RUN_CLOSED ? " (closed: its rest was given up, or read by a later run)" : "");
    if (status == TAMIS_STREAM_RUN_OPEN)
        print_command(view, run);
    uint64_t position;
    for (size_t i = 0; (name = tamis_stream_checkpoint_source(run, i, &position).data) != NULL; i++) {
        printf("%-12s %15" PRIu64 " of ", state_fields.position.label, position);
        cli_text_print(stdout, name);
        putchar('\n');
    }
}

static void put_run(json_t *runs, const tamis_stream_checkpoint *run, size_t number,
                    tamis_stream_run_status status) {
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    json_t *object = json_object(), *inputs = json_array(), *positions = json_array();
    static const cli_field *const outputs[] = {&state_fields.output, &state_fields.duplicates_to};
    const char *name;
    uint64_t bytes;

    (void)tamis_stream_checkpoint_get(run, &stats);
    cli_json_integer(object, &state_fields.number, number + 1);
    cli_json_boolean(object, &state_fields.ended, status == TAMIS_STREAM_RUN_ENDED);
    cli_json_boolean(object, &state_fields.open, status == TAMIS_STREAM_RUN_OPEN);
    cli_json_integer(object, &state_fields.records, stats.records);
    cli_json_integer(object, &state_fields.unique, stats.unique);
    cli_json_integer(object, &state_fields.duplicates, stats.duplicates);
    cli_json_integer(object, &state_fields.unknown, stats.unknown);
    cli_json_integer(object, &state_fields.missing, stats.missing);
    cli_json_integer(object, &state_fields.malformed, stats.malformed);
    cli_json_integer(object, &state_fields.late, stats.late);
    cli_json_integer(object, &state_fields.redelivered, stats.redelivered);
    for (size_t i = 0; (name = tamis_stream_checkpoint_input(run, i, &bytes)) != NULL; i++) {
        json_t *input = json_object();
        cli_json_string(input, &state_fields.file, name);
        cli_json_integer(input, &state_fields.bytes_read, bytes);
        cli_json_append(inputs, input);
    }
    cli_json_set(object, &state_fields.inputs, inputs);
    for (size_t i = 0; i < 2; i++)
        cli_json_string(object, outputs[i], tamis_stream_checkpoint_output(run, i, NULL));
    for (size_t i = 0; (name = tamis_stream_checkpoint_source(run, i, &bytes).data) != NULL; i++) {
        json_t *source = json_object();
        cli_json_string(source, &state_fields.source, name);
        cli_json_integer(source, &state_fields.position, bytes);
        cli_json_append(positions, source);
    }
    cli_json_set(object, &state_fields.positions, positions);
    cli_json_append(runs, object);
}

/* Appends every run of the state to `runs`, in order, or prints it if `runs` is NULL. Skips checkpoints of
 * other programs, and runs that were repeated. */
static tamis_status each_run(const state_view *view, json_t *runs, tamis_error *err) {
    for (size_t i = 0;; i++) {
        tamis_stream_checkpoint *run = NULL;
        tamis_stream_run_status run_status;
        const tamis_status status = tamis_stream_run_at(&run, &run_status, view->state, i, err);

        if (status == TAMIS_E_NOT_FOUND)
            return TAMIS_OK;
        if (status != TAMIS_OK && status != TAMIS_E_FORMAT)
            return status;
        if (status == TAMIS_OK && run_status != TAMIS_STREAM_RUN_REPEATED) {
            if (runs)
                put_run(runs, run, i, run_status);
            else
                print_run(view, run, i, run_status);
        }
        tamis_stream_checkpoint_free(run);
    }
}

tamis_status state_show_text(const state_view *view, tamis_error *err) {
    const tamis_filter *filter = tamis_state_filter(view->state);
    const tamis_plan *plan = tamis_filter_plan(filter);
    char rate[CLI_TEXT_NUMBER], more[100], window[CLI_WINDOW_TEXT];

    snprintf(more, sizeof more, "  kind %s, scheme %s, rate %s", tamis_kind_name(plan->kind),
             tamis_scheme_name(tamis_hasher_scheme(tamis_filter_hasher(filter))),
             cli_text_real(rate, sizeof rate, plan->fpr));
    state_print_number(&state_fields.keys, view->info.keys, more);
    if (plan->kind == TAMIS_KIND_WINDOW)
        printf("%-12s %s\n", state_fields.times.window.label, cli_window_text(window, plan));
    snprintf(more, sizeof more, "  in %s starts", cli_text_count(rate, sizeof rate, view->info.epoch));
    state_print_number(&state_fields.commits, view->info.commits, more);
    state_print_sizes(view);
    if (tamis_state_metadata(view->state)[0] != '\0') {
        printf("%-12s ", state_fields.made_with.label);
        cli_text_print(stdout, tamis_state_metadata(view->state));
        putchar('\n');
    }
    return each_run(view, NULL, err);
}

tamis_status state_show_json(const state_view *view, tamis_error *err) {
    const tamis_filter *filter = tamis_state_filter(view->state);
    const tamis_plan *plan = tamis_filter_plan(filter);
    json_t *object = json_object(), *runs = json_array();

    cli_json_string(object, &state_fields.state, view->directory);
    cli_json_integer(object, &state_fields.keys, view->info.keys);
    cli_json_string(object, &state_fields.kind, tamis_kind_name(plan->kind));
    cli_json_string(object, &state_fields.scheme,
                    tamis_scheme_name(tamis_hasher_scheme(tamis_filter_hasher(filter))));
    cli_json_number(object, &state_fields.fpr, plan->fpr);
    cli_window_json(object, &state_fields.times, filter);
    cli_json_integer(object, &state_fields.commits, view->info.commits);
    cli_json_integer(object, &state_fields.starts, view->info.epoch);
    cli_json_integer(object, &state_fields.log_bytes, view->info.log_bytes);
    cli_json_integer(object, &state_fields.snapshot_bytes, view->info.snapshot_bytes);
    cli_json_string(object, &state_fields.made_with, tamis_state_metadata(view->state));
    if (each_run(view, runs, err) != TAMIS_OK) {
        json_decref(runs);
        json_decref(object);
        return err->status;
    }
    cli_json_set(object, &state_fields.runs, runs);
    return cli_json_write(object, stdout, 0, "state", err);
}
