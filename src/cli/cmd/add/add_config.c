/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/add/add_config.h"

#include "cli/core/cli_rows.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

static const char *const prints[] = {"none", "fresh", "seen", NULL};

const cli_option add_options[ADD_OPTIONS] = {
    [ADD_PRINT] = {.name = "print",
                   .type = CLI_CHOICE,
                   .value = "WHICH",
                   .fallback = "none",
                   .choices = prints,
                   .help = "Print the records that the filter did not have (fresh), or had (seen).",
                   .more = "They are printed as they are read, before the filter is saved."},
    [ADD_OVERFILL] =
        {.name = "overfill",
         .type = CLI_FLAG,
         .help = "Add records past the number that the filter was made for, too.",
         .more = "Of kind classic or blocked, which the files of other programs are. No record is "
                 "lost, but the rate of wrong answers rises with each: a remark at the end says to "
                 "what. Without it the first new record past that number is an error, and the file "
                 "stays as it was. A filter on a server is queried once, at the beginning, how many "
                 "it has, about; what others add meanwhile is not counted, and what was added "
                 "before the error is in it. A family of filters, and layouts php1 to php3, have no "
                 "such bound: a remark at the end says where the filter, or one of those members of a family "
                 "that got most of the records, is past what it is good for."},
    [ADD_LOCK_WAIT] = CLI_ROW_LOCK_WAIT,
    [ADD_SECRET] = CLI_ROW_ITS_SECRET,
    [ADD_TRACE] = CLI_ROW_TRACE,
    [ADD_FILES_FROM] = CLI_ROW_FILES_FROM,
    [ADD_COMPRESS] = CLI_ROW_COMPRESS,
    [ADD_RECORDS] = CLI_ROWS_RECORDS("key", "Keys"),
    [ADD_THREADS] = CLI_ROW_THREADS,
    [ADD_STATS] = CLI_ROW_STATS,
    [ADD_JSON] = CLI_ROW_JSON,
    [ADD_PROGRESS] = CLI_ROW_PROGRESS,
    [ADD_NO_PROGRESS] = CLI_ROW_NO_PROGRESS,
    [ADD_QUIET] = CLI_ROW_QUIET,
};

const cli_conflict add_conflicts[ADD_CONFLICTS] = {
    {ADD_TRACE, ADD_PROGRESS, "both write to standard error"},
    {ADD_PROGRESS, ADD_NO_PROGRESS, "one shows what the other hides"},
    {ADD_PROGRESS, ADD_QUIET, "one shows what the other hides"},
};

const char *const add_description[] = {
    "Add records to the filter in the file FILTER, and save it.",
    "Records are the lines of the FILEs, read in order, or of standard input where no FILE or - is given, as "
    "in tamis-dedup(1). FILTER keeps its kind, its rate and what else was decided when it was built, its "
    "format, and its compression where it has one. The file is replaced when all records were added, and "
    "only then: on an error or a signal it stays as it was.",
    "Meanwhile nobody else can change the file: a second writer waits (--lock-wait). Who "
    "reads it is not kept off, and has the old content until the new one is there, whole. What another "
    "program puts there without asking stays: then nothing is saved, and that is an error. A file that was "
    "deleted meanwhile was not replaced: it is there again at the end, with the old keys and the new.",
    "A FILTER that is a URI (tamis-redis(1)) is on a server: each record is in it when it is answered, "
    "others may add at the same time, and an error or a signal takes nothing back. Where a reply was lost "
    "the record is added once more, and if it is in by then, nobody knows whether it was before: such a "
    "record is unknown, which --print fresh prints, and --stats counts apart.",
    "So where the output of --print fresh fails (a full disk, a reader that has gone), what it did not take "
    "is in such a FILTER all the same, and no later run prints it: the new ones among some thousands of "
    "records behind the last one printed. They are more with more threads, so that one works there unless "
    "--threads says otherwise. A message counts them, also with --quiet (an upper bound if the output is "
    "compressed or records have no key). To lose none of them, look for them in the FILEs, behind the last "
    "record printed.",
    NULL};

const char *const add_exits[] = {
    "0",
    "All records that have a key are in the filter, and it is saved.",
    "2",
    "Error: a bad option, a file that cannot be read or written, a malformed record, records of which none "
    "has a key, unless --missing is given, a file that is no filter, is damaged or held by "
    "another process, a missing secret, a full filter, a summary that cannot be written. Nothing was saved, "
    "unless only the summary failed.",
    "130",
    "Ended in order on SIGINT (143 on SIGTERM, 129 on SIGHUP): nothing was saved.",
    "141",
    "The reader of the output of --print has gone (a closed pipe): ended by SIGPIPE, without a word; nothing "
    "was saved. For a FILTER on a server, a message counts the records that were added but not printed.",
    NULL};

const cli_example add_examples[] = {
    {"tamis build -o seen.tamis --expect 1e5 a.log; tamis add seen.tamis b.log", "The lines of both files."},
    {"tamis build -o seen.tamis --expect 1e5 a.log; tamis add --print fresh seen.tamis b.log > new.log",
     "The same, and the lines of b.log that are not in a.log, each once."},
    {"tamis build -o seen.tamis --expect 1e5 --key field:2 visits.tsv; tamis add --print fresh --compress "
     "gzip --key csv:id seen.tamis users.csv > new.csv.gz",
     "Keys of records of two shapes in one filter."},
    {"seq 100 | tamis build -o few.bloom --format dcso --expect 100; seq 150 | tamis add --overfill "
     "few.bloom",
     "Half as many again as it was made for, at a higher rate: a remark says so."},
    {"seq 1000 | tamis build -o ids.tamis --expect 1e5 --type int64; seq 2000 | tamis add --type int64 "
     "ids.tamis",
     "Numbers as the type that the filter was made with."},
    {NULL, NULL}};

const char *const add_notes[] = {CLI_NOTES_EXTRACT, CLI_NOTE_COMPRESSED, CLI_NOTE_DCSO, CLI_NOTE_FAMILY,
                                 NULL};

/* Members of the object, in the order in which they are printed. */
const cli_entry add_json[] = {
    {"records", "Records read."},
    {"added", "Of these, the ones that were not in the filter."},
    {"present", "Of these, the ones that were, or were taken for that."},
    {"unknown", "Of a filter on a server: neither; the reply was lost, and it was in when queried again."},
    CLI_JSON_UNASKED,
    {"bytes_in", "Bytes of the records, terminators included."},
    {"bytes_out", "Bytes that --print wrote."},
    {"seconds", "Duration of the run, in seconds."},
    {"records_per_second", "Records divided by seconds."},
    {"bytes_per_second", "Bytes read divided by seconds."},
    {"threads",
     "Threads that were at work: --threads, or fewer for little input or where the system refused some."},
    {"memory", "Bytes that the filter holds at the end."},
    {"memory_peak", "Bytes, the most that it held at any moment, growth included; null = on a server."},
    {"bits_per_key", "Bits of memory_peak for each record in it; 0 = none is, null = on a server."},
    {"kind", "Kind of filter: classic, blocked, fingerprint or exact."},
    {"scheme", "Hash in use."},
    {"capacity", "Records that the filter was made for; 0 = no limit, it grows, or not known."},
    {"fpr", "Chance, 0 to 1, that was promised for a wrong answer; 1 = none was."},
    {"fpr_live", "The same chance with what is in the filter; 0 = it is empty."},
    {"saturated", "true: a record found no room in the filter, or more came than it was made for."},
    CLI_JSON_FILES("added", "present, unknown (of a filter on a server)"),
    {"interrupted", "true: a signal ended the run; all numbers are of what was read until then."},
    {"failed", "true: an error ended the run, likewise; its line follows."},
    {NULL, NULL}};

tamis_status add_configure(add_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    cli_stream_given given = {.records = values + ADD_RECORDS,
                              .report = values + ADD_STATS,
                              .files_from = &values[ADD_FILES_FROM],
                              .threads = &values[ADD_THREADS],
                              .compress = &values[ADD_COMPRESS]};

    if (args->operand_count == 0)
        return cli_fail(err, "filter: missing; give its file first, as in tamis add FILTER FILE");
    config->filter = args->operands[0];
    config->secret_file = values[ADD_SECRET].text;
    config->print = (add_print)values[ADD_PRINT].number;
    config->over_capacity = values[ADD_OVERFILL].given;
    config->lock_wait = cli_lock_wait_of(&values[ADD_LOCK_WAIT]);
    config->is_family = cli_server_is_family(config->filter);
    given.inputs = args->operands + 1;
    given.input_count = args->operand_count - 1;
    given.prints = config->print != ADD_PRINT_NONE;
    given.fields = config->is_family;
    if (cli_stream_configure(&config->stream, &given, err) != TAMIS_OK ||
        cli_stream_keep_apart(&config->stream, config->filter, "the filter", err) != TAMIS_OK)
        return err->status;
    if (config->print == ADD_PRINT_NONE && values[ADD_COMPRESS].given)
        return cli_fail(
            err, "--compress: nothing is printed that it could compress; give --print too, or leave it out");
    if (config->print != ADD_PRINT_NONE && cli_output_check(err) != TAMIS_OK)
        return err->status;
    /* A server keeps what was added. With one thread, adding is not far ahead of printing if printing
     * fails. */
    if (config->print == ADD_PRINT_FRESH && cli_server_is_uri(config->filter) && !values[ADD_THREADS].given)
        config->stream.threads = 1;
    config->trace = values[ADD_TRACE].given;
    if (config->trace) {
        config->stream.progress = false;
        if (cli_trace_check(config->filter, err) != TAMIS_OK)
            return err->status;
    }
    return cli_filter_check_secret(config->secret_file, err);
}
