/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/system.h"
#include "cli/cli.h"

enum { BLOCK_MAX = 64 << 20, LINES_MAX = 3, SIGNALS = 6, DESCRIPTORS = 32 };

test_bytes command_out, command_err;
bool command_is_expensive, command_is_piped;

static bool is_ready;
static int directory, home;                /* directories */
static int files[3], own[3];               /* standard files of the command, and of the fuzzer */
static void *(*map_anything)(size_t size); /* the original tamis__sys.map */
static const char *running[COMMAND_WORDS]; /* the words of the last run, for messages */
static size_t running_count;

/* Sends the reports of a sanitizer to the fuzzer's standard error, not to the command's. NULL: no
 * sanitizer. */
__attribute__((weak)) void __sanitizer_set_report_fd(void *fd);

static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

void command_check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "breach: %s\ntamis", what);
    for (size_t i = 0; i < running_count; i++)
        fprintf(stderr, " '%s'", running[i]);
    fprintf(stderr, "\n%.*s", (int)command_err.size, command_err.size ? (const char *)command_err.data : "");
    abort();
}

/* ---- the directory ---- */

static void *map_little(size_t size) {
    if (size <= BLOCK_MAX)
        return map_anything(size);
    command_is_expensive = true;
    errno = ENOMEM;
    return NULL;
}

/* Losses of power are tested elsewhere (tests/fault). */
static int sync_nothing(int fd) {
    (void)fd;
    return 0;
}

static void begin_process(void) {
    scratch_make();
    if (atexit(scratch_remove) != 0)
        give_up("atexit");
    home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    directory = open(scratch("."), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3; i++) {
        files[i] = memfd_create("standard", MFD_CLOEXEC);
        own[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
        if (home < 0 || directory < 0 || files[i] < 0 || own[i] < 0)
            give_up("standard files");
    }
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)own[STDERR_FILENO]);
    map_anything = tamis__sys.map;
    tamis__sys.map = map_little;
    tamis__sys.sync = sync_nothing;
    is_ready = true;
}

void command_start(void) {
    if (!is_ready)
        begin_process();
    scratch_clear();
}

/* True if the name begins with a dot and no word of the last run ends with it: a temporary file. */
static bool is_temp_file(const char *name) {
    size_t size = strlen(name);
    for (size_t i = 0; name[0] == '.' && i < running_count; i++) {
        size_t of_word = strlen(running[i]);
        if (of_word >= size && strcmp(running[i] + of_word - size, name) == 0)
            return false;
    }
    return name[0] == '.';
}

/* Returns a checksum of all files. *temp_file: there is a temporary file. */
static uint64_t look(bool *temp_file) {
    DIR *listing = opendir(scratch("."));
    uint64_t sum = 0;
    test_bytes bytes = {0};
    *temp_file = false;
    if (!listing)
        give_up("opendir");
    for (const struct dirent *entry; (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        *temp_file |= is_temp_file(entry->d_name);
        file_read(scratch(entry->d_name), &bytes);
        sum += XXH3_64bits_withSeed(bytes.size ? bytes.data : (const void *)"", bytes.size,
                                    XXH3_64bits(entry->d_name, strlen(entry->d_name)));
    }
    bytes_clear(&bytes);
    closedir(listing);
    return sum;
}

uint64_t command_files(void) {
    bool temp_file;
    return look(&temp_file);
}

/* ---- a run ---- */

static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGBUS};

/* Writes all at once: inputs are smaller than the buffer of a pipe. */
static void give_pipe(const void *input, size_t size) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0 ||
        (size > 0 && write(pipe_fds[1], input, size) != (ssize_t)size))
        give_up("pipe");
    dup2(pipe_fds[0], STDIN_FILENO);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void stage(const void *input, size_t size) {
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        if (ftruncate(files[i], 0) != 0 || lseek(files[i], 0, SEEK_SET) != 0)
            give_up("standard files");
    for (int i = 0; i < 3; i++)
        dup2(files[i], i);
    if (command_is_piped)
        give_pipe(input, size);
    else if (size > 0 && pwrite(files[STDIN_FILENO], input, size, 0) != (ssize_t)size)
        give_up("standard input");
    __fpurge(stdin); /* drops bytes that were read ahead in an earlier run */
    rewind(stdin);
    if (fchdir(directory) != 0)
        give_up("directory");
}

static void unstage(void) {
    for (int i = 0; i < 3; i++)
        dup2(own[i], i);
    if (fchdir(home) != 0)
        give_up("home");
}

static void read_output(int fd, test_bytes *into) {
    char buffer[65536];
    ssize_t got;
    bytes_clear(into);
    while ((got = pread(fd, buffer, sizeof buffer, (off_t)into->size)) > 0)
        bytes_add(into, buffer, (size_t)got);
}

/* Notes which descriptors are open before a run. */
static void list_open(bool *open) {
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Closes the descriptors that the command left open. Returns their number. */
static int close_left(const bool *open_before) {
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        count += !open_before[fd] && close(fd) == 0;
    return count;
}

/* Runs the command with copies of the words: a command may write to its arguments. */
static int run_copy(const char *const *words) {
    char *argv[COMMAND_WORDS + 2] = {strdup("tamis")}, *made[COMMAND_WORDS + 2];
    int argc = 1;
    for (running_count = 0; words[running_count] && running_count < COMMAND_WORDS; running_count++) {
        running[running_count] = words[running_count];
        argv[argc++] = strdup(words[running_count]);
    }
    memcpy(made, argv, sizeof made); /* the command permutes argv */
    int code = cli_run(argc, argv);
    for (int i = 0; i < argc; i++)
        free(made[i]);
    return code;
}

/* ---- checks of every run ---- */

static bool is_plain(const test_bytes *text) {
    for (size_t i = 0; i < text->size; i++)
        if ((text->data[i] < ' ' && text->data[i] != '\n' && text->data[i] != '\t') || text->data[i] == 0x7f)
            return false;
    return true;
}

/* Returns the number of lines that begin with "tamis: ". *last: the last line is one. */
static size_t count_reports(const test_bytes *text, bool *last) {
    static const char head[] = "tamis: ";
    size_t count = 0;
    *last = false;
    for (size_t from = 0; from < text->size;) {
        const unsigned char *line = text->data + from, *end = memchr(line, '\n', text->size - from);
        command_check(end != NULL, "the last line on standard error has no end");
        size_t size = (size_t)(end - line);
        *last = size > sizeof head - 1 && memcmp(line, head, sizeof head - 1) == 0;
        count += *last;
        from += size + 1;
    }
    return count;
}

static bool prints_records(const char *verb) {
    return strcmp(verb, "dedup") == 0 || strcmp(verb, "check") == 0 || strcmp(verb, "add") == 0;
}

static void check_run(int code, int left, uint64_t before) {
    const char *verb = running_count > 0 ? running[0] : "";
    bool last, temp_file;
    size_t reports = count_reports(&command_err, &last);
    command_check(code >= 0 && code <= 2, "the exit status");
    command_check(code != 2 || last, "an error without its line");
    command_check(reports <= LINES_MAX + running_count, "too many lines on standard error");
    command_check(is_plain(&command_err), "a control byte on standard error");
    command_check(prints_records(verb) || is_plain(&command_out), "a control byte on standard output");
    command_check(left <= 2, "a descriptor stays open");
    uint64_t after = look(&temp_file);
    command_check(!temp_file, "a file is left aside");
    if (code == 2 && (strcmp(verb, "clear") != 0 || running_count <= 2))
        command_check(after == before, "it failed, and a file has changed");
}

int command_run(const void *input, size_t size, const char *const *words) {
    struct sigaction actions[SIGNALS];
    bool open_before[DESCRIPTORS];
    uint64_t before = command_files();
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], NULL, &actions[i]);
    list_open(open_before);
    command_is_expensive = false;

    stage(input, size);
    int code = run_copy(words);
    unstage();
    int left = close_left(open_before);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &actions[i], NULL);
    read_output(files[STDOUT_FILENO], &command_out);
    read_output(files[STDERR_FILENO], &command_err);
    check_run(code, left, before);
    return code;
}

bool command_said(const char *text) {
    return command_err.size > 0 && memmem(command_err.data, command_err.size, text, strlen(text)) != NULL;
}
