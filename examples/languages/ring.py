#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/ring.c in Python (ctypes): a message travels round a ring of nodes, and each node that
it passes writes a line into its own segment.

GASNET_LIBRARY names the library, the conduit and thread mode with it: libgasnet-smp-par.so, if it
is not set.
"""
import ctypes
import os
import sys

ROUNDS = 100
ANONYMOUS = 1  # GASNET_BARRIERFLAG_ANONYMOUS
PAGE = 4096  # GASNET_PAGESIZE


class Handler(ctypes.Structure):  # gasnet_handlerentry_t
    _fields_ = [("index", ctypes.c_uint8), ("function", ctypes.c_void_p)]


class Segment(ctypes.Structure):  # gasnet_seginfo_t
    _fields_ = [("addr", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Line(ctypes.Structure):
    _fields_ = [("hop", ctypes.c_uint32), ("sum", ctypes.c_uint32)]


gasnet = ctypes.CDLL(os.environ.get("GASNET_LIBRARY", "libgasnet-smp-par.so"))
gasnet.gasnet_attach.argtypes = [ctypes.POINTER(Handler), ctypes.c_int, ctypes.c_size_t,
                                 ctypes.c_size_t]
gasnet.gasnet_get_bulk.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p,
                                   ctypes.c_size_t]
gasnet.gasnet_get_bulk.restype = None

message = None  # (hop, sum), once it is here


# Handlers may not send requests: the main program sends the message on.
@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
def on_message(_token, hop, total):
    global message
    message = (hop, total)


def barrier():
    gasnet.gasnet_barrier_notify(0, ANONYMOUS)
    gasnet.gasnet_barrier_wait(0, ANONYMOUS)


def send_on(handler, me, nodes, line):
    global message
    line.hop, line.sum = message[0] + 1, message[1] + me
    message = None
    if line.hop < ROUNDS * nodes:
        gasnet.gasnet_AMRequestShort2((me + 1) % nodes, handler, line.hop, line.sum)


def wrong_lines(node, nodes, segment):
    lines = (Line * ROUNDS)()
    gasnet.gasnet_get_bulk(lines, node, segment.addr, ctypes.sizeof(lines))
    turn = nodes * (nodes - 1) // 2
    return sum((line.hop, line.sum) != (i * nodes + node + 1, i * turn + node * (node + 1) // 2)
               for i, line in enumerate(lines))


def main():
    global message
    handlers = (Handler * 1)(Handler(0, ctypes.cast(on_message, ctypes.c_void_p)))
    if gasnet.gasnet_init(None, None) or gasnet.gasnet_attach(handlers, 1, PAGE, 0):
        sys.exit(1)
    me, nodes = gasnet.gasnet_mynode(), gasnet.gasnet_nodes()
    segments = (Segment * nodes)()
    gasnet.gasnet_getSegmentInfo(segments, nodes)
    message = (0, 0) if me == 0 else None  # where it begins
    for line in (Line * ROUNDS).from_address(segments[me].addr):
        while message is None:
            gasnet.gasnet_AMPoll()
        send_on(handlers[0].index, me, nodes, line)
    barrier()
    wrong = sum(wrong_lines(n, nodes, segments[n]) for n in range(nodes)) if me == 0 else 0
    if me == 0:
        result = "wrong" if wrong else "all sums are right"
        print(f"{nodes} nodes, {ROUNDS} times round: {result}", flush=True)
    barrier()
    gasnet.gasnet_exit(int(wrong != 0))


main()
