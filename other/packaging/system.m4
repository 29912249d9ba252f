dnl SPDX-License-Identifier: BSD-3-Clause
dnl What configure refuses at once, with one sentence, because make would fail on it.

dnl Rules of make and lists of options of compilers divide their words at spaces.
AC_DEFUN([AQ_CHECK_FOLDERS], [
AS_CASE(["`cd "$srcdir" && pwd`"], [*[[[:space:]]]*],
    [AC_MSG_ERROR([the path of the sources contains a space, which make cannot handle; move the sources to a folder without one.])])
AS_CASE(["`pwd`"], [*[[[:space:]]]*],
    [AC_MSG_ERROR([the path of the build folder contains a space, which make cannot handle; build in a folder without one.])])
])

AC_DEFUN([AQ_CHECK_C11], [
AC_MSG_CHECKING([whether $CC compiles C11])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <stdatomic.h>
#if __STDC_VERSION__ < 201112L
#error "an older C"
#endif
_Static_assert(sizeof(atomic_int) == sizeof(int), "lock-free");
_Thread_local atomic_int counter;
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the compiler '$CC' does not compile C11 with atomics and thread-local variables; name another one with CC=...])])
])

dnl GCC bug 114130: a compare-and-swap of 32 bits that are not sign-extended stores nothing, and
dnl reports success.
AC_DEFUN([AQ_CHECK_CAS], [
AC_MSG_CHECKING([whether $CC compiles compare-and-swap of 32 bits])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#define AT_MIN(major, minor) \
    (__GNUC__ > (major) || (__GNUC__ == (major) && __GNUC_MINOR__ >= (minor)))
#if defined __riscv && __riscv_xlen == 64 && !defined __clang__ && !AT_MIN(13, 3) && \
    !(__GNUC__ == 12 && AT_MIN(12, 4)) && !(__GNUC__ == 11 && AT_MIN(11, 5))
#error "bug 114130"
#endif
int checked;
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the compiler '$CC' for riscv64 has GCC bug 114130, so that atomic operations of 32 bits lose what they store; use gcc 11.5, 12.4, 13.3, 14 or later, or clang.])])
])

AC_DEFUN([AQ_CHECK_LIBC], [
AC_MSG_CHECKING([for the GNU C library 2.34 or later])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <features.h>
#ifndef __GLIBC__
#error "another C library"
#endif
]])], [],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the C library of '$CC' is not that of GNU, for example musl; build on a system with glibc 2.34 or later.])])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <features.h>
#if !__GLIBC_PREREQ(2, 34)
#error "an old one"
#endif
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the C library of '$CC' is older than glibc 2.34; build on a later release of the system, for example Debian 12.])])
])

dnl AQ_CHECK_MPI(NAME, CPPFLAGS): the module for an MPI uses windows of shared memory.
AC_DEFUN([AQ_CHECK_MPI], [
AC_MSG_CHECKING([whether $1 has MPI 3.0])
aq_saved_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $2"
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <mpi.h>
#if MPI_VERSION < 3
#error "an old one"
#endif
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$1 is older than MPI 3.0, or its mpi.h does not compile; install a later one, or configure with --disable-mpi-modules.])])
CPPFLAGS=$aq_saved_CPPFLAGS
])
