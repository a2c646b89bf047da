// Maps activation checkpointing to recomputation.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/torchtitan/settings.h"

namespace foretoken::io::launch::torchtitan {

// "op" saves every second product; a number recomputes every n-th layer in full.
void map_recompute(const Settings& settings, std::int64_t layers, Report& report) {
  const auto stated = settings.find({"activation_checkpoint.mode"});
  const auto option = settings.find({"activation_checkpoint.selective_ac_option"});
  const std::optional<Found> mode =
      stated ? stated : Found{"selective", "activation_checkpoint.mode, selective by default"};
  if (mode->text == "none" || mode->text == "full") return report.map("recompute.granularity", mode->text, mode->key);
  if (mode->text != "selective") return report.refuse(mode->key, "unknown mode " + in_quotes(mode->text));
  const std::string kind = option ? option->text : "2";
  if (kind == "op") {
    report.map("recompute.granularity", "selective", mode->key);
    return report.map("recompute.modules", {"op"}, option->key);
  }
  const auto every = whole_of(kind);
  if (!every || *every < 1)
    return report.refuse("activation_checkpoint.selective_ac_option",
                         R"(expected "op", or N from 1 to recompute every N-th layer; found )" + in_quotes(kind));
  report.map("recompute.granularity", "full", option ? option->key : "selective_ac_option is 2 by default");
  if (*every == 1) return;
  report.map("recompute.method", "block", mode->key);
  if (layers == 0) {
    report.recomputed_one_in = *every;
    return report.ask("recompute.layers",
                      fmt::format("one of {} layers is recomputed; the layers of the model stand in its code: state "
                                  "--model, or --set recompute.layers=N with the recomputed layers of a stage",
                                  *every));
  }
  const std::int64_t stages = report.whole("parallelism.pipeline").value_or(1);
  report.map("recompute.layers", std::max<std::int64_t>(1, layers / *every / stages), mode->key);
}

}  // namespace foretoken::io::launch::torchtitan
