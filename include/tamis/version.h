/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_VERSION_H
#define TAMIS_VERSION_H

/* The version. The build reads it from here. */
#define TAMIS_VERSION_MAJOR 0
#define TAMIS_VERSION_MINOR 1
#define TAMIS_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define TAMIS_API __attribute__((visibility("default")))
#else
#define TAMIS_API
#endif

/*
 * Initialisers of public structs, TAMIS_..._INIT: struct_size, the fields whose default is not zero, and
 * zeros. In C they are designated; C++ before C++20 has no such initialisers, so there they are the value
 * of a lambda.
 */
#ifdef __cplusplus
#define TAMIS__FIELD(name, value) tamis__made.name = value;
#define TAMIS__INIT(type, fields)                                                                            \
    [] {                                                                                                     \
        type tamis__made = type();                                                                           \
        tamis__made.struct_size = sizeof tamis__made;                                                        \
        fields return tamis__made;                                                                           \
    }()
#else
#define TAMIS__FIELD(name, value) .name = value,
#define TAMIS__INIT(type, fields)                                                                            \
    { .struct_size = sizeof(type), fields }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library at run time, "MAJOR.MINOR.PATCH". The string is static. */
TAMIS_API const char *tamis_version(void);

/*
 * Returns the name of the kernel set in use: "scalar", "avx2" or "avx512" on x86-64, "scalar" or "neon" on
 * arm64. The process chooses it once, from the environment variable TAMIS_KERNEL or else from the CPU.
 *
 * If TAMIS_KERNEL names a set that this build or this CPU lacks, returns "unavailable". Every creation of a
 * filter or hasher then fails with TAMIS_E_UNSUPPORTED, so that a forced set is never replaced unnoticed. Any
 * thread may call it. The string is static.
 */
TAMIS_API const char *tamis_kernel_name(void);

#ifdef __cplusplus
}
#endif
#endif
