/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_VERSION_H
#define TAMIS_VERSION_H

/* The one place the version is written; the build reads it from here. */
#define TAMIS_VERSION_MAJOR 0
#define TAMIS_VERSION_MINOR 1
#define TAMIS_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define TAMIS_API __attribute__((visibility("default")))
#else
#define TAMIS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library at run time, "MAJOR.MINOR.PATCH". Static storage. */
TAMIS_API const char *tamis_version(void);

/*
 * The set of vector kernels in use: "scalar", "avx2" or "avx512" on x86-64, "scalar" or "neon" on arm64. Chosen
 * once, by what the machine has or by TAMIS_KERNEL in the environment. Where TAMIS_KERNEL names a set that this
 * build or machine lacks, the answer is "unavailable" and every creation of a filter or hasher is refused with
 * TAMIS_E_UNSUPPORTED: a forced kernel never falls back silently. Any thread. Static storage.
 */
TAMIS_API const char *tamis_kernel_name(void);

#ifdef __cplusplus
}
#endif
#endif
