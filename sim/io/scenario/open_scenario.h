// A scenario with open keys: stated keys are fixed, and a search chooses the others.
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

  /// Returns the stated keys. Open keys have no value.
  [[nodiscard]] const job::Question& asked() const { return asked_; }

  /// Returns the scenario's JSON with the chosen keys of `job`. Reading it gives `job`.
  [[nodiscard]] std::string text_of(const job::Job& job, int indent = -1) const;

  /// Returns all files behind the question: the scenario's own and those that it names.
  [[nodiscard]] const std::vector<ReadFile>& files() const { return files_; }

  /// Returns a digest of the contents of those files.
  [[nodiscard]] std::string inputs() const;

  /// Returns the JSON of the question: bases merged in, overrides applied, references absolute.
  [[nodiscard]] std::string question() const;

 private:
  job::Question asked_;
  Document document_;
  std::vector<ReadFile> files_;
};

}  // namespace foretoken::io
