// The heap of a verb that holds a large program.
#pragma once

namespace ampc {

// A program of a million ops is a gigabyte of small objects, and a sixth of its conversion would be page faults: from here on the heap lies
// in large pages where the system has them, grows in large steps and keeps what is freed. Call once, before threads are started. Never
// fails: at worst nothing changes.
void PrepareHeapForLargeProgram();

}  // namespace ampc
