// The memory that this process may take.
#pragma once

namespace foretoken {

/// Bytes: the least of what the machine has, what the process was limited to, and what its container may take.
/// Infinite where the system does not tell.
[[nodiscard]] double memory_limit();

}  // namespace foretoken
