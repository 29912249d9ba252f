/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout: the addresses of the code and data of a rank.
 *
 *   layout show
 *       joins the job and prints a line of addresses: those of a function and a variable of the
 *       program, of functions of the C library and of Aqueduct, and of a block on the heap
 *
 *   layout deny COMMAND ...
 *       runs the command while the system refuses personality(2), as some containers do
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gasnetex.h>

static int variable = 1;

static int show_addresses(int *argc, char ***argv)
{
    void *heap = malloc(100);
    if (gex_Client_Init(NULL, NULL, NULL, "LAYOUT", argc, argv, 0) != GASNET_OK)
        return 1;
    printf("at %#lx %#lx %#lx %#lx %#lx\n", (unsigned long)show_addresses, (unsigned long)&variable,
           (unsigned long)puts, (unsigned long)gex_Client_QueryName, (unsigned long)heap);
    fflush(stdout);
    gasnet_exit(0);
    return 1;
}

// The filter refuses to change the personality, but allows to read it.
static int run_denied(char **command)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("layout: cannot install a filter of system calls");
        return 77;
    }
    execvp(command[0], command);
    perror(command[0]);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "show") == 0)
        return show_addresses(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "deny") == 0)
        return run_denied(argv + 2);
    fprintf(stderr, "usage: layout show | layout deny COMMAND ...\n");
    return 2;
}
