// SPDX-License-Identifier: BSD-3-Clause
// Remote shells.
#include "remote.h"
#include "../../other/base/minmax.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void aq_remote_clear(aq_remote_t *remote)
{
    *remote = (aq_remote_t){.in = -1, .out = -1, .err = -1};
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

__attribute__((noreturn)) static void become_shell(char *const *argv, const int fds[3],
                                                   pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(fds[fd], fd) < 0)
            _exit(127);
    // A user who logged in by ssh has these variables; they describe another connection.
    (void)unsetenv("SSH_CONNECTION");
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int open_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0)
            return errno;
    return 0;
}

int aq_remote_start(aq_remote_t *remote, char *const *argv)
{
    int pipes[3][2];
    int error = open_pipes(pipes);
    pid_t parent = getpid(), pid = error == 0 ? fork() : -1;
    if (pid == 0) {
        const int fds[3] = {pipes[0][0], pipes[1][1], pipes[2][1]};
        become_shell(argv, fds, parent);
    }
    if (error == 0 && pid < 0)
        error = errno;
    close_fd(&pipes[0][0]);
    close_fd(&pipes[1][1]);
    close_fd(&pipes[2][1]);
    aq_remote_clear(remote);
    remote->in = pipes[0][1];
    remote->out = pipes[1][0];
    remote->err = pipes[2][0];
    remote->pid = pid > 0 ? pid : 0;
    if (error != 0) {
        aq_remote_end(remote);
        return error;
    }
    for (int i = 0; i < 3; i++)
        (void)fcntl(i == 0 ? remote->in : i == 1 ? remote->out : remote->err, F_SETFL, O_NONBLOCK);
    return 0;
}

// Returns the word at *text, terminated in place; "" at the end.
static char *cut_word(char **text)
{
    char *word = *text;
    size_t length = strcspn(word, " \r\n");
    *text = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

char *aq_remote_line(aq_remote_t *remote, const char *mark)
{
    char c, *at;
    ssize_t n;
    while ((n = TEMP_FAILURE_RETRY(read(remote->out, &c, 1))) == 1) {
        if (c != '\n') {
            if (c != '\0' && remote->line_used + 1 < sizeof remote->line)
                remote->line[remote->line_used++] = c;
            continue;
        }
        remote->line[remote->line_used] = '\0';
        remote->line_used = 0;
        at = strstr(remote->line, mark);
        if (at != NULL)
            return at + strlen(mark);
    }
    if (n == 0 || errno != EAGAIN)
        close_fd(&remote->out);
    return NULL;
}

bool aq_remote_greeted(aq_remote_t *remote, aq_greeting_t *out)
{
    char *at = aq_remote_line(remote, AQ_REMOTE_GREETING);
    if (at == NULL)
        return false;
    out->version = cut_word(&at);
    out->client = cut_word(&at);
    out->server = cut_word(&at);
    out->addresses = cut_word(&at);
    return out->addresses[0] != '\0';
}

void aq_remote_listen(aq_remote_t *remote)
{
    char chunk[512];
    ssize_t n = TEMP_FAILURE_RETRY(read(remote->err, chunk, sizeof chunk));
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            close_fd(&remote->err);
        return;
    }
    size_t length = (size_t)n, room = sizeof remote->last - 1;
    if (remote->last_used + length > room) {
        size_t drop = remote->last_used + length - room;
        drop = aq_min(drop, remote->last_used);
        memmove(remote->last, remote->last + drop, remote->last_used - drop);
        remote->last_used -= drop;
    }
    memcpy(remote->last + remote->last_used, chunk, length);
    remote->last_used += length;
}

static void describe_status(int status, char *errbuf, size_t errbuf_size)
{
    if (WIFSIGNALED(status))
        snprintf(errbuf, errbuf_size, "the remote shell was killed by signal %d", WTERMSIG(status));
    else
        snprintf(errbuf, errbuf_size, "the remote shell ended with exit code %d",
                 WEXITSTATUS(status));
}

void aq_remote_reason(aq_remote_t *remote, char *errbuf, size_t errbuf_size)
{
    static const char prefix[] = "*** GASNet: ";
    while (remote->err >= 0 && remote->last_used + 1 < sizeof remote->last) {
        size_t before = remote->last_used;
        aq_remote_listen(remote);
        if (remote->last_used == before)
            break;
    }
    remote->last[remote->last_used] = '\0';
    char *end = remote->last + strcspn(remote->last, "\0");
    while (end > remote->last && (unsigned char)end[-1] <= ' ')
        *--end = '\0';
    char *line = strrchr(remote->last, '\n');
    line = line != NULL ? line + 1 : remote->last;
    if (strncmp(line, prefix, strlen(prefix)) == 0)
        line += strlen(prefix);
    for (char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (line[0] != '\0')
        snprintf(errbuf, errbuf_size, "%s", line);
    else
        describe_status(remote->status, errbuf, errbuf_size);
}

void aq_remote_end(aq_remote_t *remote)
{
    close_fd(&remote->in);
    close_fd(&remote->out);
    close_fd(&remote->err);
    if (remote->pid > 0)
        (void)kill(remote->pid, SIGKILL); // reaped with the others
}

// ---- the helper's side ----

// "client port server port"
static void read_connection(char client[AQ_ADDRESS_TEXT], char server[AQ_ADDRESS_TEXT])
{
    const char *text = getenv("SSH_CONNECTION");
    if (text != NULL && sscanf(text, "%63s %*s %63s", client, server) == 2)
        return;
    snprintf(client, AQ_ADDRESS_TEXT, "-");
    snprintf(server, AQ_ADDRESS_TEXT, "-");
}

void aq_remote_own_addresses(char text[AQ_REMOTE_TEXT])
{
    aq_net_own_addresses(text, AQ_REMOTE_TEXT - 256); // the rest of a line is room for other words
    if (text[0] == '\0')
        snprintf(text, AQ_REMOTE_TEXT, "-");
}

void aq_remote_greet(void)
{
    char own[AQ_REMOTE_TEXT], client[AQ_ADDRESS_TEXT], server[AQ_ADDRESS_TEXT];
    aq_remote_own_addresses(own);
    read_connection(client, server);
    printf("\n" AQ_REMOTE_GREETING "%s %s %s %s\n", PACKAGE_VERSION, client, server, own);
    (void)fflush(stdout);
}
