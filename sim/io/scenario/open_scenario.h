// A scenario with keys left open: its statements stand, the rest is for a search to choose.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/io/json/document.h"
#include "sim/job/question.h"

namespace foretoken::io {

class OpenScenario {
 public:
  OpenScenario(job::Question asked, Document document, std::vector<ReadFile> files = {});

  /// The statements; open keys have none.
  [[nodiscard]] const job::Question& asked() const { return asked_; }

  /// The scenario's JSON with the chosen keys of `job` written in; reading it gives `job`.
  [[nodiscard]] std::string text_of(const job::Job& job, int indent = -1) const;

  /// All files behind the question: the scenario's own and those that it names.
  [[nodiscard]] const std::vector<ReadFile>& files() const { return files_; }

  /// A digest of the contents of those files.
  [[nodiscard]] std::string inputs() const;

  /// The JSON as it was asked: bases merged in, overrides applied, references absolute.
  [[nodiscard]] std::string question() const;

 private:
  job::Question asked_;
  Document document_;
  std::vector<ReadFile> files_;
};

}  // namespace foretoken::io
