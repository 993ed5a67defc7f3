/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis serve: a cache that speaks the protocol of Redis. The library does the work
 * (tamis/experimental/server.h). This file has what belongs to a process:
 *
 *     SIGTERM, SIGINT --> serve_library_stop       the same signal again ends the process at once
 *     SIGHUP          --> serve_library_reload
 *     NOTIFY_SOCKET   <-- READY=1                  for systemd, when clients can connect
 *     standard error  <-- log: a line or a JSON object for each event
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/serve/serve_library.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

enum { SERVE_CHECK = CLI_OPT_OWN };

static const cli_option options[] = {
    {.id = SERVE_CHECK,
     .name = "check",
     .type = CLI_FLAG,
     .help = "Check CONFIG, its SQL and its servers, and end."},
    {.id = CLI_OPT_JSON,
     .name = "json",
     .type = CLI_FLAG,
     .help = "Write the log as JSON: an object on a line for each event.",
     .more = "Its fields are listed below."},
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {SERVE_CHECK, CLI_OPT_JSON, "nothing is logged"},
    {.why = NULL},
};

static const struct {
    cli_field time, message;
} fields = {
    .time = {"time", NULL, CLI_STRING, "When it happened: ISO 8601, UTC, with milliseconds."},
    .message = {"message", NULL, CLI_STRING, "What happened; the text of a line without --json."},
};

/* ---- log ---- */

static void log_line(void *context, const char *line) {
    (void)context;
    cli_report(line);
}

static void log_json(void *context, const char *line) {
    tamis_error err = TAMIS_ERROR_INIT;
    struct timespec now;
    struct tm utc;
    char date[32], stamp[48];

    (void)context;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(stamp, sizeof stamp, "%s.%03ldZ", date, now.tv_nsec / 1000000);
    json_t *object = json_object();
    cli_json_string(object, &fields.time, stamp);
    cli_json_string(object, &fields.message, line);
    (void)cli_json_write(object, stderr, 0, "serve", &err);
}

/* ---- the process ---- */

/* Sends a datagram to systemd, if it waits for one (sd_notify(3)). */
static void notify(const char *message) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const size_t length = path ? strlen(path) : 0;

    if (length < 2 || length >= sizeof name.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(name.sun_path, path, length);
    if (*path == '@')
        name.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* If nobody receives it, systemd reports that. */
    (void)!sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&name,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

static void report_ready(void *context, const char *address) {
    const bool is_json = *(const bool *)context;
    char line[400];

    snprintf(line, sizeof line, "serving at %s", address);
    (is_json ? log_json : log_line)(NULL, line);
    notify("READY=1");
}

static void on_signal(int number) {
    const int saved = errno;

    if (number == SIGHUP)
        serve_library_reload();
    else
        serve_library_stop();
    errno = saved;
}

static void install_handlers(void) {
    struct sigaction action;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGHUP, &action, NULL);
    action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static tamis_status check_file(const char *file, bool *negative, tamis_error *err) {
    tamis_server_options server = TAMIS_SERVER_OPTIONS_INIT;
    tamis_server_summary summary = TAMIS_SERVER_SUMMARY_INIT;

    server.log = log_line;
    if (serve_library_check(file, &server, &summary, err) != TAMIS_OK)
        return err->status;
    printf("%s: valid: %zu keyspace%s", file, summary.keyspaces, summary.keyspaces == 1 ? "" : "s");
    if (summary.unchecked > 0)
        printf(", %zu of them not checked", summary.unchecked);
    printf("%s\n", summary.has_filters ? ", named filters" : "");
    *negative = summary.unchecked > 0;
    return TAMIS_OK;
}

static tamis_status run_serve(const cli_args *args, bool *negative, tamis_error *err) {
    tamis_server_options server = TAMIS_SERVER_OPTIONS_INIT;
    bool is_json = args->values[CLI_OPT_JSON].given;

    if (args->operand_count != 1)
        return cli_fail(err, "serve: needs one CONFIG; see tamis help serve");
    if (args->values[SERVE_CHECK].given)
        return check_file(args->operands[0], negative, err);
    install_handlers();
    server.log = is_json ? log_json : log_line;
    server.context = &is_json;
    return serve_library_run(args->operands[0], &server, report_ready, err);
}

const cli_command cmd_serve = {
    .name = "serve",
    .summary = "a cache in front of a database, for Redis clients",
    .operands = "CONFIG",
    .manual = &cli_manual_serve,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_serve,
};
