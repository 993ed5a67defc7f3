/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/failure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

tamis_status tamis__fail(tamis_error *err, tamis_status status, int sys_errno, const char *format, ...) {
    if (err) {
        err->status = status;
        err->sys_errno = sys_errno;
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

tamis_status tamis__fail_null(tamis_error *err, const char *name) {
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: is NULL, but is needed; give what the header asks for",
                       name);
}

tamis_status tamis__fail_nomem(tamis_error *err, const char *what, uint64_t bytes) {
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "%s: out of memory, %" PRIu64
                       " bytes were refused; free memory, raise the limit, or ask for a smaller filter",
                       what, bytes);
}

const char *tamis_strerror(tamis_status status) {
    switch (status) {
#define STATUS_TEXT(name, value, text)                                                                       \
    case name:                                                                                               \
        return text;
        TAMIS_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *tamis_status_name(tamis_status status) {
    switch (status) {
#define STATUS_NAME(name, value, text)                                                                       \
    case name:                                                                                               \
        return #name;
        TAMIS_STATUS_TABLE(STATUS_NAME)
#undef STATUS_NAME
    }
    return "TAMIS_E_?";
}

#define VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define VERSION_TEXT(major, minor, patch)  VERSION_TEXT_(major, minor, patch)

const char *tamis_version(void) {
    return VERSION_TEXT(TAMIS_VERSION_MAJOR, TAMIS_VERSION_MINOR, TAMIS_VERSION_PATCH);
}
