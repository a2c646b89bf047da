// One invocation: its time limit, and the user's request to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "calibration/measure/sample_file.h"

namespace foretoken::measure {

/// Blocks the default action of SIGINT and SIGTERM for this thread and for threads that it starts later. A line being
/// measured can then be finished. asked() returns true once a signal came.
class StopSignals {
 public:
  StopSignals();
  [[nodiscard]] bool asked();

 private:
  bool asked_ = false;
};

enum class Outcome { kFinished, kTimeUp, kStopped };

/// The conditions that end a part before its plan does.
struct Session {
  std::function<bool()> stopped;                  ///< the user asked to stop
  std::function<std::chrono::seconds()> elapsed;  ///< time since the part began
  std::optional<std::chrono::seconds> longest;    ///< time limit of the part
  std::function<void(const std::string&)> say;    ///< progress, for people
};

/// Measures a sample of the plan. Returns it with its time, or nothing when this GPU cannot run it.
template <class T>
using Measure = std::function<std::optional<T>(const T&)>;

/// Measures the samples that `file` does not hold yet, in order, until done or ended. It counts and reports samples
/// that cannot run.
template <class T>
Outcome run_plan(const std::string& part, const std::vector<T>& plan, const Measure<T>& measure, SampleFile& file,
                 const Session& session);

/// Divides the minutes among the parts, in proportion to the length of their plans.
[[nodiscard]] std::vector<std::pair<std::string, double>> share_minutes(const std::vector<std::string>& parts,
                                                                        double minutes);

template <class T>
Outcome run_plan(const std::string& part, const std::vector<T>& plan, const Measure<T>& measure, SampleFile& file,
                 const Session& session) {
  std::size_t done = 0, impossible = 0;
  std::chrono::seconds reported{0};
  Outcome outcome = Outcome::kFinished;
  for (const T& item : plan) {
    if (session.stopped()) outcome = Outcome::kStopped;
    if (session.longest && session.elapsed() >= *session.longest) outcome = Outcome::kTimeUp;
    if (outcome != Outcome::kFinished) break;
    ++done;
    if (file.has(measured::Sample(item))) continue;
    if (const std::optional<T> sample = measure(item))
      file.write(measured::Sample(*sample));
    else
      ++impossible;
    if (session.elapsed() - reported >= std::chrono::seconds(10)) {
      reported = session.elapsed();
      session.say(part + ": " + std::to_string(done) + " of " + std::to_string(plan.size()));
    }
  }
  session.say(part + ": " + std::to_string(done) + " of " + std::to_string(plan.size()) + " shapes visited, " +
              std::to_string(file.written()) + " measured now, " + std::to_string(impossible) + " not possible here, " +
              std::to_string(file.size()) + " in the file");
  return outcome;
}

}  // namespace foretoken::measure
