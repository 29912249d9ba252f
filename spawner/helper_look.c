// The answer of this host to a look at its ranks (other/observe/look_format.h).
#include <unistd.h>

#include "../other/base/clock.h"
#include "../other/observe/look_format.h"
#include "../other/observe/process_table.h"
#include "../other/observe/rank_reader.h"
#include "helper.h"

static void put_u64(aq_bytes_t *bytes, uint64_t value)
{
    aq_put_u32(bytes, (uint32_t)(value >> 32));
    aq_put_u32(bytes, (uint32_t)value);
}

static bool line_is_zero(const uint8_t *line)
{
    static const uint8_t zero[AQ_LOOK_LINE];
    return memcmp(line, zero, sizeof zero) == 0;
}

static void put_head(aq_bytes_t *bytes, const uint8_t *head)
{
    uint8_t map[AQ_LOOK_MAP] = {0};
    for (unsigned i = 0; i < AQ_LOOK_LINES; i++)
        if (!line_is_zero(head + i * (size_t)AQ_LOOK_LINE))
            map[i / 8] |= (uint8_t)(1u << i % 8);
    aq_put_raw(bytes, map, sizeof map);
    for (unsigned i = 0; i < AQ_LOOK_LINES; i++)
        if (map[i / 8] >> i % 8 & 1)
            aq_put_raw(bytes, head + i * (size_t)AQ_LOOK_LINE, AQ_LOOK_LINE);
}

// Counts of ranks on their way into the frame, behind their number.
typedef struct counts {
    aq_bytes_t bytes;
    uint32_t ranks;
} counts_t;

static void counts_visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    counts_t *counts = context;
    counts->ranks++;
    aq_put_u32(&counts->bytes, to);
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        put_u64(&counts->bytes, sum[i]);
}

static void put_counts(aq_bytes_t *bytes, int fd, const aq_seen_rank_t *seen)
{
    counts_t counts = {0};
    (void)aq_rank_read_counts(fd, seen, counts_visit, &counts);
    aq_put_u32(bytes, counts.ranks);
    if (counts.ranks > 0)
        aq_put_raw(bytes, counts.bytes.data, counts.bytes.used);
    aq_bytes_free(&counts.bytes);
}

static void put_own(aq_bytes_t *bytes, int fd, const aq_seen_rank_t *seen)
{
    uint64_t own[AQ_OWN_COUNTS];
    (void)aq_rank_read_own(fd, seen, own);
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        put_u64(bytes, own[i]);
}

static void put_rank(aq_bytes_t *bytes, int fd)
{
    static uint8_t head[AQ_RANK_HEAD_BYTES];
    static aq_seen_rank_t seen;
    uint32_t version;
    aq_process_t process;
    if (aq_rank_read(fd, &seen, &version) != AQ_READ_OK ||
        pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return;
    (void)aq_process_look(seen.pid, &process);
    aq_put_u8(bytes, (unsigned char)process.state);
    put_u64(bytes, process.cpu);
    put_head(bytes, head);
    put_own(bytes, fd, &seen);
    put_counts(bytes, fd, &seen);
}

static void file_visit(pid_t pid, int number, void *context)
{
    const int fd = aq_process_open_file(pid, number);
    if (fd < 0)
        return;
    put_rank(context, fd);
    (void)close(fd);
}

// The supervisor, a child of this process, holds the files.
void aq_helper_look(aq_helper_t *helper, uint32_t number)
{
    aq_bytes_t *out = &helper->parent.out;
    if (helper->supervisor == 0)
        return;
    const size_t begin = aq_frame_begin(out, AQ_MSG_SEEN);
    aq_put_u32(out, number);
    put_u64(out, aq_clock_ns());
    aq_process_each_file_of(helper->supervisor, AQ_RANK_FILE_NAME, file_visit, out);
    aq_frame_end(out, begin);
}
