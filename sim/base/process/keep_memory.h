// Asks the allocator to hold on to freed memory.
#pragma once

namespace foretoken {

/// Keeps freed memory for the next use. Task graphs of megabytes come and go. Without this call the system clears every
/// page that it gets back, and threads wait for that. Under a small limit of address space all threads share one heap.
/// Does nothing without the GNU C library. Call it in main(), before any work.
void keep_freed_memory();

}  // namespace foretoken
