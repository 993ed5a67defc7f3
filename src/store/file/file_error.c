/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/file/file_error.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

tamis__shown tamis__show(const char *name) {
    tamis__shown shown;
    const size_t size = strlen(name);
    char *to = shown.text;
    if (size > TAMIS__NAME_SHOWN) {
        memcpy(to, "...", 3);
        to += 3;
        name += size - TAMIS__NAME_SHOWN;
    }
    for (; *name; name++)
        *to++ = (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name;
    *to = '\0';
    return shown;
}

const char *tamis__errno_text(int sys_errno) {
    static _Thread_local char text[100];
    /* strerror is thread-safe in the C libraries we support; strerror_r has two incompatible signatures. */
    strncpy(text, strerror(sys_errno), sizeof text - 1);
    if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
    return text;
}

const char *tamis__errno_remedy(int sys_errno) {
    static const struct {
        int number;
        const char *remedy;
    } remedies[] = {
        {ENOSPC, "free space there, or write elsewhere"},
        {EDQUOT, "free space there, or write elsewhere"},
        {EFBIG, "raise the limit of file sizes, or write elsewhere"},
        {EROFS, "make it writable, or name a file elsewhere"},
        {ENOENT, "check the name and its directory"},
        {ENOTDIR, "check the name and its directory"},
        {ENAMETOOLONG, "use a shorter name"},
        {ELOOP, "check where its symbolic links lead"},
        {EISDIR, "name a file"},
        {EACCES, "check the permissions of the file and its directory"},
        {EPERM, "check the permissions of the file and its directory"},
        {EMFILE, "close files, or raise the limit of open files"},
        {ENFILE, "close files, or raise the limit of open files"},
        {EBADF, "it is closed, or open for the other direction only"},
        {ETXTBSY, "it is a program that runs now: write elsewhere"},
        {EPIPE, "keep its reader running"},
        {ENOMEM, "free memory, or raise its limit"},
        {EINTR, "try again"},
        {EIO, "check the device"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].number == sys_errno)
            return remedies[i].remedy;
    return "check the file, then try again";
}

tamis_status tamis__fail_file(tamis_error *err, const char *name, int sys_errno) {
    tamis_status status = TAMIS_E_IO;
    if (sys_errno == EPIPE)
        status = TAMIS_E_PIPE;
    if (sys_errno == ENOMEM)
        status = TAMIS_E_NOMEM;
    return tamis__fail(err, status, sys_errno, "%s: %s; %s", tamis__show(name).text,
                       tamis__errno_text(sys_errno), tamis__errno_remedy(sys_errno));
}

tamis_status tamis__fail_irregular(tamis_error *err, const char *name) {
    return tamis__fail(err, TAMIS_E_IO, 0, "%s: is not a regular file; name a regular file for the filter",
                       tamis__show(name).text);
}

tamis_status tamis__fail_exists(tamis_error *err, const char *name) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: is there already, and would be lost; open it and add again, or save elsewhere",
                       tamis__show(name).text);
}
