// How ranks of a job that has grown learn of a segment that gex_Segment_Attach attaches:
//
//     member of a team, in attach             all other ranks that are there
//     TELL address, size, file ------------>  record the segment; neighbours map it
//     counts the answers <------------------  TOLD
//
// A member returns when all ranks know its segment and it knows those of its team.
#ifndef AQ_SEGMENT_TELL_H
#define AQ_SEGMENT_TELL_H

// Handlers of the core; extended/layer_table.h has the others.
enum { AQ_HANDLER_SEGMENT_TELL = 55, AQ_HANDLER_SEGMENT_TOLD };

// Call at init, before any message can arrive: registers the handlers, and how segments are
// announced (aq_segment_tell_with). Ends the job if memory is out.
void aq_segment_tell_start(void);

#endif
