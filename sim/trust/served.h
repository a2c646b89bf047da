// The errors of predicted services against published ones, and the interval that they give a prediction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/trust/place.h"

namespace foretoken::trust {

/// A published quantity of a service.
enum class Served : std::uint8_t { kTtft, kTpot, kLatency, kThroughput };
inline constexpr std::array kServed{Served::kTtft, Served::kTpot, Served::kLatency, Served::kThroughput};
[[nodiscard]] std::string_view name_of(Served quantity);  ///< "ttft", "tpot", "latency", "throughput"

/// The properties of a service that change its times.
struct ServedPlace {
  std::string model = "", layers = "dense";            ///< kinds of layers: "dense", "experts"
  std::string engine = "", gpu = "", arrivals = "";    ///< arrivals: "batch", "users", "poisson", "trace"
  std::string batching = "";                           ///< "static", "continuous"
  std::string weights = "16 bits", cache = "16 bits";  ///< precisions
  std::string kernels = "the engine's";                ///< of experts, or of integers, where the question chooses them
  std::string pools = "one", draft = "none";           ///< prompts and decoding apart: "two"; speculation: "on"
  double parameters = 1;
  double tensor = 1, pipeline = 1, expert = 1, attention_data = 1, instances = 1;
  double input = 1, output = 1;  ///< tokens
  double beams = 1;
  double load = 1;  ///< requests of the batch, users, or requests a second
};

struct ServedKey {
  std::string_view name;   ///< in validate/serving_residuals.json: "input"
  std::string_view words;  ///< "tokens of a prompt"
  Scale scale;
  std::variant<std::string ServedPlace::*, double ServedPlace::*> member;
};

/// Every member of ServedPlace.
[[nodiscard]] std::span<const ServedKey> served_keys();
[[nodiscard]] std::string value_of(const ServedKey& key, const ServedPlace& place);

/// Returns the distance between two services: 1 for each other kind, 0.5 for each other switch, 0.25 for each doubling,
/// the default weights of training.
[[nodiscard]] double distance_between(const ServedPlace& a, const ServedPlace& b);

/// A published value and its prediction, in seconds or output tokens a second.
struct ServedCase {
  ServedPlace place{};
  std::string set = "", title = "";  ///< cases of one set share authors, method and machines
  Served quantity = Served::kTtft;
  double measured = 1, predicted = 1;

  [[nodiscard]] double log_ratio() const;  ///< log(measured / predicted)
};

/// The width of 90 % intervals of a quantity: half sqrt(1 + growth distance), as a logarithm.
struct ServedWidth {
  Served quantity = Served::kTtft;
  double growth = 0, half = 0;
};

struct ServedEvidence {
  std::vector<ServedCase> cases{};
  std::vector<ServedWidth> widths{};  ///< of each quantity that has cases
};

struct ServedInterval {
  double low = 0, high = 0;         ///< in the unit of the prediction
  int cases = 0, sets = 0;          ///< all published cases of the quantity
  double distance = 0;              ///< from the nearest of them
  std::vector<std::string> away{};  ///< what differs from the nearest: "GPU l4-24gb (nearest: h100-sxm5-80gb)"
  [[nodiscard]] bool outside() const { return !away.empty(); }
};

/// Returns the interval that holds the measured value of such a service in nine of ten cases, as published services
/// suggest: predicted exp(+/- half sqrt(1 + growth distance)). Nothing: no service was published with the quantity.
/// Source: normalised conformal prediction (arXiv:1604.04173, section 5.2).
/// Error: its coverage over sets that took no part is in docs/modeller/serving.md.
/// Precondition: predicted > 0.
[[nodiscard]] std::optional<ServedInterval> served_interval(const ServedPlace& place, Served quantity, double predicted,
                                                            const ServedEvidence& evidence);

/// Returns the published case nearest to a place; nullptr without cases. Of equally near ones the first.
[[nodiscard]] const ServedCase* nearest_case(const ServedPlace& place, const ServedEvidence& evidence);

/// Returns the widths that cover 90 % of the cases, each seen from the nearest case of another set and from the nearest
/// other case of any set. A set counts as at most twenty cases. The growth, at least 0.25, has the least interval score
/// (Gneiting and Raftery 2007, eq. 43). Deterministic.
[[nodiscard]] std::vector<ServedWidth> calibrate_served(const std::vector<ServedCase>& cases);

}  // namespace foretoken::trust
