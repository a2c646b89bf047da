// A job in the making: the rules read it, complete it and complain.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/job/made.h"
#include "sim/job/question.h"
#include "sim/job/rules/advice.h"

namespace foretoken::job {

/// The sound parts of a question. A rule is asked only when the parts that it uses are sound, so one mistake does not
/// make three complaints.
struct Sound {
  bool model = true, cluster = true, profile = true, gpus = true, parallelism = true, batch = true, schedule = true;
  [[nodiscard]] bool all() const { return model && cluster && profile && gpus && parallelism && batch && schedule; }
};

struct Draft {
  const Question& question;
  const Sound& sound;
  Job& job;  ///< complete as far as the rules asked so far
  Notes notes = {};
  std::vector<Complaint> complaints = {};
  /// Advice by its complaint's place. None is made while `advises` is false: it costs time, and checking it asks the
  /// rules again.
  std::vector<std::pair<std::size_t, Advice>> advice = {};
  bool advises = false;

  void complain(std::string pointer, std::string message) {
    complaints.push_back({question.file, std::move(pointer), std::move(message)});
  }
  /// Complains with advice, which `advise` makes.
  void complain(std::string pointer, std::string message, const std::function<Advice()>& advise) {
    if (advises) advice.emplace_back(complaints.size(), advise());
    complain(std::move(pointer), std::move(message));
  }
};

}  // namespace foretoken::job
