// Reads and runs one service for each combination.
#include "sim/study/serve/vary_service.h"

#include <algorithm>
#include <utility>

#include "sim/io/serve/read_service.h"
#include "sim/study/ordered_parallel.h"
#include "sim/study/reason.h"

namespace foretoken::study {
namespace {

// Reads the service of one combination; `own` is the question itself. A stated price belongs to the cluster that it was
// stated with, so a service on another cluster leaves it.
serve::Service read_one(const VaryServiceQuestion& question, const serve::Service& own,
                        const std::vector<std::size_t>& choice) {
  std::vector<std::string> sets = question.sets;
  append_choice(question.keys, choice, sets);
  serve::Service service = io::read_service_file(question.service, sets);
  if (!is_varied(question.keys, "cluster") || service.cluster.name == own.cluster.name) return service;
  sets = question.sets;
  sets.emplace_back("price_per_gpu_hour=null");
  append_choice(question.keys, choice, sets);
  return io::read_service_file(question.service, sets);
}

VariedServiceRow try_service(const VaryServiceQuestion& question, const serve::Service& own,
                             const std::vector<std::size_t>& choice) {
  VariedServiceRow row{.choice = choice, .prediction = {}, .assumptions = {}, .impossible = {}};
  try {
    const serve::Service service = read_one(question, own, choice);
    row.gpus = service.gpus();
    row.prediction = serve::predict(service);
    row.assumptions = serve::assumptions_of(service);
  } catch (const ConfigError& error) {
    row.impossible = error.complaints();
  }
  return row;
}

/// Returns the row with the least of `key` among those that fit.
template <class Key>
std::optional<std::size_t> least(const std::vector<VariedServiceRow>& rows, Key key) {
  std::optional<std::size_t> best;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (!rows[at].prediction || !rows[at].prediction->fits) continue;
    if (!best || key(*rows[at].prediction) < key(*rows[*best].prediction)) best = at;
  }
  return best;
}

// The first reason of each row, with its values.
[[noreturn]] void refuse_all(const VariedService& varied, const std::string& service) {
  constexpr std::size_t kMostLines = 10;
  std::vector<Complaint> complaints;
  for (const VariedServiceRow& row : varied.rows) {
    if (complaints.size() == kMostLines) break;
    const Complaint& why = row.impossible.front();
    complaints.push_back(
        {why.file.empty() ? service : why.file, "", choice_text(varied.keys, row.choice) + ": " + reason(why)});
  }
  throw ConfigError(std::move(complaints));
}

}  // namespace

VariedService vary_service(const VaryServiceQuestion& question, const Watch& watch) {
  VariedService varied{
      .service = io::read_service_file(question.service, question.sets), .base = {}, .keys = question.keys, .rows = {}};
  varied.base = serve::predict(varied.service);
  const std::vector<std::vector<std::size_t>> choices = combinations(question.keys);
  std::size_t at = 0;
  watch.show(0, choices.size());
  ordered_parallel<std::size_t>(
      question.threads, [&] { return at < choices.size() && !watch.stopped() ? std::optional(at++) : std::nullopt; },
      [&](std::size_t item) { return try_service(question, varied.service, choices[item]); },
      [&](VariedServiceRow& row) {
        varied.rows.push_back(std::move(row));
        watch.show(varied.rows.size(), choices.size());
      });
  const bool none = std::none_of(varied.rows.begin(), varied.rows.end(),
                                 [](const VariedServiceRow& row) { return row.prediction.has_value(); });
  if (none && !varied.rows.empty()) refuse_all(varied, question.service);
  varied.most_throughput =
      least(varied.rows, [](const serve::Prediction& prediction) { return -prediction.tokens_per_s_per_gpu; });
  varied.lowest_latency =
      least(varied.rows, [](const serve::Prediction& prediction) { return prediction.latency.mean; });
  return varied;
}

std::string choice_text(const std::vector<Varied>& keys, const std::vector<std::size_t>& choice) {
  std::string text;
  for (std::size_t key = 0; key < choice.size(); ++key)
    text += (key > 0 ? ", " : "") + keys[key].key + " = " + keys[key].values[choice[key]];
  return text;
}

}  // namespace foretoken::study
