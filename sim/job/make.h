// Makes a job of a question in one step: fills in every default and asks every rule.
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
  std::vector<Complaint> complaints;  ///< empty: the job was made
};

/// Makes the job. Rules look only at sound parts. A question with an unsound part has no job.
[[nodiscard]] Attempt attempt(const Question& question, const Sound& sound = {});

/// Makes the job of a question without unsound parts. Throws ConfigError with every complaint.
[[nodiscard]] Made make(const Question& question);

/// Returns the price of a run: the stated one, else the cluster's. Precondition: the question has a run.
[[nodiscard]] std::optional<double> price_of(const Question& question);

/// Returns the rules that the question breaks under any choices.
[[nodiscard]] std::vector<Complaint> wrong_for_any_choice(const Question& question);

/// Makes many jobs of one question that differ in their choices. It copies model, machines and software once.
class Maker {
 public:
  explicit Maker(Question question);

  /// Returns the job of the question with `patch`, valid until the next call. Returns nullptr when it breaks a rule;
  /// complaints() then says which. Precondition: `patch` changes choices only.
  [[nodiscard]] const Job* make(const Patch& patch);
  [[nodiscard]] const std::vector<Complaint>& complaints() const { return complaints_; }

 private:
  Question question_;
  Choices asked_;  // without a patch
  Job job_;
  std::vector<Complaint> complaints_;
};

}  // namespace foretoken::job
