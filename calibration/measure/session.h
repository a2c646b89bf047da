// One invocation: how long it may take, and whether the user asked it to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "calibration/measure/sample_file.h"

namespace foretoken::measure {

/// Takes SIGINT and SIGTERM away from their default action for this thread and those it starts later, so that a line
/// being measured can be finished; asked() then tells whether one came.
class StopSignals {
 public:
  StopSignals();
  [[nodiscard]] bool asked();

 private:
  bool asked_ = false;
};

enum class Outcome { kFinished, kTimeUp, kStopped };

/// What ends a part before its plan does.
struct Session {
  std::function<bool()> stopped;                  ///< the user asked to stop
  std::function<std::chrono::seconds()> elapsed;  ///< since the part began
  std::optional<std::chrono::seconds> longest;    ///< of the part
  std::function<void(const std::string&)> say;    ///< progress, for people
};

/// Measures a sample of the plan: with its time, or nothing when this GPU cannot run it.
template <class T>
using Measure = std::function<std::optional<T>(const T&)>;

/// Measures what `file` does not hold yet, in order, until done or ended. What cannot run is counted and said.
template <class T>
Outcome run_plan(const std::string& part, const std::vector<T>& plan, const Measure<T>& measure, SampleFile& file,
                 const Session& session);

/// How many minutes each part gets of all: by how long their plans take.
[[nodiscard]] std::vector<std::pair<std::string, double>> share_minutes(const std::vector<std::string>& parts,
                                                                        double minutes);

template <class T>
Outcome run_plan(const std::string& part, const std::vector<T>& plan, const Measure<T>& measure, SampleFile& file,
                 const Session& session) {
  std::size_t done = 0, impossible = 0;
  std::chrono::seconds said{0};
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
    if (session.elapsed() - said >= std::chrono::seconds(10)) {
      said = session.elapsed();
      session.say(part + ": " + std::to_string(done) + " of " + std::to_string(plan.size()));
    }
  }
  session.say(part + ": " + std::to_string(done) + " of " + std::to_string(plan.size()) + " shapes visited, " +
              std::to_string(file.written()) + " measured now, " + std::to_string(impossible) + " not possible here, " +
              std::to_string(file.size()) + " in the file");
  return outcome;
}

}  // namespace foretoken::measure
