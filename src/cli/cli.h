/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_H
#define TAMIS_CLI_H

/*
 * Commands as data. The table of options of a command is the source of parsing, --help, the manual page
 * and the shell completion, so the four always agree. The other prose of help and manual comes from
 * docs/man/VERB.txt.
 *
 *     argv --cli_parse, with the table--> cli_args --run()--> tamis_status --cli_run--> exit status
 *
 * An error message is one sentence, "what: why; what to do". A function that fails fills *err with it and
 * returns err->status. cli_run prints it at the end. Two statuses are not errors of the command, and print
 * nothing. TAMIS_E_PIPE: the reader of an output has gone. TAMIS_E_INTERRUPTED: a signal ended the run in
 * order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/status.h>

/* Exit statuses, beside those of signals. */
enum { CLI_EXIT_DONE = 0, CLI_EXIT_NEGATIVE = 1, CLI_EXIT_ERROR = 2 };

typedef enum cli_type {
    CLI_FLAG,  /* no value */
    CLI_TEXT,  /* text that is not empty */
    CLI_FILE,  /* text that is not empty, completed as a file name */
    CLI_COUNT, /* whole number: 10000000, 1e7, 10M (k M G T, powers of 1000) */
    CLI_SIZE,  /* bytes: 512MiB, 2G, 1e9 (K and KiB are 1024, KB is 1000) */
    CLI_RATE,  /* 1e-9, 0.1% */
    CLI_REAL,  /* 10, 9.6 */
    CLI_TIME,  /* a length of time, in milliseconds: 500ms, 30s, 24h, 7d */
    CLI_SEED,  /* any 64-bit number, decimal or 0x */
    CLI_CHOICE /* one of a list */
} cli_type;

/* Ids of options. Those that several commands have come first: one name has one id. From CLI_OPT_OWN on,
 * each command numbers its own. */
enum {
    CLI_OPT_KEY,
    CLI_OPT_DELIMITER,
    CLI_OPT_TRIM,
    CLI_OPT_IGNORE_CASE,
    CLI_OPT_HEADER,
    CLI_OPT_MISSING,
    CLI_OPT_ON_ERROR,
    CLI_OPT_TYPE,
    CLI_OPT_HEX,
    CLI_OPT_ZERO_TERMINATED,
    CLI_OPT_MAX_RECORD,
    CLI_OPT_FILES_FROM,
    CLI_OPT_THREADS,
    CLI_OPT_COMPRESS,
    CLI_OPT_TRACE,
    CLI_OPT_EXPECT,
    CLI_OPT_FPR,
    CLI_OPT_MEMORY,
    CLI_OPT_KIND,
    CLI_OPT_EXACT,
    CLI_OPT_SCHEME,
    CLI_OPT_SEED,
    CLI_OPT_SECRET_FILE,
    CLI_OPT_LOCK_WAIT,
    CLI_OPT_GZIP,
    CLI_OPT_LABEL,
    CLI_OPT_DATA_VERSION,
    CLI_OPT_OUTPUT,
    CLI_OPT_FORMAT,
    CLI_OPT_STATS,
    CLI_OPT_JSON,
    CLI_OPT_PROGRESS,
    CLI_OPT_NO_PROGRESS,
    CLI_OPT_QUIET,
    CLI_OPT_OWN,
    /* groups: --key and what else makes keys of records; the plan of a new filter */
    CLI_OPT_RECORDS_FIRST = CLI_OPT_KEY,
    CLI_OPT_RECORDS_LAST = CLI_OPT_MAX_RECORD,
    CLI_OPT_PLAN_FIRST = CLI_OPT_EXPECT,
    CLI_OPT_PLAN_LAST = CLI_OPT_SECRET_FILE,
    CLI_OPTIONS_MAX = 64 /* bound of all ids: a set of options fits into 64 bits */
};

typedef struct cli_option {
    int id;
    const char *name; /* long name, without dashes */
    char letter;      /* short name; 0: none */
    cli_type type;
    const char *value;          /* name of the value in the help; NULL for a flag */
    const char *fallback;       /* default in the help; NULL: not shown */
    const char *const *choices; /* CLI_CHOICE: values, NULL-ended; CLI_TEXT: words for completion, or NULL */
    uint64_t min, max;          /* bounds of CLI_COUNT, CLI_SIZE and CLI_TIME */
    double rate_min, rate_max;  /* bounds of CLI_RATE and CLI_REAL */
    const char *help;           /* one sentence for --help and the manual */
    const char *more;           /* further sentences for the manual; NULL: none */
    bool many;                  /* CLI_TEXT, CLI_FILE: may be given several times, and all values count */
    bool once;                  /* a second value is an error; otherwise the last value counts */
    bool may_be_empty;          /* CLI_TEXT: '' is allowed */
    bool optional; /* CLI_TEXT without letter: --name alone is allowed, --name=VALUE gives a value */
} cli_option;

/* Value of an option on a command line. */
typedef struct cli_value {
    bool given;
    const char *text; /* value as typed, the last one if there are several; NULL: none */
    /* option that may be given several times: all values in order; cli_args_release frees the list */
    const char **list;
    size_t count;    /* number of values in the list */
    uint64_t number; /* value of CLI_COUNT, CLI_SIZE, CLI_TIME, CLI_SEED; CLI_CHOICE: index into choices */
    double rate;     /* value of CLI_RATE, CLI_REAL */
} cli_value;

/* Two options that contradict each other. */
typedef struct cli_conflict {
    int first, second; /* ids */
    const char *why;   /* completes "--one: contradicts --other: ..." */
} cli_conflict;

/* A name and its description. */
typedef struct cli_entry {
    const char *name; /* NULL ends a list */
    const char *text;
} cli_entry;

/* Kinds of JSON values, in the words of the manual: "integer" to "array of strings". */
typedef enum cli_json_kind {
    CLI_INTEGER,
    CLI_NUMBER,
    CLI_STRING,
    CLI_BOOLEAN,
    CLI_OBJECT,
    CLI_OBJECT_OF_STRINGS,
    CLI_ARRAY_OF_OBJECTS,
    CLI_ARRAY_OF_STRINGS,
    CLI_NULL = 16 /* added to a kind: the value may be null */
} cli_json_kind;

/* A fact that a command prints: a member of its JSON objects, and often a line of its text. core/cli_json.h
 * has how a command lists and prints its fields. */
typedef struct cli_field {
    const char *name;    /* name in JSON; NULL: a command that shares the struct has no such member */
    const char *label;   /* name in the text; NULL: the text does not show it by a name */
    int kind;            /* a cli_json_kind, perhaps with CLI_NULL */
    const char *meaning; /* sentences for the manual */
} cli_field;

/* The fields of a command, in the order of the manual. */
typedef struct cli_fields {
    const cli_field *rows;
    size_t count;
} cli_fields;

/* Initialises cli_fields with a struct that has members of type cli_field only. */
#define CLI_FIELDS(table)                                                                                    \
    { (const cli_field *)&(table), sizeof(table) / sizeof(cli_field) }

/* Prose of the help and the manual page of a command. Made at build time from docs/man/VERB.txt
 * (docs_embed.c). */
typedef struct cli_manual {
    const char *const *description; /* paragraphs, NULL-ended; the help prints the first one */
    const cli_entry *schemes;       /* help and manual; NULL: no such section */
    const char *const *json;        /* paragraphs before the members of --json; NULL: no such section */
    const char *const *notes;       /* paragraphs, NULL-ended; NULL: no such section */
    const cli_entry *metrics;       /* manual; NULL: no such section */
    const cli_entry *files;         /* help and manual; NULL: no such section */
    const cli_entry *exits;         /* exit statuses */
    const cli_entry *examples;      /* name: command line as typed into a shell, which a test runs */
    const char *const *numbers;   /* page of tamis itself: how numbers are written; paragraphs, NULL-ended */
    const cli_entry *environment; /* page of tamis itself: environment variables */
} cli_manual;

/* A parsed command line. Its strings belong to argv. */
typedef struct cli_args {
    cli_value values[CLI_OPTIONS_MAX]; /* values by id */
    char **operands;
    size_t operand_count;
    bool help; /* true: -h or --help was given; the rest is not parsed */
} cli_args;

/* Operands of a command that takes the name of a command: completion offers these names. */
#define CLI_OPERAND_COMMAND "[COMMAND]"

typedef struct cli_command {
    const char *name;
    const char *summary;              /* one line, no full stop */
    const char *operands;             /* operands in the usage line; "" for none */
    const char *const *operand_words; /* completion of the first operand, NULL-ended; NULL: file names */
    const cli_manual *manual;         /* cli_manual_VERB */
    const cli_option *options;        /* ended by one without a name */
    const cli_conflict *conflicts;    /* ended by one without a reason; NULL: none */
    cli_fields fields;                /* members of --json, if the manual has a section JSON */
    /* Runs the command with parsed arguments. *negative is false; a command whose answer is negative sets it
     * (exit status 1). */
    tamis_status (*run)(const cli_args *args, bool *negative, tamis_error *err);
} cli_command;

/* All commands in the order of the help, NULL-ended. */
extern const cli_command *const cli_commands[];

/* Returns the command with this name, or NULL. */
const cli_command *cli_command_find(const char *name);
/*
 * Refuses `typed`, an unknown command or option of tamis itself. The error suggests a similar name or, if
 * there is none, lists all commands. `before` is the text between "tamis" and a suggested command: "" or
 * "help ". Returns TAMIS_E_INVALID.
 */
tamis_status cli_command_unknown(tamis_error *err, const char *typed, const char *before);

extern const cli_command cmd_build;
extern const cli_command cmd_add;
extern const cli_command cmd_remove;
extern const cli_command cmd_check;
extern const cli_command cmd_dedup;
extern const cli_command cmd_info;
extern const cli_command cmd_state;
extern const cli_command cmd_verify;
extern const cli_command cmd_merge;
extern const cli_command cmd_copy;
extern const cli_command cmd_clear;
extern const cli_command cmd_diff;
extern const cli_command cmd_audit;
extern const cli_command cmd_gen;
extern const cli_command cmd_hash;
extern const cli_command cmd_plan;
extern const cli_command cmd_redis;
extern const cli_command cmd_bitmap;
extern const cli_command cmd_kafka;
extern const cli_command cmd_serve;
extern const cli_command cmd_help;

/* Made from docs/man. cli_manual_tamis is the page of tamis itself. */
extern const cli_manual cli_manual_tamis;
extern const cli_manual cli_manual_build;
extern const cli_manual cli_manual_add;
extern const cli_manual cli_manual_remove;
extern const cli_manual cli_manual_check;
extern const cli_manual cli_manual_dedup;
extern const cli_manual cli_manual_info;
extern const cli_manual cli_manual_state;
extern const cli_manual cli_manual_verify;
extern const cli_manual cli_manual_merge;
extern const cli_manual cli_manual_copy;
extern const cli_manual cli_manual_clear;
extern const cli_manual cli_manual_diff;
extern const cli_manual cli_manual_audit;
extern const cli_manual cli_manual_gen;
extern const cli_manual cli_manual_hash;
extern const cli_manual cli_manual_plan;
extern const cli_manual cli_manual_redis;
extern const cli_manual cli_manual_bitmap;
extern const cli_manual cli_manual_kafka;
extern const cli_manual cli_manual_serve;
extern const cli_manual cli_manual_help;

/*
 * Runs the command line, flushes and closes standard output, and reports an error. Returns the exit
 * status: one of CLI_EXIT_*, or that of a signal. If the reader of an output has gone, the process ends by
 * SIGPIPE.
 */
int cli_run(int argc, char **argv);

/* Fills *err (TAMIS_E_INVALID) with a message "what: why; what to do". Returns TAMIS_E_INVALID. */
__attribute__((format(printf, 2, 3))) tamis_status cli_fail(tamis_error *err, const char *format, ...);
/* Fills *err (TAMIS_E_NOMEM): out of memory for `what`. Returns that. */
tamis_status cli_fail_nomem(const char *what, tamis_error *err);
/* Returns the part "why" of the message in *err, with *length bytes. */
const char *cli_why(const tamis_error *err, int *length);
/* Replaces the part "what" of the library's message, which names no options. */
__attribute__((format(printf, 2, 3))) void cli_subject(tamis_error *err, const char *format, ...);
/* Replaces the part "what to do" of the library's message, which names no options. Appends it if the message
 * has none. */
void cli_remedy(tamis_error *err, const char *remedy);
/* Fills *err for a failed write to standard output. `number` is its errno; 0: unknown. EPIPE gives
 * TAMIS_E_PIPE. Returns err->status. */
tamis_status cli_fail_output(tamis_error *err, int number);
/* Checks at the start that standard output is open for writing. */
tamis_status cli_output_check(tamis_error *err);
/* Writes all bytes to standard output without stdio. TAMIS_E_PIPE: its reader has gone. */
tamis_status cli_output_write(const char *data, size_t size, tamis_error *err);
/* Prints "tamis: <message>\n" on standard error as one line: control bytes become '?', and URIs lose user and
 * password. */
void cli_report(const char *message);
/* Writes the text of an errno in the form of our messages, which begin in lower case. 80 bytes are enough.
 * Returns `text`. */
const char *cli_errno_text(char *text, size_t size, int number);

#endif
