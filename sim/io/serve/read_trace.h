// Reads a trace of requests: lines of CSV or of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/node.h"
#include "sim/serve/service.h"

namespace foretoken::io {

/// Reads the requests of a trace, sorted by arrival, of at most ten million lines:
///
///   arrival_s,input_tokens,output_tokens                        a heading and lines of CSV, or
///   {"timestamp": 27482, "input_length": 6955, "output_length": 52, ...}    Mooncake's JSON lines, in milliseconds
///
/// Complaints call the text `file`, and name the line of the first mistake.
[[nodiscard]] std::vector<serve::TracedRequest> read_trace(std::string_view text, const std::string& file,
                                                           Findings& findings);

}  // namespace foretoken::io
