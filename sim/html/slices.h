// Packs the bars of a pipeline for the page: a few bytes each.
#pragma once

#include <cstdint>
#include <string>

#include "sim/report/gantt.h"

namespace foretoken::html {

/// Packs the bars of all rows, work then communication, as base64 (timeline_data.js reads it). Each row and lane has
/// the number of its bars, then the bars. A bar is a byte of flags and activity, then the values that its flags leave
/// open: chunk, micro-batch, distance from the end of the bar before, duration. Numbers are varints of 7 bits a byte,
/// low bits first; signed ones are zigzag coded. Times are whole multiples of `unit`.
[[nodiscard]] std::string packed_slices(const report::Gantt& gantt, des::Duration unit);

/// Returns a power of ten of picoseconds, at most 1/2^26 of `length`: finer than any useful zoom.
[[nodiscard]] des::Duration slice_unit(des::Duration length);

}  // namespace foretoken::html
