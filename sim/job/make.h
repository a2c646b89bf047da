// From a question to a job: one step that fills in every default and asks every rule.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/error.h"
#include "sim/job/made.h"
#include "sim/job/patch.h"
#include "sim/job/question.h"
#include "sim/job/rules/draft.h"

namespace foretoken::job {

/// The job that a question asks for, or every rule that it breaks.
struct Attempt {
  std::optional<Made> made;
  std::vector<Complaint> complaints;  ///< none: it was made
};

/// Makes the job. Rules speak only of sound parts; with a part that is not sound there is no job.
[[nodiscard]] Attempt attempt(const Question& question, const Sound& sound = {});

/// The same for a question without unsound parts. Throws ConfigError with every complaint.
[[nodiscard]] Made make(const Question& question);

/// The price of a run: the stated one, else the cluster's. Precondition: the question has a run.
[[nodiscard]] std::optional<double> price_of(const Question& question);

/// The rules that the question breaks whatever is chosen.
[[nodiscard]] std::vector<Complaint> wrong_for_any_choice(const Question& question);

/// Makes many jobs of one question that differ in their choices: model, machines and software are copied once.
class Maker {
 public:
  explicit Maker(Question question);

  /// The job of the question with `patch`, until the next call; nullptr when it breaks a rule, which complaints() say.
  /// Precondition: `patch` changes choices only.
  [[nodiscard]] const Job* make(const Patch& patch);
  [[nodiscard]] const std::vector<Complaint>& complaints() const { return complaints_; }

 private:
  Question question_;
  Choices asked_;  // without a patch
  Job job_;
  std::vector<Complaint> complaints_;
};

}  // namespace foretoken::job
