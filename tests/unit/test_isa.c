/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "base/isa.h"

static void the_best_set_is_the_default(void **state) {
    (void)state;
    tamis__isa unset = TAMIS__ISA_COUNT, empty = TAMIS__ISA_COUNT;
    assert_int_equal(tamis__isa_choose(NULL, &unset, NULL), TAMIS_OK);
    assert_int_equal(tamis__isa_choose("", &empty, NULL), TAMIS_OK);
    assert_true(unset < TAMIS__ISA_COUNT);
    assert_int_equal(unset, empty);
}

static void scalar_is_always_there(void **state) {
    (void)state;
    tamis__isa isa = TAMIS__ISA_COUNT;
    assert_int_equal(tamis__isa_choose("scalar", &isa, NULL), TAMIS_OK);
    assert_int_equal(isa, TAMIS__ISA_SCALAR);
}

static void an_unavailable_set_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"nonsense", "Scalar", "scalar ", "scala", " ", "avx99"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tamis__isa isa = TAMIS__ISA_COUNT;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis__isa_choose(names[i], &isa, &err), TAMIS_E_UNSUPPORTED);
        assert_int_equal(isa, TAMIS__ISA_COUNT);
        assert_int_equal(err.status, TAMIS_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, names[i]));
        assert_non_null(strstr(err.text, "TAMIS_KERNEL"));
        assert_non_null(strstr(err.text, ": scalar"));
    }
}

/* The message names the available sets, and no others. */
static void a_refusal_names_what_is_there(void **state) {
    (void)state;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis__isa_choose("nonsense", &(tamis__isa){TAMIS__ISA_SCALAR}, &err),
                     TAMIS_E_UNSUPPORTED);
    const char *here = strrchr(err.text, ':');
    assert_non_null(here);
    for (int i = 0; i < TAMIS__ISA_COUNT; i++) {
        tamis__isa isa = TAMIS__ISA_COUNT;
        const char *name = tamis__isa_name((tamis__isa)i);
        bool is_here = tamis__isa_choose(name, &isa, NULL) == TAMIS_OK;
        assert_int_equal(strstr(here, name) != NULL, is_here);
        assert_int_equal(isa, is_here ? i : TAMIS__ISA_COUNT);
    }
}

/* A process chooses its kernels once, so each case runs in a child process. Exit status 0: passed. */
static void in_a_process_with(const char *kernel, int (*check)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (kernel)
            setenv("TAMIS_KERNEL", kernel, 1);
        else
            unsetenv("TAMIS_KERNEL");
        exit(check());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static tamis_status create_filter(tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan_options.expect = 10;
    tamis_status status = tamis_plan_make(&plan, &plan_options, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(&filter, &plan, NULL, err);
    if (status != TAMIS_OK && filter)
        return TAMIS_OK; /* an out-parameter that was touched: fails the check below */
    tamis_filter_free(filter);
    return status;
}

static int works_as_scalar(void) {
    return strcmp(tamis_kernel_name(), "scalar") != 0 || create_filter(NULL) != TAMIS_OK;
}

/* A set that the machine lacks is refused, never replaced by another one. */
static int works_as_forced_or_is_refused(void) {
    const char *name = getenv("TAMIS_KERNEL");
    bool here = tamis__isa_choose(name, &(tamis__isa){TAMIS__ISA_SCALAR}, NULL) == TAMIS_OK;
    if (strcmp(tamis_kernel_name(), here ? name : "unavailable") != 0)
        return 1;
    return create_filter(NULL) != (here ? TAMIS_OK : TAMIS_E_UNSUPPORTED);
}

static int works(void) {
    return strcmp(tamis_kernel_name(), "unavailable") == 0 || create_filter(NULL) != TAMIS_OK;
}

static int refuses_nonsense(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    if (create_filter(&err) != TAMIS_E_UNSUPPORTED || !strstr(err.text, "TAMIS_KERNEL=nonsense"))
        return 1;
    setenv("TAMIS_KERNEL", "scalar", 1); /* too late: already chosen */
    return strcmp(tamis_kernel_name(), "unavailable") != 0;
}

static int decides_once(void) {
    char first[32];
    snprintf(first, sizeof first, "%s", tamis_kernel_name());
    setenv("TAMIS_KERNEL", "nonsense", 1);
    return strcmp(tamis_kernel_name(), first) != 0 || create_filter(NULL) != TAMIS_OK;
}

static void the_environment_decides_once(void **state) {
    (void)state;
    in_a_process_with("scalar", works_as_scalar);
    for (int i = 0; i < TAMIS__ISA_COUNT; i++)
        in_a_process_with(tamis__isa_name((tamis__isa)i), works_as_forced_or_is_refused);
    in_a_process_with("nonsense", refuses_nonsense);
    in_a_process_with("scalar", decides_once);
    in_a_process_with("", works);
    in_a_process_with(NULL, works);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_set_is_the_default),   cmocka_unit_test(scalar_is_always_there),
        cmocka_unit_test(an_unavailable_set_is_refused), cmocka_unit_test(a_refusal_names_what_is_there),
        cmocka_unit_test(the_environment_decides_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
