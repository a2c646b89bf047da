// Reads the events of a trace one by one, so that a large file costs only the memory of its kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/import/trace/gpu_trace.h"
#include "sim/io/json/gunzip.h"

namespace foretoken::io::trace {
namespace {

constexpr std::size_t kDeepest = 64, kLongestWord = 400, kMostNames = 50'000;
constexpr double kLatest = 4e18;                          // nanoseconds
constexpr std::int64_t kLongestSpan = 1'000'000'000'000;  // nanoseconds; sums over all spans fit into 64 bits

constexpr const char* kFurther = "(kernels of further names)";
constexpr std::size_t kLongestValue = std::size_t{4} << 20;  // bytes between two quotes

// One event while it is read.
struct Event {
  std::string phase, category, name;
  std::optional<std::int64_t> begin, length, device;
};

// Takes the members of events, and of the few objects beside them. Returns false to stop at the first defect.
class TraceHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  GpuTrace trace;
  bool has_events = false, too_long = false;
  std::string defect;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    constexpr number_integer_t kMost = 4'000'000'000'000'000;  // microseconds
    return number(static_cast<double>(value), std::clamp(value, -kMost, kMost) * 1000);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number_integer(static_cast<number_integer_t>(std::min<number_unsigned_t>(value, INT64_MAX)));
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    return number(value, nanoseconds_of(value, digits));
  }
  bool string(string_t& value) override {
    if (depth_ == kOfEvent && in_events_) {
      if (key_ == "ph") event_.phase = value.substr(0, kLongestWord);
      if (key_ == "cat") event_.category = value.substr(0, kLongestWord);
      if (key_ == "name") event_.name = value.substr(0, kLongestWord);
    }
    if (depth_ == kOfEvent && in_devices_ && key_ == "name" && trace.gpu.empty()) trace.gpu = value.substr(0, 80);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (depth_ == kOfEvent - 1 && in_events_) event_ = {};
    return deeper();
  }
  bool key(string_t& value) override {
    key_ = value.substr(0, kLongestWord);
    if (depth_ == 1) outer_ = key_;
    return true;
  }
  bool end_object() override {
    if (depth_ == kOfEvent && in_events_ && !take()) return false;
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1) {
      in_events_ = outer_ == "traceEvents";
      in_devices_ = outer_ == "deviceProperties";
      has_events = has_events || in_events_;
    }
    return deeper();
  }
  bool end_array() override {
    if (--depth_ == 1) in_events_ = in_devices_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    defect = fmt::format("is no JSON from byte {} on", position);
    return false;
  }

 private:
  static constexpr std::size_t kOfEvent = 3;  // inside an object inside the list inside the document

  // Reads microseconds with their decimals as nanoseconds: a double has not enough digits for clocks since 1970.
  static std::int64_t nanoseconds_of(double value, const std::string& digits) {
    if (!(std::abs(value) < kLatest / 1000)) return 0;
    std::string_view text = digits;
    const auto whole = take_number<std::int64_t>(text);
    if (!whole || !text.starts_with('.') || text.find_first_of("eE") != text.npos)
      return static_cast<std::int64_t>(value * 1000);
    std::int64_t part = 0, place = 100;
    for (std::size_t at = 1; at < text.size() && place > 0; ++at, place /= 10) part += place * (text[at] - '0');
    return *whole * 1000 + (digits.starts_with('-') ? -part : part);
  }

  bool number(double value, std::int64_t nanoseconds) {
    const bool small = std::abs(value) < 1e9;
    if (depth_ == kOfEvent && in_events_) {
      if (std::abs(value) < kLatest / 1000 && key_ == "ts") event_.begin = nanoseconds;
      if (std::abs(value) < kLatest / 1000 && key_ == "dur") event_.length = nanoseconds;
    }
    if (depth_ == kOfEvent + 1 && in_events_ && key_ == "device" && small)
      event_.device = static_cast<std::int64_t>(value);
    if (depth_ == 2 && outer_ == "distributedInfo" && small) {
      if (key_ == "rank") trace.rank = static_cast<std::int64_t>(value);
      if (key_ == "world_size") trace.world_size = static_cast<std::int64_t>(value);
    }
    return true;
  }

  bool deeper() {
    if (++depth_ <= kDeepest) return true;
    defect = fmt::format("is nested deeper than {}", kDeepest);
    return false;
  }

  bool take() {
    if (event_.phase != "X" || !event_.begin || !event_.length) return true;
    if (*event_.length < 0 || *event_.length > kLongestSpan) return true;
    const bool kernel = event_.category == "kernel" || event_.category == "Kernel";
    const bool copy = event_.category == "gpu_memcpy" || event_.category == "gpu_memset";
    const bool step = event_.category == "user_annotation" && event_.name.starts_with("ProfilerStep#");
    if (!kernel && !copy && !step) return true;
    if (step && *event_.length == 0) return true;  // marks no time
    if (trace.spans.size() + trace.steps.size() == kMostSpans) {
      too_long = true;
      return false;
    }
    const std::uint32_t name = id_of_name(step ? std::string("ProfilerStep") : event_.name);
    const Span span{*event_.begin, *event_.begin + *event_.length, name,
                    static_cast<std::int32_t>(event_.device.value_or(0)), works_[name]};
    (step ? trace.steps : trace.spans).push_back(span);
    return true;
  }

  std::uint32_t id_of_name(const std::string& name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    if (trace.names.size() == kMostNames && name != kFurther) return id_of_name(kFurther);
    const auto id = static_cast<std::uint32_t>(trace.names.size());
    trace.names.push_back(name);
    works_.push_back(work_of(name));
    ids_.emplace(name, id);
    return id;
  }

  std::size_t depth_ = 0;
  bool in_events_ = false, in_devices_ = false;
  std::string key_, outer_;
  Event event_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // looked up only
  std::vector<Work> works_;
};

// Keeps the spans of the GPU with the most, in the order of their starts, and counts from the first of all.
void tidy(GpuTrace& trace) {
  std::map<std::int32_t, std::size_t> counts;
  for (const Span& span : trace.spans) ++counts[span.device];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::erase_if(trace.spans, [&](const Span& span) { return span.device != most->first; });
  const auto earlier = [](const Span& a, const Span& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  };
  std::sort(trace.spans.begin(), trace.spans.end(), earlier);
  std::sort(trace.steps.begin(), trace.steps.end(), earlier);
  std::int64_t start = trace.spans.front().begin;
  if (!trace.steps.empty()) start = std::min(start, trace.steps.front().begin);
  for (std::vector<Span>* spans : {&trace.spans, &trace.steps})
    for (Span& span : *spans) {
      span.begin -= start;
      span.end -= start;
    }
}

template <class... Input>
std::optional<GpuTrace> read_events(const std::string& file, Findings& findings, Input&&... input) {
  TraceHandler handler;
  const bool whole = nlohmann::json::sax_parse(std::forward<Input>(input)..., &handler);
  const auto refuse = [&](std::string why) {
    findings.complaints.push_back({file, "", std::move(why)});
    return std::nullopt;
  };
  if (handler.too_long)
    return refuse(fmt::format("has more than {} kernels; expected the trace of a few steps of one rank", kMostSpans));
  if (!whole) return refuse(handler.defect + "; expected a trace of the PyTorch profiler");
  if (!handler.has_events) return refuse("has no traceEvents; expected a trace of the PyTorch profiler");
  if (handler.trace.spans.empty())
    return refuse("has no kernels of a GPU; expected a trace recorded with ProfilerActivity.CUDA");
  tidy(handler.trace);
  const auto lasts = [](const Span& span) { return span.end > span.begin; };
  if (std::none_of(handler.trace.spans.begin(), handler.trace.spans.end(), lasts))
    return refuse("has only kernels of 0 us; expected the trace of a step");
  return std::move(handler.trace);
}

// A value is gathered in memory before it is passed on, so that an endless one must be found before.
bool has_endless_value(std::istream& in) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::string block(kBlock, '\0');
  std::size_t since = 0;
  while (in.read(block.data(), static_cast<std::streamsize>(kBlock)), in.gcount() > 0) {
    const std::string_view read(block.data(), static_cast<std::size_t>(in.gcount()));
    const std::size_t first = read.find('"');
    if (since + std::min(first, read.size()) > kLongestValue) return true;
    since = first == read.npos ? since + read.size() : read.size() - 1 - read.rfind('"');
  }
  in.clear();
  in.seekg(0);
  return false;
}

}  // namespace

bool looks_like_trace(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  constexpr std::size_t kFront = 4096;
  std::string front(kFront, '\0');
  in.read(front.data(), static_cast<std::streamsize>(kFront));
  front.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  const std::string name = path.filename().string();
  if (is_gzip(front)) return name.ends_with(".json.gz") || name.ends_with(".trace.gz");
  const std::size_t first = front.find_first_not_of(" \t\r\n");
  if (first == front.npos || front[first] != '{') return false;
  return name.ends_with(".json") || front.find("\"traceEvents\"") != front.npos ||
         front.find("\"schemaVersion\"") != front.npos;
}

std::optional<GpuTrace> read_trace_text(std::string_view text, const std::string& file, Findings& findings) {
  return read_events(file, findings, text.begin(), text.end());
}

std::optional<GpuTrace> read_trace_file(const std::filesystem::path& path, Findings& findings) {
  const std::string name = printable(path.string());
  const auto refuse_long = [&](std::size_t most, const char* what) -> std::optional<GpuTrace> {
    findings.complaints.push_back(
        {name, "", fmt::format("{} more than {} MiB; unpack it, or profile fewer steps", what, most >> 20U)});
    return std::nullopt;
  };
  std::ifstream in(path, std::ios::binary);
  if (in.peek() == 0x1f) {
    constexpr std::size_t kMostUnpacked = std::size_t{128} << 20, kMostPacked = kMostUnpacked / 4;
    if (std::filesystem::file_size(path) > kMostPacked) return refuse_long(kMostPacked, "has");
    const std::string packed{std::istreambuf_iterator<char>(in), {}};
    const std::optional<std::string> text = gunzip(packed, kMostUnpacked);
    if (text && text->size() <= kMostUnpacked) return read_trace_text(*text, name, findings);
    if (text) return refuse_long(kMostUnpacked, "unpacks to");
    findings.complaints.push_back(
        {name, "", "is gzip that is broken or cut short; expected a trace of the PyTorch profiler"});
    return std::nullopt;
  }
  if (has_endless_value(in)) {
    findings.complaints.push_back(
        {name, "", "has a value of more than 4 MiB; expected a trace of the PyTorch profiler"});
    return std::nullopt;
  }
  return read_events(name, findings, in);
}

}  // namespace foretoken::io::trace
