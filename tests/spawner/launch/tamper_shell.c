// SPDX-License-Identifier: BSD-3-Clause
// A remote shell with an attacker on the network: tamper_shell [options] host command
//
// It runs the command on this host. It gives the helper its own port instead of that of the process
// which the helper must call, and forwards the messages of both. It forwards the key too, without
// using it. Once the file $TAMPER_FILE exists, it attacks the next bytes in one direction
// ($TAMPER_WAY: up, down) as $TAMPER_HOW says:
//
//   flip: changes one bit of the last byte      repeat: sends them twice
//   drop: leaves them out                       insert: sends bytes of its own before them
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEADER 8 // of the frame with key, address and port; the port is in its last 4 bytes

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(99);
}

static void write_all(int fd, const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n <= 0)
            exit(0); // one side is gone, and so is the connection
        data += n;
        length -= (size_t)n;
    }
}

static uint16_t get_port(const uint8_t *at)
{
    return (uint16_t)(at[2] << 8 | at[3]);
}

static struct sockaddr_in here(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_here(uint16_t *port)
{
    struct sockaddr_in at = here(0);
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0 &&
             getsockname(fd, (struct sockaddr *)&at, &length) == 0,
         "listen");
    *port = ntohs(at.sin_port);
    return fd;
}

static bool is_due(const char *way)
{
    static bool done;
    if (done || strcmp(getenv("TAMPER_WAY"), way) != 0 || access(getenv("TAMPER_FILE"), F_OK) != 0)
        return false;
    done = true;
    return true;
}

static void do_harm(int fd, uint8_t *data, size_t length)
{
    static const uint8_t own[16] = {9, 0, 0, 0, 0, 0, 0, 8};
    const char *how = getenv("TAMPER_HOW");
    if (strcmp(how, "flip") == 0)
        data[length - 1] ^= 1;
    if (strcmp(how, "insert") == 0)
        write_all(fd, own, sizeof own);
    if (strcmp(how, "repeat") == 0)
        write_all(fd, data, length);
    if (strcmp(how, "drop") != 0)
        write_all(fd, data, length);
}

static void pass_on(int from, int to, const char *way)
{
    uint8_t data[65536];
    ssize_t n = read(from, data, sizeof data);
    if (n <= 0)
        (void)shutdown(to, SHUT_WR);
    else if (is_due(way))
        do_harm(to, data, (size_t)n);
    else
        write_all(to, data, (size_t)n);
    if (n < 0)
        exit(0);
}

static void be_in_the_middle(int listener, uint16_t port)
{
    struct sockaddr_in at = here(port);
    int down = accept(listener, NULL, NULL), up = socket(AF_INET, SOCK_STREAM, 0);
    must(down >= 0 && connect(up, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    bool open[2] = {true, true};
    while (open[0] || open[1]) {
        struct pollfd ready[2] = {{.fd = open[0] ? down : -1, .events = POLLIN},
                                  {.fd = open[1] ? up : -1, .events = POLLIN}};
        uint8_t byte;
        (void)poll(ready, 2, -1);
        for (int i = 0; i < 2; i++) {
            if (ready[i].revents == 0)
                continue;
            open[i] = recv(ready[i].fd, &byte, 1, MSG_PEEK) > 0;
            pass_on(ready[i].fd, i == 0 ? up : down, i == 0 ? "up" : "down");
        }
    }
    exit(0);
}

static void become_middle(int listener, uint16_t port)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid > 0)
        return;
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    (void)setsid();
    (void)alarm(60);
    be_in_the_middle(listener, port);
}

// Forwards the helper's frame with our port in it.
static void pass_intro(int to)
{
    uint8_t frame[512];
    size_t used = 0, whole = HEADER;
    while (used < whole) {
        ssize_t n = read(STDIN_FILENO, frame + used, whole - used);
        if (n <= 0)
            return; // the launcher has closed the connection
        used += (size_t)n;
        if (used == HEADER)
            whole = HEADER + (size_t)get_port(frame + 4);
        must(whole < sizeof frame, "a frame that is too long");
    }
    uint16_t port = get_port(frame + whole - 4), own;
    int listener = listen_here(&own);
    become_middle(listener, port);
    (void)close(listener);
    frame[whole - 2] = (uint8_t)(own >> 8);
    frame[whole - 1] = (uint8_t)own;
    write_all(to, frame, whole);
}

int main(int argc, char **argv)
{
    int in[2], status;
    (void)signal(SIGPIPE, SIG_IGN);
    must(argc > 2 && pipe(in) == 0, "pipe");
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)close(in[0]);
        (void)close(in[1]);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)execl("/bin/sh", "sh", "-c", argv[argc - 1], (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    pass_intro(in[1]);
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
