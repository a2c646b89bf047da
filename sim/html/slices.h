// The bars of a pipeline, packed for the page: a few bytes each.
#pragma once

#include <cstdint>
#include <string>

#include "sim/report/gantt.h"

namespace foretoken::html {

/// The bars of all rows, work then communication, as base64 of this (timeline_data.js reads it):
/// for each row and lane the number of bars, and for each bar a byte of flags and activity, then what the flags do not
/// say: chunk, micro-batch, distance from the end of the bar before, duration. Numbers are varints of 7 bits a byte,
/// low bits first; signed ones are zigzag coded. Times are whole multiples of `unit`.
[[nodiscard]] std::string packed_slices(const report::Gantt& gantt, des::Duration unit);

/// A power of ten of picoseconds, at most 1/2^26 of `length`: finer than any screen can be zoomed to be of use.
[[nodiscard]] des::Duration slice_unit(des::Duration length);

}  // namespace foretoken::html
