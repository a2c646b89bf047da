// Tells tests that they run under the sanitizers, where seconds become minutes.
#pragma once

namespace foretoken {

#ifdef FORETOKEN_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// The reason of a test that is skipped there.
inline constexpr const char* kTakesMinutes = "takes minutes under the sanitizers; other tests walk the same code";

}  // namespace foretoken
