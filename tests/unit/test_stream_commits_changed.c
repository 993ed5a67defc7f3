/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs over a state whose inputs or outputs have changed since, or are of a kind that cannot be continued. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/commits.h"
#include "support/scratch.h"

static commits_run run;
static char in[300], output[300], other[300], fd_name[40];
static const char *names[2];
static test_bytes expected;

enum { LATE = 600 /* checks; a run makes fewer in one second */ };

static struct tamis__system unharmed;

static const commits_make *const make = &commits_makes[COMMITS_GROWING];

static void prepare(void) {
    commits_init(&run, make);
    names[0] = in;
    run.options.inputs = names;
    run.options.input_count = 1;
    run.options.output = output;
}

static void run_commits(uint64_t stop) {
    prepare();
    run.stop_before = stop;
    commits_go(&run);
}

static void go_to(const char *path, bool again) {
    prepare();
    run.options.output = path;
    run.commits.reread = again;
    commits_go(&run);
}

/* Makes a run that ends, or one that is stopped in the middle. */
static void begin_run(bool ended) {
    commits_forget();
    unlink(output);
    unlink(other);
    commits_write(in, 1000, 1);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    file_read(output, &expected);
    if (ended)
        return;
    commits_forget();
    unlink(output);
    run_commits(9);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
}

static void change(const char *path, long offset, int whence) {
    FILE *file = fopen(path, "r+");
    assert_true(file && fseek(file, offset, whence) == 0);
    int byte = fgetc(file);
    assert_true(byte != EOF && fseek(file, -1, SEEK_CUR) == 0 && fputc(byte ^ 1, file) != EOF);
    assert_int_equal(fclose(file), 0);
}

static off_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void assert_untouched(const char *path, off_t size) {
    assert_int_equal(size_of(path), size);
}

static bool is_wanted(const char *path) {
    test_bytes got = {0};
    file_read(path, &got);
    const bool same = bytes_check("output", &got, &expected);
    bytes_clear(&got);
    return same;
}

/* ---- inputs ---- */

static void an_input_that_changed_is_refused(void **state) {
    (void)state;
    for (int ended = 0; ended < 2; ended++)
        for (int way = 0; way < 3; way++) {
            begin_run(ended);
            const off_t size = size_of(output);
            if (way == 0)
                change(in, 100, SEEK_SET);
            else if (way == 1)
                assert_int_equal(truncate(in, ended ? size_of(in) - 1 : 3000), 0);
            else
                change(in, ended ? -10 : 4200, ended ? SEEK_END : SEEK_SET);
            go_to(output, false);
            if (ended) {
                assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "shortened or changed in the first"));
                assert_true(run.result.was_read);
            } else { /* the rest may be in another file */
                assert_true(commits_came_to(&run, TAMIS_E_INVALID, "its last run did not finish"));
                assert_false(run.result.was_read);
                go_to(output, true);
                assert_true(commits_came_to(&run, TAMIS_E_INVALID, "its last run did not finish"));
            }
            assert_untouched(output, size);
        }
}

static void an_input_that_was_moved_is_known(void **state) {
    (void)state;
    begin_run(false);
    snprintf(in, sizeof in, "%s", scratch("moved"));
    assert_int_equal(rename(scratch("in"), in), 0);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_true(is_wanted(output));
    unlink(in);
    commits_write(in, 1000, 1); /* the same bytes in another file */
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
}

static void another_file_of_that_name_is_refused(void **state) {
    (void)state;
    begin_run(false);
    const off_t size = size_of(output);
    commits_write(scratch("new"), 900, 8);
    assert_int_equal(rename(scratch("new"), in), 0);
    for (int again = 0; again < 2; again++) { /* nor is its rest dropped when the name is read again */
        go_to(output, again);
        assert_true(commits_came_to(&run, TAMIS_E_INVALID, "its last run did not finish"));
        assert_false(run.result.was_read);
        assert_untouched(output, size);
    }
    prepare();
    run.commits.abandon = true;
    commits_go(&run);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
}

static void the_same_input_elsewhere_is_refused(void **state) {
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        begin_run(ended);
        go_to(other, false);
        assert_true(commits_came_to(&run, TAMIS_E_INVALID, "already processed (output "));
        assert_true(strstr(run.err.text, output) && run.result.was_read);
        assert_false(file_exists(other));
        go_to(other, true);
        assert_true(commits_started(&run, TAMIS_STREAM_NEW));
        go_to(other, true);
        assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
    }
}

/* The filter would have all keys of the input, and the new output none of them. */
static void again_finds_duplicates(void **state) {
    (void)state;
    begin_run(true);
    go_to(other, true);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_int_equal(size_of(other), 0);
    assert_int_equal(run.stats.duplicates, 1000);
}

static void go_leaving(uint64_t stop) {
    prepare();
    run.commits.defer_unterminated = true;
    run.stop_before = stop;
    commits_go(&run);
}

/* Reported by a run that came to its end, and counted as read when it is read. */
static void half_a_record_is_left(void **state) {
    (void)state;
    commits_write(in, 1000, 1);
    const off_t size = size_of(in);
    FILE *file = fopen(in, "a");
    assert_true(file && fputs("record 17", file) >= 0 && fflush(file) == 0);
    go_leaving(9);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    assert_null(run.result.unterminated);
    for (int i = 0; i < 2; i++) {
        go_leaving(0);
        assert_true(commits_started(&run, i == 0 ? TAMIS_STREAM_RESUMED : TAMIS_STREAM_GROWN));
        assert_string_equal(run.result.unterminated, in);
        assert_int_equal(run.result.unterminated_count, 1);
        assert_int_equal(run.stats.records, 1000);
        assert_int_equal(run.stats.bytes_read, size);
    }
    assert_true(fputs("00\n", file) >= 0 && fclose(file) == 0);
    go_leaving(0);
    assert_true(commits_started(&run, TAMIS_STREAM_GROWN));
    assert_null(run.result.unterminated);
    assert_int_equal(run.stats.records, 1001);
    assert_int_equal(run.stats.bytes_read, size + 12);
    file_read(output, &expected);
    commits_forget();
    unlink(output);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_true(is_wanted(output));
}

/* ---- outputs ---- */

static void an_output_that_changed_is_refused(void **state) {
    (void)state;
    static const char *const says[] = {"is shorter than", "was changed since", "was changed since",
                                       "is no longer there", "is longer than"};
    for (int ended = 0; ended < 2; ended++)
        for (int way = 0; way < 4 + ended; way++) {
            begin_run(ended);
            if (way == 0)
                assert_int_equal(truncate(output, size_of(output) - 1), 0);
            else if (way < 3)
                change(output, way == 1 ? 5 : -3, way == 1 ? SEEK_SET : SEEK_END);
            else if (way == 3)
                assert_int_equal(unlink(output), 0);
            else
                assert_int_equal(truncate(output, size_of(output) + 1), 0);
            const off_t size = size_of(output);
            run_commits(0);
            assert_true(commits_came_to(&run, TAMIS_E_CHANGED, says[way]));
            assert_untouched(output, size);
        }
}

/* Bytes behind the last commit are the run's own. */
static void the_rest_of_a_stopped_run_is_cut_off(void **state) {
    (void)state;
    begin_run(false);
    assert_int_equal(truncate(output, size_of(output) + 700), 0);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_true(is_wanted(output));
}

/* Also if there was another run in between. */
static void an_older_run_is_continued(void **state) {
    (void)state;
    begin_run(false);
    assert_int_equal(truncate(output, size_of(output) + 700), 0);
    char stopped[300];
    snprintf(stopped, sizeof stopped, "%s", in);
    snprintf(in, sizeof in, "%s", scratch("between"));
    commits_write(in, 500, 99);
    go_to(other, false);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    const uint64_t between = run.stats.unique;
    snprintf(in, sizeof in, "%s", stopped);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_int_equal(run.stats.records, 1000);
    assert_int_equal(run.info.keys, run.stats.unique + between);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
}

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), run.err.text);
}

/* A session over the state of an unfinished run adds a key, and commits that checkpoint; NULL: the one of the
 * run. The key comes from a record with a position if `delivers`. */
static void commit_in_session(const char *checkpoint, size_t size, bool delivers) {
    tamis_state_options state_options = TAMIS_STATE_OPTIONS_INIT;
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_stream_checkpoint *run_checkpoint = NULL;
    tamis_stream_run_status run_status;
    tamis_dedup *session = NULL;
    tamis_delivery record = {.source = {"source", 6}, .position = 1};
    tamis_answer answer;
    test_bytes copy = {0}; /* the commit replaces the bytes */
    const void *committed;
    size_t committed_size;
    assert_ok(tamis_state_open(&options.state, scratch("state"), &state_options, &run.err));
    assert_ok(tamis_stream_run_at(&run_checkpoint, &run_status, options.state, 0, &run.err));
    assert_int_equal(run_status, TAMIS_STREAM_RUN_OPEN);
    tamis_stream_checkpoint_free(run_checkpoint);
    assert_ok(tamis_dedup_open(&session, NULL, &options, &run.err));
    assert_ok(tamis_hash_many(tamis_filter_hasher(tamis_dedup_filter(session)),
                              &(tamis_key){"another key", 11}, 1, &record.hash, &run.err));
    if (delivers)
        assert_ok(tamis_dedup_add_delivered(session, &(tamis_deliveries){&record, NULL, 1}, &answer, NULL,
                                            &run.err));
    else
        assert_ok(tamis_dedup_add_hashes(session, &record.hash, 1, &answer, NULL, &run.err));
    assert_int_equal(answer, TAMIS_ABSENT);
    tamis_dedup_committed(session, &committed, &committed_size);
    bytes_add(&copy, checkpoint ? checkpoint : committed, checkpoint ? size : committed_size);
    assert_ok(tamis_dedup_commit(session, copy.data, copy.size, &run.err));
    bytes_clear(&copy);
    tamis_dedup_close(session);
    tamis_state_close(options.state);
}

/* A state has one checkpoint. Without its own, the run is refused: it neither goes on nor begins again. */
static void a_commit_of_a_session_replaces_that_of_a_run(void **state) {
    static const struct {
        const char *checkpoint; /* NULL: that of the run */
        size_t size;
        bool delivers;
        tamis_status status;
        const char *text;
    } cases[] = {{"mine", 4, false, TAMIS_E_FORMAT, "a commit was not made by this program"},
                 {"", 0, false, TAMIS_E_CHANGED, "knows nothing of it"},
                 {NULL, 0, true, TAMIS_E_FORMAT, "a commit was not made by this program"},
                 {NULL, 0, false, TAMIS_OK, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_run(false);
        const off_t size = size_of(output);
        commit_in_session(cases[i].checkpoint, cases[i].size, cases[i].delivers);
        run_commits(0);
        assert_true(commits_came_to(&run, cases[i].status, cases[i].text));
        if (cases[i].status != TAMIS_OK) {
            assert_untouched(output, size);
            continue;
        }
        assert_int_equal(run.result.start, TAMIS_STREAM_RESUMED);
        assert_int_equal(run.info.keys, run.stats.unique + 1);
        assert_true(is_wanted(output));
    }
}

static void an_unknown_output_is_refused(void **state) {
    (void)state;
    commits_write(in, 100, 1);
    file_write(output, "mine\n", 5);
    run_commits(0);
    assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "knows nothing of it"));
    assert_true(file_is(output, "mine\n"));
    file_write(output, "", 0);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
}

static void the_next_input_is_appended(void **state) {
    (void)state;
    begin_run(true);
    const off_t size = size_of(output);
    snprintf(in, sizeof in, "%s", scratch("next"));
    commits_write(in, 1000, 2);
    run_commits(4);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_true(size_of(output) > size);
    assert_int_equal(truncate(output, size), 0);
    assert_true(is_wanted(output));
}

static void an_output_of_another_process_is_refused(void **state) {
    (void)state;
    tamis_lock *lock;
    commits_write(in, 100, 1);
    assert_int_equal(tamis_file_lock(&lock, output, NULL), TAMIS_OK);
    run_commits(0);
    assert_true(commits_came_to(&run, TAMIS_E_BUSY, ""));
    tamis_file_unlock(lock);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
}

/* ---- pipes ---- */

static int pipe_with(const char *text, int *writing) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    if (writing)
        *writing = ends[1];
    else
        close(ends[1]);
    return ends[0];
}

static void an_input_pipe_is_reported(void **state) {
    (void)state;
    for (int exact = 1; exact >= 0; exact--) {
        const int fd = pipe_with("a\nb\na\n", NULL);
        prepare();
        snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", fd);
        names[0] = fd_name;
        run.commits.exactly_once = exact;
        commits_go(&run);
        close(fd);
        assert_string_equal(run.result.inexact, fd_name);
        if (exact)
            assert_true(commits_came_to(&run, TAMIS_E_UNSUPPORTED, "not a regular file"));
        assert_int_equal(file_exists(output), !exact);
    }
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_true(file_is(output, "a\nb\n"));
    const int fd = pipe_with("b\nc\n", NULL); /* a second run adds the new records */
    prepare();
    snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", fd);
    names[0] = fd_name;
    commits_go(&run);
    close(fd);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_true(file_is(output, "a\nb\nc\n"));
}

static int reading;
static uint64_t pipe_checks;
static char selected[40];

/* Simulates a reader that reads nothing from the pipe during the first checks. */
static int late_unread(int fd, int *bytes) {
    const int result = unharmed.unread(fd, bytes);
    if (++pipe_checks == LATE && result == 0 && *bytes > 0 &&
        read(reading, selected, sizeof selected - 1) < 0)
        return -1;
    return result;
}

static int going_unread(int fd, int *bytes) {
    const int result = unharmed.unread(fd, bytes);
    if (reading >= 0)
        close(reading);
    reading = -1;
    return result;
}

static void an_output_pipe_is_reported(void **state) {
    (void)state;
    int writing;
    file_write(in, "a\nb\na\n", 6);
    reading = pipe_with("", &writing);
    snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", writing);
    prepare();
    run.options.output = fd_name;
    run.commits.exactly_once = true;
    commits_go(&run);
    assert_true(commits_came_to(&run, TAMIS_E_UNSUPPORTED, "not a regular file"));
    unharmed = tamis__sys;
    tamis__sys.unread = late_unread;
    go_to(fd_name, false);
    tamis__sys = unharmed;
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_string_equal(run.result.inexact, fd_name);
    assert_string_equal(selected, "a\nb\n");
    assert_true(pipe_checks > LATE);
    go_to(fd_name, false);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
    close(reading);
    close(writing);
}

/* The result names the output as the options do. */
static void an_open_output_file_is_refused(void **state) {
    (void)state;
    file_write(in, "a\nb\na\n", 6);
    const int fd = open(output, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", fd);
    go_to(fd_name, false);
    close(fd);
    unlink(output);
    assert_true(commits_came_to(&run, TAMIS_E_UNSUPPORTED, "is open already"));
    assert_string_equal(run.result.open_output, fd_name);
    assert_null(run.result.inexact);
}

/* Bytes that the reader had not read are not committed, and are written again. */
static void an_output_pipe_whose_reader_goes(void **state) {
    (void)state;
    int writing;
    file_write(in, "a\nb\na\n", 6);
    reading = pipe_with("", &writing);
    snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", writing);
    unharmed = tamis__sys;
    tamis__sys.unread = going_unread;
    go_to(fd_name, false);
    tamis__sys = unharmed;
    assert_true(commits_came_to(&run, TAMIS_E_PIPE, fd_name));
    close(writing);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_true(file_is(output, "a\nb\n"));
}

static void the_null_device_is_exact(void **state) {
    (void)state;
    file_write(in, "a\nb\na\n", 6);
    for (int i = 0; i < 2; i++) {
        prepare();
        run.options.duplicates = "/dev/null";
        run.commits.exactly_once = true;
        commits_go(&run);
        assert_true(commits_started(&run, i ? TAMIS_STREAM_FINISHED : TAMIS_STREAM_NEW));
        assert_null(run.result.inexact);
        assert_true(file_is(output, "a\nb\n"));
    }
}

static void an_open_file_is_refused(void **state) {
    (void)state;
    file_write(in, "a\n", 2);
    const int fd = open(scratch("opened"), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", fd);
    go_to(fd_name, false);
    assert_true(commits_came_to(&run, TAMIS_E_UNSUPPORTED, "give the output by its name"));
    close(fd);
}

/* ---- set-up and tear-down ---- */

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(in, sizeof in, "%s", scratch("in"));
    snprintf(output, sizeof output, "%s", scratch("output"));
    snprintf(other, sizeof other, "%s", scratch("other"));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    bytes_clear(&expected);
    commits_forget();
    scratch_remove();
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(an_input_that_changed_is_refused),
        CASE(an_input_that_was_moved_is_known),
        CASE(another_file_of_that_name_is_refused),
        CASE(the_same_input_elsewhere_is_refused),
        CASE(again_finds_duplicates),
        CASE(half_a_record_is_left),
        CASE(an_output_that_changed_is_refused),
        CASE(the_rest_of_a_stopped_run_is_cut_off),
        CASE(an_older_run_is_continued),
        CASE(a_commit_of_a_session_replaces_that_of_a_run),
        CASE(an_unknown_output_is_refused),
        CASE(the_next_input_is_appended),
        CASE(an_output_of_another_process_is_refused),
        CASE(an_input_pipe_is_reported),
        CASE(an_output_pipe_is_reported),
        CASE(an_open_output_file_is_refused),
        CASE(an_output_pipe_whose_reader_goes),
        CASE(the_null_device_is_exact),
        CASE(an_open_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
