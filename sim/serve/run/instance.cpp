// Runs continuous batches: admission, pages of the cache, preemption, and the flight of passes through the stages.
#include "sim/serve/run/instance.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::serve {
namespace {

constexpr std::int64_t kSpareOrder = 64;  // entries that may have ended

std::int64_t modulo(std::int64_t value, std::int64_t base) { return ((value % base) + base) % base; }

}  // namespace

std::int64_t shared_pages(const std::vector<Request>& requests, std::int64_t block) {
  std::int64_t longest = 0;
  for (const Request& request : requests) longest = std::max<std::int64_t>(longest, request.prefix);
  return (longest + block - 1) / block;
}

Instance::Instance(const Service& service, Role role, const Memory& memory, PassTimes& times,
                   std::vector<Request>& requests, std::int64_t shared, const Degrees& degrees)
    : service_(service),
      role_(role),
      times_(times),
      requests_(requests),
      pages_(memory.pages),
      watermark_(static_cast<std::int64_t>(service.engine.watermark * real(memory.pages))),
      used_(shared),
      block_(service.engine.block_tokens),
      chunk_(group_tokens(service.engine, degrees)),
      budget_(chunk_ * degrees.attention_data),
      at_once_(group_sequences(service.engine, degrees) * degrees.attention_data),
      lanes_(static_cast<std::size_t>(times.stages())),
      free_(static_cast<std::size_t>(times.stages())) {
  if (service.speculation) tokens_a_pass_ = service.speculation->tokens_a_pass();
  for (Lane& lane : lanes_) lane.filling.assign(static_cast<std::size_t>(block_), 0);
}

std::int64_t Instance::pages_of(std::int64_t tokens) const { return (tokens + block_ - 1) / block_; }

// Tokens that speculation checks are written before it is known whether they stay. Their pages are kept from the start.
bool Instance::reserves() const {
  return service_.engine.capacity_policy == CapacityPolicy::kGuaranteedNoEvict || service_.speculation.has_value();
}

std::int64_t Instance::admission_pages(const Request& request) const {
  if (reserves()) {
    const std::int64_t checked = service_.speculation ? service_.speculation->tokens : 0;
    return pages_of(std::int64_t{request.input} - request.prefix + request.output + checked);
  }
  return pages_of(request.own_tokens() - (request.cached ? 1 : 0));
}

bool Instance::has_work(const Lane& lane) const {
  return lane.decoding > 0 || !lane.prefilling.empty() || !waiting_.empty();
}

void Instance::take(std::int64_t pages) {
  used_ += pages;
  expects(used_ <= pages_ && used_ >= 0, "the cache holds no more pages than it has");
  counts_.peak_pages = std::max(counts_.peak_pages, used_);
}

double Instance::generated_now(const Lane& lane, const Request& request) const {
  return request.generated + tokens_a_pass_ * real(lane.step - request.joined);
}

// Returns the passes until the last token of a request that joins now.
std::int64_t Instance::steps_left(const Request& request) const {
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(std::ceil((request.output - request.generated) / tokens_a_pass_ - kRounding));
}

bool Instance::decodes_in(const Lane& lane, const Request& request) const {
  return request.finish == des::kNever && request.joined >= 0 && request.lane == &lane - lanes_.data();
}

void Instance::join(Lane& lane, RequestIndex index) {
  Request& request = requests_[index];
  request.joined = lane.step;
  request.lane = static_cast<std::int32_t>(&lane - lanes_.data());
  lane.ends.push({lane.step + steps_left(request), index});
  if (static_cast<std::int64_t>(lane.order.size()) > 2 * lane.decoding + kSpareOrder)
    std::erase_if(lane.order, [&](RequestIndex other) { return !decodes_in(lane, requests_[other]); });
  lane.order.push_back(index);
  lane.filling[static_cast<std::size_t>(modulo(request.own_tokens() - 1 - lane.step, block_))] += 1;
  lane.cached += request.input + request.generated;
  ++lane.decoding;
}

// Takes a decoding request out of its lane and frees its pages.
void Instance::leave(Lane& lane, RequestIndex index) {
  Request& request = requests_[index];
  const std::int64_t phase = modulo(request.own_tokens() - 1 - request.joined, block_);
  lane.filling[static_cast<std::size_t>(phase)] -= 1;
  const double generated = generated_now(lane, request);
  lane.cached -= request.input + generated;
  --lane.decoding;
  --running_;
  if (lane.decoding == 0) lane.cached = 0;
  const std::int64_t steps = lane.step - request.joined;
  take(-(reserves() ? admission_pages(request) : pages_of(request.own_tokens() + steps - 1)));
  request.generated = static_cast<std::int32_t>(std::min<double>(request.output, std::floor(generated)));
}

// The newest decoding request goes back to the head of the queue. It will write all its tokens again.
void Instance::preempt(Lane& lane) {
  while (!decodes_in(lane, requests_[lane.order.back()])) lane.order.pop_back();
  const RequestIndex index = lane.order.back();
  lane.order.pop_back();
  leave(lane, index);
  Request& request = requests_[index];
  request.joined = -1;
  request.prefilled = 0;
  request.cached = false;
  waiting_.push_front(index);
  ++counts_.preemptions;
}

// Gives a page to each decoding request that has filled its last one.
void Instance::grow(Lane& lane) {
  if (reserves()) return;
  const auto full = static_cast<std::size_t>(modulo(-lane.step, block_));
  while (lane.decoding > 0 && lane.filling[full] > pages_ - used_) preempt(lane);
  take(lane.filling[full]);
}

void Instance::add_prompt(Lane& lane, RequestIndex index, std::int64_t& budget) {
  const Request& request = requests_[index];
  const std::int64_t left = request.own_tokens() - request.prefilled;
  const std::int64_t tokens = service_.engine.chunks_prompts ? std::min({left, budget, chunk_}) : left;
  budget -= tokens;
  lane.prompts.push_back({index, tokens});
  PromptChunk chunk{
      .tokens = tokens, .before = std::int64_t{request.prefix} + request.prefilled, .last = tokens == left};
  std::vector<PromptChunk>& chunks = lane.pass.prompts;
  const bool alike = !chunks.empty() && chunks.back().tokens == chunk.tokens && chunks.back().before == chunk.before &&
                     chunks.back().last == chunk.last;
  if (alike)
    ++chunks.back().sequences;
  else
    chunks.push_back(chunk);
}

// Lanes share the requests evenly.
bool Instance::may_admit(const Lane& lane) const {
  if (static_cast<std::int64_t>(waiting_.size()) <= unseen_ || running_ >= at_once_) return false;
  const auto lanes = static_cast<std::int64_t>(lanes_.size());
  if (lane.requests() >= (load() + lanes - 1) / lanes) return false;
  const std::int64_t kept = running_ > 0 ? watermark_ : 0;
  return admission_pages(requests_[waiting_.front()]) <= pages_ - used_ - kept;
}

void Instance::admit_cached(Lane& lane) {
  while (may_admit(lane) && requests_[waiting_.front()].cached) {
    const RequestIndex index = waiting_.front();
    waiting_.pop_front();
    take(admission_pages(requests_[index]));
    ++running_;
    join(lane, index);
  }
}

void Instance::admit(Lane& lane, std::int64_t& budget) {
  while (budget > 0 && may_admit(lane)) {
    const RequestIndex index = waiting_.front();
    const Request& request = requests_[index];
    if (request.cached) return;
    const bool whole = !service_.engine.chunks_prompts;
    if (whole && request.own_tokens() > budget && !lane.pass.prompts.empty()) return;
    waiting_.pop_front();
    take(admission_pages(request));
    ++running_;
    lane.prefilling.push_back(index);
    add_prompt(lane, index, budget);
  }
}

// Returns false when the lane has nothing to do now.
bool Instance::compose(Lane& lane) {
  const Engine& engine = service_.engine;
  lane.pass.prompts.clear();
  lane.pass.decoding = 0;
  lane.pass.checked = service_.speculation ? service_.speculation->tokens + 1 : 1;
  lane.prompts.clear();
  lane.decodes = false;
  admit_cached(lane);
  const auto decode = [&] {
    grow(lane);
    lane.pass.decoding = lane.decoding;
    lane.pass.cached = lane.cached;
    lane.decodes = lane.decoding > 0;
  };
  if (engine.mixes_phases) decode();
  std::int64_t budget = budget_ - lane.pass.decoding * lane.pass.checked;
  for (const RequestIndex index : lane.prefilling)
    if (budget > 0) add_prompt(lane, index, budget);
  admit(lane, budget);
  if (!engine.mixes_phases && lane.prompts.empty()) decode();
  return lane.decodes || !lane.prompts.empty();
}

void Instance::fly(Lane& lane, des::Instant now) {
  times_.time(lane.pass, stage_times_);
  const des::Duration message = times_.message(lane.pass.tokens());
  des::Instant at = now;
  for (std::size_t stage = 0; stage < free_.size(); ++stage) {
    des::Duration time = stage_times_[stage];
    if (service_.speculation && lane.decodes) {
      const double draft = service_.speculation->draft_share * service_.speculation->tokens;
      time += des::Duration{std::llround(draft * static_cast<double>(time.ps))};
    }
    if (stage > 0) at = at + message;
    at = later(std::max(at, free_[stage]), time);
    free_[stage] = at;
  }
  lane.end = at;
  lane.flies = true;
  unseen_ = 0;
  ++counts_.passes;
  counts_.peak_running = std::max(counts_.peak_running, running_);
}

des::Instant Instance::next(des::Instant now) const {
  des::Instant next = des::kNever;
  bool ready = false;
  for (const Lane& lane : lanes_) {
    if (lane.flies)
      next = std::min(next, lane.end);
    else
      ready = ready || has_work(lane);
  }
  if (ready && !settled_) next = std::min(next, std::max(now, free_[0]));
  return next;
}

bool Instance::flies() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.flies; });
}

// Returns the lane whose pass starts next; nullptr when there is none. A host that composes a pass ahead has not seen
// the newest requests. It sees them when the device has nothing to do.
Instance::Lane* Instance::composed_lane() {
  Lane* const lane = lane_with_work();
  if (lane != nullptr || unseen_ == 0 || flies()) return lane;
  unseen_ = 0;
  return lane_with_work();
}

// Returns the lane that has waited longest, and can start a pass; nullptr when there is none.
Instance::Lane* Instance::lane_with_work() {
  ready_.clear();
  for (Lane& lane : lanes_) {
    if (lane.flies || !has_work(lane)) continue;
    const auto behind = std::upper_bound(ready_.begin(), ready_.end(), &lane,
                                         [](const Lane* a, const Lane* b) { return a->end < b->end; });
    ready_.insert(behind, &lane);
  }
  for (Lane* lane : ready_)
    if (compose(*lane)) return lane;
  return nullptr;
}

void Instance::start(des::Instant now, std::vector<Load>* loads) {
  while (free_[0] <= now && !settled_) {
    Lane* const lane = composed_lane();
    settled_ = lane == nullptr;
    if (settled_) return;
    fly(*lane, now);
    if (loads != nullptr)
      loads->push_back({.at = now,
                        .end = lane->end,
                        .decoding = lane->pass.decoding,
                        .prompt_tokens = lane->pass.tokens() - lane->pass.decoding * lane->pass.checked,
                        .running = running_,
                        .waiting = static_cast<std::int64_t>(waiting_.size()),
                        .used_pages = used_,
                        .lane = static_cast<int>(lane - lanes_.data())});
  }
}

void Instance::land_decoding(Lane& lane, des::Instant seen, Landed& landed) {
  if (!lane.decodes) return;
  ++lane.step;
  lane.cached += tokens_a_pass_ * real(lane.decoding);
  while (!lane.ends.empty() && lane.ends.top().step <= lane.step) {
    const auto [step, index] = lane.ends.top();
    lane.ends.pop();
    Request& request = requests_[index];
    if (!decodes_in(lane, request) || request.joined + steps_left(request) != step) continue;  // preempted since
    leave(lane, index);
    request.generated = request.output;
    request.finish = seen;
    landed.finished.push_back(index);
  }
}

void Instance::land_prompts(Lane& lane, des::Instant seen, Landed& landed) {
  for (const Prompt& prompt : lane.prompts) {
    Request& request = requests_[prompt.request];
    request.prefilled += static_cast<std::int32_t>(prompt.tokens);
    if (request.prefilled < request.own_tokens()) continue;
    lane.prefilling.pop_front();
    const std::int64_t pages = admission_pages(request);
    ++request.generated;
    if (request.first == des::kNever) request.first = seen;
    if (request.generated < request.output && role_ != Role::kPrefill) {
      join(lane, prompt.request);
      continue;
    }
    take(-pages);
    --running_;
    if (request.generated < request.output) {
      landed.prefilled.push_back(prompt.request);
    } else {
      request.finish = seen;
      landed.finished.push_back(prompt.request);
    }
  }
}

double Instance::due_tokens(des::Instant now) const {
  double tokens = 0;
  for (const Lane& lane : lanes_) {
    if (!lane.flies || lane.end > now) continue;
    if (lane.decodes) tokens += tokens_a_pass_ * real(lane.decoding);
    for (const PromptChunk& chunk : lane.pass.prompts)
      if (chunk.last) tokens += real(chunk.sequences);
  }
  return tokens;
}

void Instance::land(des::Instant now, des::Instant seen, Landed& landed) {
  for (Lane& lane : lanes_) {
    if (!lane.flies || lane.end > now) continue;
    lane.flies = false;
    settled_ = false;
    land_decoding(lane, seen, landed);
    land_prompts(lane, seen, landed);
  }
}

}  // namespace foretoken::serve
