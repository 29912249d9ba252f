/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limits of MPI on this machine, without GASNet: a round trip of 8 bytes, and a stream of
 * messages of 2 MiB. This is a separate program because gasnet_perf is compiled without MPI. The
 * script `compare` starts it with two ranks and adds its lines to those of gasnet_perf.
 *
 * usage: raw_mpi [seconds of a measurement]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PING = 8, BULK = 2097152, IN_FLIGHT = 4, MOST_BATCHES = 255, BATCHES = 15 };

static int rank;
static char *buffer;

static void send_pings(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(buffer, PING, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, PING, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, PING, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

/* Each process has IN_FLIGHT messages pending; rank 1 acknowledges the last one. */
static void send_stream(unsigned long n)
{
    MPI_Request requests[IN_FLIGHT];

    for (int i = 0; i < IN_FLIGHT; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (unsigned long i = 0; i < n; i++) {
        MPI_Request *request = &requests[i % IN_FLIGHT];
        char *part = buffer + i % IN_FLIGHT * BULK;
        MPI_Wait(request, MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Isend(part, BULK, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request);
        else
            MPI_Irecv(part, BULK, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
    send_pings(1);
}

/* Rank 0 broadcasts the number of operations of a batch; 0 ends the measurement. */
static double lead_batch(void (*work)(unsigned long), unsigned long n)
{
    double start = MPI_Wtime();

    MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    work(n);
    return n ? MPI_Wtime() - start : 0;
}

static void follow_batches(void (*work)(unsigned long))
{
    unsigned long n;

    for (;;) {
        MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
        work(n);
        if (n == 0)
            return;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the seconds of one operation, as the median of the batches. */
static double measure_median(void (*work)(unsigned long), double seconds)
{
    double took[MOST_BATCHES], total = 0;
    unsigned long n = 1;
    int count = 0;

    while (lead_batch(work, n) < seconds / BATCHES || lead_batch(work, n) < seconds / BATCHES)
        n *= 2;
    while (count < MOST_BATCHES && (count < BATCHES || total < seconds)) {
        took[count] = lead_batch(work, n);
        total += took[count++];
    }
    lead_batch(work, 0);
    qsort(took, (size_t)count, sizeof *took, by_value);
    return took[count / 2] / (double)n;
}

static void report_json(const char *test, int bytes, double value, const char *unit)
{
    printf("{\"conduit\":\"none\",\"ranks\":2,\"test\":\"%s\",\"bytes\":%d,\"value\":%.6g,"
           "\"unit\":\"%s\"}\n",
           test, bytes, value, unit);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.2;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = calloc(IN_FLIGHT, BULK);
    if (size != 2 || !buffer) {
        fprintf(stderr, "raw_mpi: start this program with two ranks: mpirun -np 2 raw_mpi\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        report_json("raw-mpi", PING, 1e6 * measure_median(send_pings, seconds), "us");
        report_json("raw-mpi-bw", BULK, 1e-6 * BULK / measure_median(send_stream, seconds), "MB/s");
    } else {
        follow_batches(send_pings);
        follow_batches(send_stream);
    }
    MPI_Finalize();
    return 0;
}
