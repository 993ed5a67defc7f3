/* SPDX-License-Identifier: BSD-2-Clause */

/* Filters in files: saves to each kind of target, opening files that are not filters, reload and lock. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fault.h"
#include "support/scratch.h"
#include "support/stored.h"

static tamis_error err;
static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    scratch_make();
    err = (tamis_error)TAMIS_ERROR_INIT;
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (fault_open_descriptors() != descriptors) {
        fprintf(stderr, "descriptors are left open\n");
        return -1;
    }
    scratch_remove();
    return 0;
}

static void assert_says(const char *text) {
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

/* Saves a filter with keys `from` to `from + 99` under that name. */
static tamis_status save(const char *name, uint64_t from) {
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, from, 100);
    tamis_status status = tamis_filter_save(filter, scratch(name), &err);
    tamis_filter_free(filter);
    return status;
}

static tamis_filter *open_as(const char *name, bool writable) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.writable = writable;
    if (tamis_filter_open(&filter, scratch(name), &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static void assert_holds(const char *name, uint64_t from) {
    tamis_filter *filter = open_as(name, false);
    assert_true(stored_has(filter, from, 100));
    tamis_filter_free(filter);
}

/* ---- save and open ---- */

static void every_kind_comes_back(void **state) {
    (void)state;
    static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                       TAMIS_KIND_EXACT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tamis_filter *filter = stored_make(kinds[i], 0, 5000);
        assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
        for (int writable = 0; writable < 2; writable++) {
            tamis_filter *opened = open_as("f", writable);
            assert_true(stored_has(opened, 0, 5000));
            assert_false(stored_has(opened, 5000, 5000));
            tamis_answer answer = TAMIS_UNKNOWN;
            tamis_status added = tamis_filter_add(opened, "new", 3, &answer, &err);
            assert_int_equal(added, writable ? TAMIS_OK : TAMIS_E_UNSUPPORTED);
            assert_int_equal(tamis_filter_can(opened, TAMIS_CAN_ADD), writable);
            tamis_filter_free(opened);
        }
        tamis_filter_free(filter);
    }
    assert_int_equal(scratch_entries(), 1);
}

/* A block is verified once. A later change of the file must not lead to an answer. */
static void a_file_written_in_place_is_no_answer(void **state) {
    (void)state;
    static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                       TAMIS_KIND_EXACT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tamis_filter *filter = stored_make(kinds[i], 0, 5000), *opened;
        assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
        opened = open_as("f", false);
        assert_true(stored_has(opened, 0, 5000));
        usleep(30000); /* file times have a resolution of ticks */
        int fd = open(scratch("f"), O_WRONLY);
        static const uint8_t zeros[4096];
        assert_int_equal(pwrite(fd, zeros, sizeof zeros, 8192), sizeof zeros);
        close(fd);
        tamis_answer answer = TAMIS_UNKNOWN;
        err = (tamis_error)TAMIS_ERROR_INIT;
        uint64_t key = 0;
        assert_int_equal(tamis_filter_contains(opened, &key, sizeof key, &answer, &err), TAMIS_E_DAMAGED);
        assert_int_equal(answer, TAMIS_UNKNOWN);
        assert_non_null(strstr(err.text, "written in place"));
        assert_int_equal(tamis_filter_verify(opened, &err), TAMIS_E_DAMAGED);
        tamis_filter_free(opened);
        tamis_filter_free(filter);
    }
}

/* Files of other formats are read whole into memory, and are read-only too unless opened writable. */
static void files_of_others_are_only_read_too(void **state) {
    (void)state;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = TAMIS_KIND_CLASSIC;
    plan_options.scheme = TAMIS_SCHEME_FNV_DCSO;
    plan_options.expect = 1000;
    plan_options.fpr = 0.01;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_save_as(filter, scratch("d"), TAMIS_FORMAT_DCSO, &err), TAMIS_OK);
    for (int writable = 0; writable < 2; writable++) {
        tamis_filter *opened = open_as("d", writable);
        tamis_status expected_status = writable ? TAMIS_OK : TAMIS_E_UNSUPPORTED;
        assert_int_equal(tamis_filter_add(opened, "new", 3, NULL, &err), expected_status);
        assert_int_equal(tamis_filter_clear(opened, &err), expected_status);
        assert_int_equal(tamis_filter_union(opened, filter, &err), expected_status);
        tamis_filter_free(opened);
    }
    tamis_filter_free(filter);
}

static void the_time_of_the_save_is_set_once(void **state) {
    (void)state;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, 10);
    /* a failed save sets no time */
    assert_int_equal(tamis_filter_save(filter, scratch("none/f"), &err), TAMIS_E_IO);
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, &err), TAMIS_OK);
    assert_int_equal(metadata.created, 0);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, &err), TAMIS_OK);
    assert_true(metadata.created > 1000000000);
    metadata.created = 77;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(filter);
    filter = open_as("f", false);
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, &err), TAMIS_OK);
    assert_int_equal(metadata.created, 77);
    tamis_filter_free(filter);
}

static void other_formats(void **state) {
    (void)state;
    tamis_filter *filter = stored_make(TAMIS_KIND_FINGERPRINT, 0, 10);
    assert_int_equal(tamis_filter_save_as(filter, scratch("f"), TAMIS_FORMAT_GUAVA, &err),
                     TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_save_as(filter, scratch("f"), (tamis_format)99, &err), TAMIS_E_INVALID);
    assert_int_equal(scratch_entries(), 0);
    tamis_filter_free(filter);
    filter = stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 0, 100);
    assert_int_equal(tamis_filter_save_as(filter, scratch("f"), TAMIS_FORMAT_GUAVA, &err), TAMIS_OK);
    tamis_filter_free(filter);
    assert_holds("f", 0);
}

static void permissions_are_kept(void **state) {
    (void)state;
    static const mode_t modes[] = {0600, 0644, 0666, 0751};
    struct stat metadata;
    mode_t mask = umask(027);
    assert_int_equal(save("fresh", 0), TAMIS_OK);
    umask(mask);
    assert_int_equal(stat(scratch("fresh"), &metadata), 0);
    assert_int_equal(metadata.st_mode & 07777, 0640);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        file_write(scratch("f"), "old", 3);
        assert_int_equal(chmod(scratch("f"), modes[i]), 0);
        assert_int_equal(save("f", i), TAMIS_OK);
        assert_int_equal(stat(scratch("f"), &metadata), 0);
        assert_int_equal(metadata.st_mode & 07777, modes[i]);
        assert_holds("f", i);
    }
}

static void links_are_followed(void **state) {
    (void)state;
    struct stat metadata;
    assert_int_equal(symlink("real", scratch("link")), 0);
    assert_int_equal(symlink("link", scratch("link2")), 0);
    for (uint64_t i = 0; i < 2; i++) { /* a link to nothing, then to a file */
        assert_int_equal(save("link2", i), TAMIS_OK);
        assert_int_equal(lstat(scratch("link"), &metadata), 0);
        assert_true(S_ISLNK(metadata.st_mode));
        assert_int_equal(lstat(scratch("real"), &metadata), 0);
        assert_true(S_ISREG(metadata.st_mode));
        assert_holds("real", i);
    }
}

static void refused_to_save(const char *name, const char *why) {
    assert_int_equal(save(name, 0), TAMIS_E_IO);
    assert_says(why);
}

static void places_that_hold_no_file(void **state) {
    (void)state;
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    refused_to_save("fifo", "/fifo: is not a regular file; name a regular file for the filter");
    refused_to_save(".", ": is a directory; name a file");
    refused_to_save("none/f", "/none/f: no such file or directory; check the name and its directory");
    file_write(scratch("f"), "x", 1);
    refused_to_save("f/f", ": not a directory; check");
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refused_to_save(name, ": file name too long; use a shorter name");
    name[NAME_MAX] = '\0';
    assert_int_equal(save(name, 3), TAMIS_OK);
    assert_holds(name, 3);
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, 10);
    assert_int_equal(tamis_filter_save(filter, "/dev/null", &err), TAMIS_E_IO);
    assert_says("/dev/null: is not a regular file");
    assert_int_equal(tamis_filter_save(filter, "-", &err), TAMIS_E_IO);
    assert_says("standard output: is not a regular file");
    assert_int_equal(tamis_filter_save(filter, "", &err), TAMIS_E_IO);
    tamis_filter_free(filter);
    assert_int_equal(scratch_entries(), 3);
}

/* Runs `body` in a process without root's rights; true if it returns true. */
static bool as_nobody(bool (*body)(void)) {
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool says(const char *text) {
    bool it_does = strstr(err.text, text) != NULL;
    if (!it_does)
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", err.text, text);
    return it_does;
}

static bool directory_is_closed(void) {
    return save("f", 0) == TAMIS_E_IO &&
           says("/f: cannot make a lock beside it: permission denied; check the permissions");
}

static bool file_is_closed(void) {
    return save("f", 0) == TAMIS_E_IO && says("/f: permission denied; check");
}

static void without_permission(void **state) {
    (void)state;
    file_write(scratch("f"), "old", 3);
    assert_int_equal(chmod(scratch("f"), 0666), 0);
    assert_int_equal(chmod(scratch("."), 0555), 0);
    assert_true(as_nobody(directory_is_closed));
    assert_int_equal(chmod(scratch("f"), 0444), 0);
    assert_int_equal(chmod(scratch("."), 0777), 0);
    assert_true(as_nobody(file_is_closed));
    assert_true(file_is(scratch("f"), "old"));
    assert_int_equal(scratch_entries(), 1);
}

/* A limit of the file size stands in for a full disk. */
static void a_full_disk(void **state) {
    (void)state;
    struct rlimit before, tight;
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, 20000);
    assert_int_equal(save("f", 0), TAMIS_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 8192;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    tamis_status status = tamis_filter_save(filter, scratch("f"), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    tamis_filter_free(filter);
    assert_int_equal(status, TAMIS_E_IO);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_says("file too large; raise the limit of file sizes, or write elsewhere");
    assert_holds("f", 0);
    assert_int_equal(scratch_entries(), 1);
}

static void refused_to_open(const char *path, tamis_status expected, const char *why) {
    tamis_filter *filter = NULL;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    for (int writable = 0; writable < 2; writable++) {
        options.writable = writable;
        assert_int_equal(tamis_filter_open(&filter, path, &options, &err), expected);
        assert_null(filter);
        assert_says(why);
    }
}

static void files_that_cannot_be_opened(void **state) {
    (void)state;
    file_write(scratch("empty"), "", 0);
    file_write(scratch("text"), "no filter\n", 10);
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    refused_to_open(scratch("empty"), TAMIS_E_FORMAT, "/empty: ");
    refused_to_open(scratch("text"), TAMIS_E_FORMAT, "/text: ");
    refused_to_open(scratch("fifo"), TAMIS_E_IO, "/fifo: is not a regular file");
    refused_to_open(scratch("."), TAMIS_E_IO, ": is a directory; name a file");
    refused_to_open(scratch("none"), TAMIS_E_IO, "/none: no such file or directory; check the name");
    refused_to_open("/dev/null", TAMIS_E_IO, "/dev/null: is not a regular file");
    refused_to_open("a\nb", TAMIS_E_IO, "a?b: no such file");
    file_write(scratch("a\nb"), "no filter\n", 10);
    refused_to_open(scratch("a\nb"), TAMIS_E_FORMAT, "/a?b: ");
}

static void a_file_cut_short(void **state) {
    (void)state;
    test_bytes bytes = {0};
    assert_int_equal(save("f", 0), TAMIS_OK);
    file_read(scratch("f"), &bytes);
    file_write(scratch("f"), bytes.data, bytes.size - 1);
    refused_to_open(scratch("f"), TAMIS_E_DAMAGED, "/f: ");
    bytes_clear(&bytes);
}

/* A handle keeps the content of its file after the file is replaced. */
static void a_save_over_an_open_file(void **state) {
    (void)state;
    assert_int_equal(save("f", 0), TAMIS_OK);
    tamis_filter *old = open_as("f", false);
    /* replaced by itself */
    assert_int_equal(tamis_filter_save(old, scratch("f"), &err), TAMIS_OK);
    assert_true(stored_has(old, 0, 100));
    assert_holds("f", 0);
    /* replaced by another filter */
    assert_int_equal(save("f", 1000), TAMIS_OK);
    assert_true(stored_has(old, 0, 100));
    tamis_filter_free(old);
    assert_holds("f", 1000);
}

/* ---- reload ---- */

static void reload_reads_the_new_file(void **state) {
    (void)state;
    bool changed = true;
    assert_int_equal(save("f", 0), TAMIS_OK);
    tamis_filter *filter = open_as("f", false);
    const tamis_hasher *hasher = tamis_filter_hasher(filter);
    assert_int_equal(tamis_filter_reload(filter, &changed, &err), TAMIS_OK);
    assert_false(changed);
    for (uint64_t from = 1000; from < 5000; from += 1000) {
        assert_int_equal(save("f", from), TAMIS_OK);
        assert_int_equal(tamis_filter_reload(filter, &changed, &err), TAMIS_OK);
        assert_true(changed);
        assert_true(stored_has(filter, from, 100));
        assert_false(stored_has(filter, from - 1000, 100));
        assert_ptr_equal(tamis_filter_hasher(filter), hasher);
        assert_int_equal(tamis_filter_reload(filter, &changed, NULL), TAMIS_OK);
        assert_false(changed);
    }
    assert_int_equal(tamis_filter_reload(filter, NULL, NULL), TAMIS_OK);
    tamis_filter_free(filter);
}

/* The old hasher still works, but its hashes are refused, since they belong to the old file. */
static void reload_to_another_seed(void **state) {
    (void)state;
    bool changed = false;
    tamis_key key = {"key", 3};
    tamis_hash hash;
    tamis_answer answer;
    assert_int_equal(save("f", 0), TAMIS_OK);
    tamis_filter *filter = open_as("f", false);
    const tamis_hasher *hasher = tamis_filter_hasher(filter);
    tamis_filter *other = stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 500, 100);
    assert_int_equal(tamis_filter_save(other, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(other);
    assert_int_equal(tamis_filter_reload(filter, &changed, &err), TAMIS_OK);
    assert_true(changed);
    assert_true(stored_has(filter, 500, 100));
    assert_int_equal(tamis_hash_many(hasher, &key, 1, &hash, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, &err), TAMIS_E_MISMATCH);
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, &err), TAMIS_OK);
    tamis_filter_free(filter);
}

static void refused_to_reload(tamis_filter *filter, tamis_status expected) {
    bool changed = true;
    assert_int_equal(tamis_filter_reload(filter, &changed, &err), expected);
    assert_true(changed); /* untouched */
    assert_true(stored_has(filter, 0, 100));
}

static void reload_to_nothing_good(void **state) {
    (void)state;
    assert_int_equal(save("f", 0), TAMIS_OK);
    assert_int_equal(save("good", 0), TAMIS_OK);
    tamis_filter *filter = open_as("f", false);
    assert_int_equal(unlink(scratch("f")), 0);
    refused_to_reload(filter, TAMIS_E_IO);
    file_write(scratch("f"), "no filter\n", 10);
    refused_to_reload(filter, TAMIS_E_FORMAT);
    file_write(scratch("f"), "", 0);
    refused_to_reload(filter, TAMIS_E_FORMAT);
    assert_int_equal(rename(scratch("good"), scratch("f")), 0);
    assert_int_equal(tamis_filter_reload(filter, NULL, &err), TAMIS_OK);
    assert_true(stored_has(filter, 0, 100));
    tamis_filter_free(filter);
}

static void reload_with_a_secret(void **state) {
    (void)state;
    static const char secret[] = "0123456789abcdef", wrong[] = "0123456789abcdeg";
    char given[sizeof secret];
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    assert_int_equal(stored_save_keyed(scratch("f"), secret, 0, &err), TAMIS_OK);
    memcpy(given, secret, sizeof given);
    options.secret = given;
    options.secret_size = 16;
    assert_int_equal(tamis_filter_open(&filter, scratch("f"), &options, &err), TAMIS_OK);
    memset(given, 0, sizeof given); /* the library has copied it */
    assert_true(stored_has(filter, 0, 100));
    assert_int_equal(stored_save_keyed(scratch("f"), wrong, 1000, &err), TAMIS_OK);
    refused_to_reload(filter, TAMIS_E_SECRET);
    assert_int_equal(stored_save_keyed(scratch("f"), secret, 2000, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_reload(filter, NULL, &err), TAMIS_OK);
    assert_true(stored_has(filter, 2000, 100));
    tamis_filter_free(filter);
}

/* The new file has the same stat, but other bytes. */
static void reload_of_a_file_written_in_place(void **state) {
    (void)state;
    bool changed = false;
    struct stat metadata;
    test_bytes bytes = {0};
    assert_int_equal(save("f", 0), TAMIS_OK);
    assert_int_equal(save("g", 1000), TAMIS_OK);
    tamis_filter *filter = open_as("f", false);
    assert_int_equal(stat(scratch("f"), &metadata), 0);
    file_read(scratch("g"), &bytes);
    int fd = open(scratch("f"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
    assert_int_equal(futimens(fd, (struct timespec[]){metadata.st_atim, metadata.st_mtim}), 0);
    close(fd);
    bytes_clear(&bytes);
    assert_int_equal(tamis_filter_reload(filter, &changed, &err), TAMIS_OK);
    assert_true(changed);
    assert_true(stored_has(filter, 1000, 100));
    tamis_filter_free(filter);
}

static void reload_is_for_opened_files(void **state) {
    (void)state;
    assert_int_equal(save("f", 0), TAMIS_OK);
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, 100);
    refused_to_reload(filter, TAMIS_E_UNSUPPORTED);
    tamis_filter_free(filter);
    filter = open_as("f", true);
    refused_to_reload(filter, TAMIS_E_UNSUPPORTED);
    tamis_filter_free(filter);
    tamis_filter *opened = open_as("f", false);
    assert_int_equal(tamis_filter_copy(&filter, opened, &err), TAMIS_OK);
    tamis_filter_free(opened);
    refused_to_reload(filter, TAMIS_E_UNSUPPORTED);
    tamis_filter_free(filter);
}

/* ---- lock ---- */

/* A process that locks the file, reports that, and lives until it is released or killed. */
typedef struct holder {
    pid_t pid;
    int talk;
} holder;

static holder hold(const char *path, bool note_temp) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    holder h = {fork(), ends[0]};
    if (h.pid == 0) {
        tamis_lock *lock = NULL;
        char c = 'k';
        if (tamis_file_lock(&lock, path, &err) != TAMIS_OK)
            _exit(1);
        if (note_temp && !stored_leave_temp(lock, path))
            _exit(2);
        if (write(ends[1], &c, 1) != 1 || read(ends[1], &c, 1) != 1)
            _exit(3);
        tamis_file_unlock(lock);
        _exit(0);
    }
    char c = 0;
    close(ends[1]);
    assert_int_equal(read(ends[0], &c, 1), 1);
    return h;
}

static void end_holder(holder h, bool killed) {
    int status = -1;
    if (killed)
        kill(h.pid, SIGKILL);
    else
        assert_int_equal(write(h.talk, "e", 1), 1);
    assert_int_equal(waitpid(h.pid, &status, 0), h.pid);
    assert_true(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(h.talk);
}

static void an_error_names_the_holder_of_the_lock(void **state) {
    (void)state;
    tamis_lock *lock = NULL;
    char expected[400], host[256] = "";
    assert_int_equal(save("f", 0), TAMIS_OK);
    assert_int_equal(symlink("f", scratch("link")), 0);
    holder h = hold(scratch("f"), false);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    snprintf(expected, sizeof expected, "/f: process %ld on %s since 20", (long)h.pid, host);
    assert_int_equal(tamis_file_lock(&lock, scratch("f"), &err), TAMIS_E_BUSY);
    assert_null(lock);
    assert_says(expected);
    assert_says(" UTC holds it; wait for that to end");
    assert_int_equal(save("f", 1000), TAMIS_E_BUSY);
    assert_says(expected);
    assert_int_equal(save("link", 1000), TAMIS_E_BUSY); /* by any name of the file */
    assert_holds("f", 0);                               /* readers are not locked out */
    assert_int_equal(save("g", 1000), TAMIS_OK);
    end_holder(h, false);
    assert_int_equal(save("f", 1000), TAMIS_OK);
    assert_holds("f", 1000);
    assert_int_equal(scratch_entries(), 3);
}

/* The system releases the lock of a killed process. The next save removes its temporary file. */
static void a_killed_holder(void **state) {
    (void)state;
    assert_int_equal(save("f", 0), TAMIS_OK);
    file_write(scratch(".f.tamis-mine"), "x", 1);
    holder h = hold(scratch("f"), true);
    end_holder(h, true);
    assert_int_equal(scratch_entries(), 4); /* f, mine, the lock, the temporary file */
    assert_int_equal(save("f", 1000), TAMIS_OK);
    assert_holds("f", 1000);
    assert_int_equal(scratch_entries(), 2);
}

static void the_holder_itself_saves(void **state) {
    (void)state;
    tamis_lock *lock = NULL, *second = NULL;
    assert_int_equal(tamis_file_lock(&lock, scratch("f"), &err), TAMIS_OK); /* not there yet */
    assert_int_equal(scratch_entries(), 1);
    for (uint64_t from = 0; from < 3000; from += 1000) {
        assert_int_equal(save("f", from), TAMIS_OK);
        assert_holds("f", from);
        assert_int_equal(scratch_entries(), 2);
    }
    assert_int_equal(tamis_file_lock(&second, scratch("f"), &err), TAMIS_E_BUSY);
    assert_says("/f: this process holds it already; unlock it first");
    assert_int_equal(err.sys_errno, EDEADLK);
    tamis_file_unlock(lock);
    tamis_file_unlock(NULL);
    assert_int_equal(scratch_entries(), 1);
    assert_int_equal(tamis_file_lock(&second, scratch("f"), &err), TAMIS_OK);
    tamis_file_unlock(second);
}

static void locks_that_are_no_files(void **state) {
    (void)state;
    tamis_lock *lock = NULL;
    file_write(scratch("precious"), "precious", 8);
    assert_int_equal(link(scratch("precious"), scratch(".f.tamis-lock")), 0);
    refused_to_save("f", "/f: its lock ");
    assert_int_equal(unlink(scratch(".f.tamis-lock")), 0);
    assert_int_equal(symlink("precious", scratch(".f.tamis-lock")), 0);
    refused_to_save("f", "/f: cannot make a lock beside it: ");
    assert_true(file_is(scratch("precious"), "precious"));
    assert_int_equal(tamis_file_lock(&lock, scratch("."), &err), TAMIS_E_IO);
    assert_int_equal(tamis_file_lock(&lock, "/dev/null", &err), TAMIS_E_IO);
    assert_null(lock);
}

/* The content of a lock file must not make a save remove other files. */
static void a_note_names_temporary_files_only(void **state) {
    (void)state;
    static const char *const names[] = {
        "precious", "./precious", ".f.tamis-lock", ".f.tamis-1/../precious", ".g.tamis-1-1", ""};
    file_write(scratch("precious"), "precious", 8);
    file_write(scratch(".g.tamis-1-1"), "x", 1);
    assert_int_equal(mkdir(scratch(".f.tamis-1"), 0777), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char note[100];
        int size = snprintf(note, sizeof note, "1\n%s\n", names[i]);
        file_write(scratch(".f.tamis-lock"), note, (size_t)size);
        assert_int_equal(save("f", 0), TAMIS_OK);
        assert_true(file_is(scratch("precious"), "precious"));
        assert_int_equal(scratch_entries(), 4);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_kind_comes_back),
        CASE(a_file_written_in_place_is_no_answer),
        CASE(files_of_others_are_only_read_too),
        CASE(the_time_of_the_save_is_set_once),
        CASE(other_formats),
        CASE(permissions_are_kept),
        CASE(links_are_followed),
        CASE(places_that_hold_no_file),
        CASE(without_permission),
        CASE(a_full_disk),
        CASE(files_that_cannot_be_opened),
        CASE(a_file_cut_short),
        CASE(a_save_over_an_open_file),
        CASE(reload_reads_the_new_file),
        CASE(reload_to_another_seed),
        CASE(reload_to_nothing_good),
        CASE(reload_with_a_secret),
        CASE(reload_of_a_file_written_in_place),
        CASE(reload_is_for_opened_files),
        CASE(an_error_names_the_holder_of_the_lock),
        CASE(a_killed_holder),
        CASE(the_holder_itself_saves),
        CASE(locks_that_are_no_files),
        CASE(a_note_names_temporary_files_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
