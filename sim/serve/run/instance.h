// One copy of the model with its continuous batches, its queue and its cache.
//
// A pipeline of p stages has p lanes. Each lane is a batch of its own, and the lanes follow one another through the
// stages. A pass takes every decoding request of its lane one step further, and prompts in what is left of the token
// budget. All decoding requests of a lane advance together, so a pass costs the same time to simulate for any batch:
// ends are kept in a heap by step, and pages are counted by the step at which a request fills its last one.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "sim/serve/memory.h"
#include "sim/serve/passes.h"
#include "sim/serve/run/request.h"

namespace foretoken::serve {

using RequestIndex = std::uint32_t;

/// The part of serving that an instance does.
enum class Role : std::uint8_t { kWhole, kPrefill, kDecode };

/// Requests that ended, or whose prompt did, at one instant.
struct Landed {
  std::vector<RequestIndex> finished, prefilled;
};

/// The load of an instance when a pass starts.
struct Load {
  des::Instant at{}, end{};
  std::int64_t decoding = 0, prompt_tokens = 0, running = 0, waiting = 0, used_pages = 0;
  int lane = 0;
};

/// Counts of a whole run.
struct InstanceCounts {
  std::int64_t passes = 0, preemptions = 0, peak_pages = 0, peak_running = 0;
};

/// Returns the pages that the shared beginning of all prompts takes.
[[nodiscard]] std::int64_t shared_pages(const std::vector<Request>& requests, std::int64_t block);

class Instance {
 public:
  /// `shared` is the pages of the beginning that all prompts share: shared_pages().
  Instance(const Service& service, Role role, const Memory& memory, PassTimes& times, std::vector<Request>& requests,
           std::int64_t shared, const Degrees& degrees);

  /// Puts a request at the end of the queue.
  void enqueue(RequestIndex request) {
    waiting_.push_back(request);
    if (service_.engine.overlaps_host && flies()) ++unseen_;
    settled_ = false;
  }
  /// Returns the next instant at which a pass ends or can start; kNever without work.
  [[nodiscard]] des::Instant next(des::Instant now) const;
  /// Returns the tokens for users of the passes that are due.
  [[nodiscard]] double due_tokens(des::Instant now) const;
  /// Ends the passes that are due. Users have their tokens at `seen`.
  void land(des::Instant now, des::Instant seen, Landed& landed);
  /// Starts every pass that can start now. Returns the load of each pass through `loads` where it is not null.
  void start(des::Instant now, std::vector<Load>* loads);
  [[nodiscard]] std::int64_t load() const { return running_ + static_cast<std::int64_t>(waiting_.size()); }
  [[nodiscard]] const InstanceCounts& counts() const { return counts_; }
  [[nodiscard]] std::int64_t pages() const { return pages_; }

 private:
  struct Prompt {
    RequestIndex request;
    std::int64_t tokens;  ///< in the pass that flies
  };
  struct End {
    std::int64_t step;
    RequestIndex request;
    friend bool operator>(const End& a, const End& b) {
      return std::pair(a.step, a.request) > std::pair(b.step, b.request);
    }
  };
  struct Lane {
    bool flies = false, decodes = false;  ///< in the pass that flies
    des::Instant end{};
    PassShape pass;
    std::vector<Prompt> prompts;          ///< of the pass that flies
    std::deque<RequestIndex> prefilling;  ///< admitted, and not yet written to the cache
    std::vector<RequestIndex> order;      ///< decoding requests by admission, among some that have left
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<std::int64_t> filling;  ///< decoding requests by (own tokens - step) mod block
    std::int64_t step = 0, decoding = 0;
    double cached = 0;

    [[nodiscard]] std::int64_t requests() const { return decoding + static_cast<std::int64_t>(prefilling.size()); }
  };

  [[nodiscard]] std::int64_t pages_of(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t admission_pages(const Request& request) const;
  [[nodiscard]] bool has_work(const Lane& lane) const;
  [[nodiscard]] bool reserves() const;
  void take(std::int64_t pages);
  void join(Lane& lane, RequestIndex request);
  void leave(Lane& lane, RequestIndex request);
  void preempt(Lane& lane);
  void grow(Lane& lane);
  void add_prompt(Lane& lane, RequestIndex request, std::int64_t& budget);
  void admit(Lane& lane, std::int64_t& budget);
  void admit_cached(Lane& lane);
  [[nodiscard]] bool may_admit(const Lane& lane) const;
  [[nodiscard]] double generated_now(const Lane& lane, const Request& request) const;
  [[nodiscard]] bool compose(Lane& lane);
  [[nodiscard]] Lane* composed_lane();
  [[nodiscard]] Lane* lane_with_work();
  [[nodiscard]] bool flies() const;
  [[nodiscard]] std::int64_t steps_left(const Request& request) const;
  [[nodiscard]] bool decodes_in(const Lane& lane, const Request& request) const;
  void fly(Lane& lane, des::Instant now);
  void land_prompts(Lane& lane, des::Instant seen, Landed& landed);
  void land_decoding(Lane& lane, des::Instant seen, Landed& landed);

  const Service& service_;
  Role role_;
  PassTimes& times_;
  std::vector<Request>& requests_;
  std::int64_t pages_, watermark_, used_ = 0, running_ = 0, block_;
  std::int64_t chunk_;             // most tokens of a prompt in a pass: those of its attention group
  std::int64_t budget_, at_once_;  // of all attention groups
  double tokens_a_pass_ = 1;
  std::vector<Lane> lanes_;
  std::vector<Lane*> ready_;        // to compose, longest wait first
  std::vector<des::Instant> free_;  // when each stage is free
  std::vector<des::Duration> stage_times_;
  std::deque<RequestIndex> waiting_;
  std::int64_t unseen_ = 0;  // requests at the end of the queue that came after the next pass was composed
  bool settled_ = false;     // nothing can start until a pass ends or a request comes
  InstanceCounts counts_;
};

}  // namespace foretoken::serve
