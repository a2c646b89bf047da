// Runs the events of a service: arrivals, ends of passes, transfers of caches.
//
// An instant is atomic, as in sim/des: all passes that end at it land first, then come the requests that arrive or are
// sent on at it, and then every pass starts that these allow.
#include "sim/serve/run/simulate.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <queue>
#include <tuple>

#include "sim/base/check.h"
#include "sim/serve/run/transfer.h"

namespace foretoken::serve {
namespace {

__extension__ using Wide = __int128;  // picoseconds times requests

/// Instances of one role with the times of their passes.
struct Fleet {
  Role role = Role::kWhole;
  std::vector<Instance> instances;
  std::vector<std::int64_t> expected{};  // requests of each whose caches are on their way
  std::size_t next = 0;                  // of equal instances the router takes the next one
  des::Instant front_free{};             // of the front ends, one for each instance

  [[nodiscard]] std::int64_t load_of(std::size_t instance) const {
    return instances[instance].load() + expected[instance];
  }
  /// Returns the instance with the fewest requests. Ties go round.
  std::size_t least_loaded() {
    std::size_t best = next % instances.size();
    for (std::size_t i = 1; i < instances.size() && load_of(best) > 0; ++i) {  // an idle one is found
      const std::size_t other = (next + i) % instances.size();
      if (load_of(other) < load_of(best)) best = other;
    }
    next = best + 1;
    return best;
  }
  /// Returns the instance that took the request.
  std::size_t enqueue(RequestIndex request) {
    const std::size_t chosen = least_loaded();
    instances[chosen].enqueue(request);
    return chosen;
  }
};

/// The next instant of each instance, and those that an instant concerns.
class Agenda {
 public:
  void add() { due_.push_back(des::kNever); }

  /// Marks an instance that something happens to now.
  void touch(std::size_t instance) { touched_.push_back(instance); }

  /// Sets the next instant of an instance.
  void set(std::size_t instance, des::Instant at) {
    if (due_[instance] == at) return;
    due_[instance] = at;
    if (at != des::kNever) queue_.push({at, instance});
  }

  [[nodiscard]] des::Instant next() {
    drop_old();
    return queue_.empty() ? des::kNever : std::get<0>(queue_.top());
  }

  /// Touches every instance that is due.
  void touch_due(des::Instant now) {
    for (drop_old(); !queue_.empty() && std::get<0>(queue_.top()) <= now; drop_old()) {
      touch(std::get<1>(queue_.top()));
      due_[std::get<1>(queue_.top())] = des::kNever;
    }
  }

  /// Returns the touched instances in their order.
  [[nodiscard]] const std::vector<std::size_t>& touched() {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    return touched_;
  }
  void forget_touched() { touched_.clear(); }

 private:
  using Entry = std::tuple<des::Instant, std::size_t>;

  void drop_old() {
    while (!queue_.empty() && due_[std::get<1>(queue_.top())] != std::get<0>(queue_.top())) queue_.pop();
  }

  std::vector<des::Instant> due_;
  std::vector<std::size_t> touched_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;  // with entries that are no longer due
};

class Simulation {
 public:
  Simulation(const Service& service, const PoolTimes& times, bool traces)
      : service_(service), traces_(traces), answer_(des::to_duration(service.engine.answer)) {
    run_.requests = requests_of(service);
    const std::vector<Pool> pools = pools_of(service);
    if (service.disaggregated) {
      add_fleet(Role::kPrefill, pools.front(), *times.front());
      add_fleet(Role::kDecode, pools.back(), *times.back());
      transfers_.emplace(service);
    } else {
      add_fleet(Role::kWhole, pools.front(), *times.front());
    }
    if (service.requests.kind == ArrivalKind::kClosed) next_user_ = service.requests.at_once;
  }

  Run run() {
    const auto all = static_cast<std::int64_t>(run_.requests.size());
    des::Instant now = next_event();
    const des::Instant begin = now;
    while (finished_ < all) {
      expects(now != des::kNever, "a service whose memory fits ends every request");
      count_to(now);
      land(now);
      deliver(now);
      start(now);
      now = next_event();
    }
    return finish(begin);
  }

 private:
  void add_fleet(Role role, const Pool& pool, PassTimes& times) {
    Fleet fleet{.role = role, .instances = {}};
    const Memory memory = memory_of(service_, pool);
    const std::int64_t shared = shared_pages(run_.requests, service_.engine.block_tokens);
    for (int i = 0; i < pool.instances(); ++i) {
      fleet.instances.emplace_back(service_, role, memory, times, run_.requests, shared, pool.degrees);
      agenda_.add();
    }
    fleet.expected.assign(fleet.instances.size(), 0);
    fleets_.push_back(std::move(fleet));
  }

  /// Returns the number of a fleet's first instance. Numbers run on from the first fleet to the second.
  [[nodiscard]] std::size_t first_of(const Fleet& fleet) const {
    return &fleet == &fleets_.front() ? 0 : fleets_.front().instances.size();
  }
  Fleet& fleet_of(std::size_t number) {
    return number < fleets_.front().instances.size() ? fleets_.front() : fleets_.back();
  }

  [[nodiscard]] des::Instant next_event() {
    des::Instant next = agenda_.next();
    if (arriving_ < open_arrivals()) next = std::min(next, run_.requests[arriving_].arrival);
    if (transfers_) next = std::min(next, transfers_->next());
    if (!entering_.empty()) next = std::min(next, std::get<0>(entering_.front()));
    if (!returning_.empty()) next = std::min(next, returning_.top());
    return next;
  }

  /// Requests whose arrival is known from the start.
  [[nodiscard]] std::size_t open_arrivals() const {
    if (service_.requests.kind != ArrivalKind::kClosed) return run_.requests.size();
    return std::min<std::size_t>(run_.requests.size(), static_cast<std::size_t>(service_.requests.at_once));
  }

  void land(des::Instant now) {
    agenda_.touch_due(now);
    due_ = agenda_.touched();
    for (const std::size_t number : due_) {
      Fleet& fleet = fleet_of(number);
      const std::size_t i = number - first_of(fleet);
      landed_.finished.clear();
      landed_.prefilled.clear();
      const des::Instant seen = answer(fleet, fleet.instances[i].due_tokens(now), now);
      fleet.instances[i].land(now, seen, landed_);
      finished_ += static_cast<std::int64_t>(landed_.finished.size());
      in_system_ -= static_cast<std::int64_t>(landed_.finished.size());
      area_ += static_cast<Wide>(landed_.finished.size()) * (seen - now).ps;
      if (!landed_.finished.empty()) last_seen_ = std::max(last_seen_, seen);
      for (const RequestIndex request : landed_.prefilled) send_cache(request, i, now);
      if (service_.requests.kind == ArrivalKind::kClosed)
        for (std::size_t user = 0; user < landed_.finished.size(); ++user) returning_.push(seen);
    }
  }

  /// Returns when users have so many tokens of a pass that ends now. A front end sends one after another.
  [[nodiscard]] des::Instant answer(Fleet& fleet, double tokens, des::Instant now) const {
    return later(through_front_end(fleet, tokens * service_.engine.answer_token, now), answer_);
  }

  /// Returns when the front ends of a fleet are through with work that comes now. They share it evenly.
  static des::Instant through_front_end(Fleet& fleet, Seconds work, des::Instant now) {
    if (work <= Seconds(0)) return now;
    fleet.front_free =
        later(std::max(fleet.front_free, now), des::to_duration(work / real(std::ssize(fleet.instances))));
    return fleet.front_free;
  }

  // The router chooses the instance that decodes when the prompt ends. Its shared prefix is there already.
  void send_cache(RequestIndex index, std::size_t instance, des::Instant now) {
    Request& request = run_.requests[index];
    request.cached = true;
    Fleet& decoding = fleets_.back();
    const std::size_t receiver = decoding.least_loaded();
    ++decoding.expected[receiver];
    const std::int64_t tokens = std::max<std::int64_t>(1, request.input - request.prefix);
    transfers_->send(
        {.request = index, .sender = instance, .receiver = receiver, .alone = transfer_time(service_, tokens)}, now);
  }

  void ask_again(des::Instant now) {
    if (next_user_ >= static_cast<std::int64_t>(run_.requests.size())) return;
    const auto index = static_cast<RequestIndex>(next_user_++);
    run_.requests[index].arrival = now;
    enter(index, now);
  }

  // The front ends of the instances take one request after another.
  void enter(RequestIndex index, des::Instant now) {
    ++in_system_;
    const Engine& engine = service_.engine;
    const Seconds work = engine.request + real(run_.requests[index].input) * engine.prompt_token;
    if (work <= Seconds(0)) return agenda_.touch(fleets_.front().enqueue(index));
    entering_.emplace_back(through_front_end(fleets_.front(), work, now), index);
  }

  void deliver(des::Instant now) {
    for (; !returning_.empty() && returning_.top() <= now; returning_.pop()) ask_again(now);
    for (; arriving_ < open_arrivals() && run_.requests[arriving_].arrival <= now; ++arriving_)
      enter(static_cast<RequestIndex>(arriving_), now);
    for (; !entering_.empty() && std::get<0>(entering_.front()) <= now; entering_.pop_front())
      agenda_.touch(fleets_.front().enqueue(std::get<1>(entering_.front())));
    if (!transfers_) return;
    arrived_.clear();
    transfers_->land(now, arrived_);
    for (const Transfer& transfer : arrived_) {
      --fleets_.back().expected[transfer.receiver];
      fleets_.back().instances[transfer.receiver].enqueue(transfer.request);
      agenda_.touch(first_of(fleets_.back()) + transfer.receiver);
    }
  }

  void start(des::Instant now) {
    for (const std::size_t number : agenda_.touched()) {
      Fleet& fleet = fleet_of(number);
      Instance& instance = fleet.instances[number - first_of(fleet)];
      loads_.clear();
      instance.start(now, traces_ ? &loads_ : nullptr);
      for (const Load& load : loads_) run_.traced.push_back({static_cast<int>(number), fleet.role, load});
      agenda_.set(number, instance.next(now));
    }
    agenda_.forget_touched();
  }

  void count_to(des::Instant now) {
    if (counted_ != des::kNever) area_ += static_cast<Wide>(in_system_) * (now - counted_).ps;
    counted_ = now;
  }

  Run finish(des::Instant begin) {
    run_.makespan = last_seen_ - begin;
    run_.request_seconds = static_cast<double>(area_) * 1e-12;
    for (const Fleet& fleet : fleets_)
      for (const Instance& instance : fleet.instances) {
        const InstanceCounts& counts = instance.counts();
        run_.passes += counts.passes;
        run_.preemptions += counts.preemptions;
        run_.peak_running = std::max(run_.peak_running, counts.peak_running);
        run_.peak_cache =
            std::max(run_.peak_cache, real(counts.peak_pages) / real(std::max<std::int64_t>(1, instance.pages())));
      }
    return std::move(run_);
  }

  using Entering = std::tuple<des::Instant, RequestIndex>;

  const Service& service_;
  bool traces_;
  Run run_;
  std::vector<Fleet> fleets_;
  Agenda agenda_;
  std::vector<std::size_t> due_;        // instances whose passes may end now
  std::optional<Transfers> transfers_;  // between the pools
  std::vector<Transfer> arrived_;
  des::Instant last_seen_{};       // of the last token that a user got
  std::deque<Entering> entering_;  // requests that the front end takes in
  des::Duration answer_;
  /// Users of a closed loop who have not got their last tokens yet.
  std::priority_queue<des::Instant, std::vector<des::Instant>, std::greater<>> returning_;
  std::size_t arriving_ = 0;
  std::int64_t next_user_ = 0, finished_ = 0, in_system_ = 0;
  des::Instant counted_ = des::kNever;
  Wide area_ = 0;
  Landed landed_;
  std::vector<Load> loads_;
};

}  // namespace

Run simulate(const Service& service, const PoolTimes& times, bool traces) {
  return Simulation(service, times, traces).run();
}

}  // namespace foretoken::serve
