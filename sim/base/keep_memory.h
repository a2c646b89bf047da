// How the allocator treats what a program frees.
#pragma once

namespace foretoken {

/// Keeps freed memory for the next use. Task graphs of megabytes come and go; memory that goes back to the system each
/// time is cleared anew, and threads wait for each other meanwhile. Does nothing without the GNU C library. For main(),
/// before any work.
void keep_freed_memory();

}  // namespace foretoken
