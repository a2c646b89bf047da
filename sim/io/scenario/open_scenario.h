// A scenario with keys left open: its statements stand, the rest is for a search to choose.
#pragma once

#include <string>
#include <utility>

#include "sim/io/json/document.h"
#include "sim/job/question.h"

namespace foretoken::io {

class OpenScenario {
 public:
  OpenScenario(job::Question asked, Document document);

  /// The statements; open keys have none.
  [[nodiscard]] const job::Question& asked() const { return asked_; }

  /// The scenario's JSON with the chosen keys of `job` written in; reading it gives `job`.
  [[nodiscard]] std::string text_of(const job::Job& job, int indent = -1) const;

  /// The JSON as it was asked: bases merged in, overrides applied, references absolute.
  [[nodiscard]] std::string question() const;

 private:
  job::Question asked_;
  Document document_;
};

}  // namespace foretoken::io
