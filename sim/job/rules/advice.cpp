// Checks remedies by asking the rules again.
#include "sim/job/rules/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "sim/base/text.h"

namespace foretoken::job {
namespace {

using ComplaintsOf = std::function<std::vector<Complaint>(const Question&)>;

bool is_mended(const std::vector<Complaint>& left, const Complaint& about, const std::vector<Complaint>& before) {
  return std::ranges::all_of(left, [&](const Complaint& complaint) {
    const auto is_at_its_place = [&](const Complaint& other) { return other.pointer == complaint.pointer; };
    return complaint.pointer != about.pointer && std::ranges::any_of(before, is_at_its_place);
  });
}

// Returns the data-parallel degree that the other degrees leave.
std::int64_t data_of(const Question& question) {
  std::int64_t replica = 1;
  for (const auto& [axis, member] : kDegrees)
    if (axis != Axis::kData) replica *= question.choices.parallelism.degrees[axis].value_or(1);
  return question.choices.gpus / replica;
}

// Returns the words of a remedy that mends the complaint, or nothing when it does not.
std::optional<std::string> accepted(const Remedy& remedy, const Complaint& about, const Question& question,
                                    const std::vector<Complaint>& before, const ComplaintsOf& complaints_of) {
  Question changed = question;
  remedy.apply(changed);
  if (is_mended(complaints_of(changed), about, before)) return remedy.words;
  std::optional<int>& data = changed.choices.parallelism.degrees[Axis::kData];
  if (!data) return std::nullopt;
  data.reset();
  if (!is_mended(complaints_of(changed), about, before)) return std::nullopt;
  return fmt::format("{} with parallelism.data {}", remedy.words, data_of(changed));
}

}  // namespace

Advice multiples_near(std::int64_t value, std::int64_t unit, std::int64_t highest,
                      const std::function<void(Question&, std::int64_t)>& set) {
  constexpr std::int64_t kMostTries = 64;
  Choice below, above;
  const auto add = [&](Choice& choice, std::int64_t multiple) {
    if (multiple < 1 || multiple > highest) return;
    choice.tries.push_back({fmt::format("{}", multiple), [=](Question& question) { set(question, multiple); }});
  };
  for (std::int64_t steps = 0; steps < kMostTries; ++steps) {
    const std::int64_t low = value / unit - steps;
    add(below, low * unit);
    add(above, (value / unit + 1 + steps) * unit);
  }
  return {below, above};
}

Choice numbers_that_work(std::string key, std::int64_t highest, const std::function<bool(std::int64_t)>& works,
                         const std::function<void(Question&, std::int64_t)>& set) {
  Choice choice{.key = std::move(key), .tries = {}, .most = 3};
  for (std::int64_t number = highest; number >= 1; --number)
    if (works(number))
      choice.tries.push_back({fmt::format("{}", number), [=](Question& question) { set(question, number); }});
  return choice;
}

std::function<void(Question&, std::int64_t)> set_degree(Axis axis) {
  return [axis](Question& question, std::int64_t value) {
    question.choices.parallelism.degrees[axis] = static_cast<int>(value);
  };
}

std::string advice_words(const Advice& advice, const Complaint& about, const Question& question,
                         const std::vector<Complaint>& complaints, const ComplaintsOf& complaints_of) {
  std::vector<std::string> ways;
  for (const Choice& choice : advice) {
    std::vector<std::string> values;
    for (std::size_t at = 0; at < choice.tries.size() && values.size() < choice.most; ++at)
      if (auto words = accepted(choice.tries[at], about, question, complaints, complaints_of))
        values.push_back(std::move(*words));
    if (values.empty()) continue;
    std::reverse(values.begin(), values.end());
    ways.push_back(fmt::format("{}{}{}", choice.key, choice.key.empty() ? "" : " ", fmt::join(values, ", ")));
  }
  return ways.empty() ? "" : "; try " + either(ways);
}

}  // namespace foretoken::job
