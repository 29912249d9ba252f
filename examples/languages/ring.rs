// SPDX-License-Identifier: BSD-3-Clause
//! examples/ring.c in Rust: a message travels round a ring of nodes, and each node that it passes
//! writes a line into its own segment.
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const ROUNDS: u32 = 100;
const ANONYMOUS: c_int = 1; // GASNET_BARRIERFLAG_ANONYMOUS
const PAGE: usize = 4096; // GASNET_PAGESIZE

#[repr(C)]
struct Handler {
    index: u8,
    function: extern "C" fn(*mut c_void, i32, i32),
}

#[repr(C)]
#[derive(Clone)]
struct Segment {
    addr: *mut c_void,
    size: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct Line {
    hop: u32, // nodes that the message had passed, this one included
    sum: u32, // of their numbers
}

extern "C" {
    fn gasnet_init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int;
    fn gasnet_attach(table: *mut Handler, entries: c_int, bytes: usize, offset: usize) -> c_int;
    fn gasnet_mynode() -> u32;
    fn gasnet_nodes() -> u32;
    fn gasnet_getSegmentInfo(table: *mut Segment, entries: c_int) -> c_int;
    fn gasnet_AMRequestShort2(dest: u32, handler: u8, a0: i32, a1: i32) -> c_int;
    fn gasnet_AMPoll() -> c_int;
    fn gasnet_get_bulk(dest: *mut c_void, node: u32, src: *mut c_void, bytes: usize);
    fn gasnet_barrier_notify(id: c_int, flags: c_int);
    fn gasnet_barrier_wait(id: c_int, flags: c_int) -> c_int;
    fn gasnet_exit(code: c_int) -> !;
}

// The message, as it came by here.
static WAITING: AtomicBool = AtomicBool::new(false);
static HOP: AtomicU32 = AtomicU32::new(0);
static SUM: AtomicU32 = AtomicU32::new(0);

// Handlers may not send requests: the main program sends the message on.
extern "C" fn on_message(_token: *mut c_void, hop: i32, sum: i32) {
    HOP.store(hop as u32, Relaxed);
    SUM.store(sum as u32, Relaxed);
    WAITING.store(true, Relaxed);
}

fn barrier() {
    unsafe {
        gasnet_barrier_notify(0, ANONYMOUS);
        gasnet_barrier_wait(0, ANONYMOUS);
    }
}

fn wait_for_message() {
    while !WAITING.swap(false, Relaxed) {
        unsafe { gasnet_AMPoll() };
    }
}

fn wrong_lines(node: u32, nodes: u32, segment: &Segment) -> usize {
    let mut lines = [Line::default(); ROUNDS as usize];
    let bytes = std::mem::size_of_val(&lines);
    let turn = nodes * (nodes - 1) / 2;
    unsafe { gasnet_get_bulk(lines.as_mut_ptr().cast(), node, segment.addr, bytes) };
    (0u32..)
        .zip(lines)
        .filter(|&(i, line)| {
            line != Line { hop: i * nodes + node + 1, sum: i * turn + node * (node + 1) / 2 }
        })
        .count()
}

fn pass_on(handler: u8, me: u32, nodes: u32) -> Line {
    let line = Line { hop: HOP.load(Relaxed) + 1, sum: SUM.load(Relaxed) + me };
    if line.hop < ROUNDS * nodes {
        unsafe {
            gasnet_AMRequestShort2((me + 1) % nodes, handler, line.hop as i32, line.sum as i32)
        };
    }
    line
}

fn main() {
    let mut handlers = [Handler { index: 0, function: on_message }];
    unsafe {
        if gasnet_init(null_mut(), null_mut()) != 0
            || gasnet_attach(handlers.as_mut_ptr(), 1, PAGE, 0) != 0
        {
            std::process::exit(1);
        }
    }
    let (me, nodes) = unsafe { (gasnet_mynode(), gasnet_nodes()) };
    let mut segments = vec![Segment { addr: null_mut(), size: 0 }; nodes as usize];
    unsafe { gasnet_getSegmentInfo(segments.as_mut_ptr(), nodes as c_int) };
    let lines: *mut Line = segments[me as usize].addr.cast();

    WAITING.store(me == 0, Relaxed); // where it begins
    for passed in 0..ROUNDS as usize {
        wait_for_message();
        unsafe { lines.add(passed).write(pass_on(handlers[0].index, me, nodes)) };
    }
    barrier();
    let mut wrong = 0;
    if me == 0 {
        wrong = (0u32..).zip(&segments).map(|(n, s)| wrong_lines(n, nodes, s)).sum();
        let result = if wrong == 0 { "all sums are right" } else { "wrong" };
        println!("{nodes} nodes, {ROUNDS} times round: {result}");
    }
    barrier();
    unsafe { gasnet_exit((wrong != 0) as c_int) }
}
