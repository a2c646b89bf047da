// The report on a launch file: its scenario, and every setting as mapped, assumed, read, ignored, refused or asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::launch {

using Json = nlohmann::ordered_json;

/// The bound of counts in launch files: the most GPUs that a scenario may have. Its other keys may have lower bounds.
inline constexpr std::int64_t kMostCount = 1 << 20;

/// The place of values that the user gives beside the files.
inline constexpr const char* kFromCommandLine = "the command line";

/// What to try with a setting that no rule knows. The setting follows.
inline constexpr const char* kUnlessFree = "; if it changes neither time nor memory, go on with --allow ";

/// A key of the scenario that a setting of the file gives.
struct Mapped {
  std::string key, value, from;  ///< "parallelism.tensor", "8", "--tensor-model-parallel-size (run.sh:12)"
};
/// A key that the file does not state.
struct Assumed {
  std::string key, value, because;
};
/// A setting without effect on the time or memory of a training step.
struct Ignored {
  std::string setting, from;
};
/// A setting that changes the answer and is not modelled.
struct Refused {
  std::string setting, because, from;
  bool allowed = false;  ///< the user goes on without it
  std::string key{};     ///< of the scenario; the refusal ends where the user states it: --set optimizer.zero_stage=1
};
/// A fact that the file does not hold.
struct Asked {
  std::string key, because;
  bool flag_is_open = false;    ///< a flag for it stands in the command, and nobody knows its value
  bool default_stands = false;  ///< the scenario has a default, which the user may state anew
};

/// The answer of an import. Keys are dotted paths of a scenario: "batch.micro".
class Report {
 public:
  Json scenario = Json::object();
  std::string framework{};  ///< "Megatron-LM"
  std::vector<Mapped> mapped{};
  std::vector<Assumed> assumed{};
  std::vector<Ignored> ignored{};
  std::vector<Refused> refused{};
  std::vector<Asked> asked{};
  /// Settings that a rule has read and no other line names. "activations_checkpoint_num_layers: 0" is one beside
  /// "recompute.granularity = none".
  std::vector<std::string> read{};
  std::set<std::string, std::less<>> read_by_value{};  ///< flags of which a rule has read a value: "num-layers"
  std::optional<std::int64_t> accumulation{};  ///< micro-batches of a step, stated in the place of a global batch
  bool uneven_stages = false;                  ///< the software deals layers out to stages as evenly as it can
  /// Every such layer is recomputed, of a model whose layers nobody has stated yet; 0: no such question.
  std::int64_t recomputed_one_in = 0;
  std::string unknown_model{};     ///< the name of a model that is asked for
  bool has_experts = false;        ///< the model has experts, where its name says so and its sizes are elsewhere
  bool deepspeed_experts = false;  ///< its layers with experts are DeepSpeed's
  std::string shards_in_nodes{};   ///< the setting by which each node shards weights of its own
  std::optional<std::int64_t> gpus_of_machine{};  ///< GPUs that the launch takes of each machine
  std::string gpu_of_launch{};                    ///< the GPU that the launch is written for: "b200"
  bool unread = false;                            ///< refused before any of its settings is read: no fact would help

  /// Sets a key of the scenario from a setting.
  void map(std::string_view key, Json value, std::string from);

  /// Sets a key that the file does not state. The last reason for a key counts.
  void assume(std::string_view key, Json value, std::string because);

  /// Lists something that is taken as different from the file, without a key: "all layers run in fp8".
  void approximate(std::string setting, std::string because);

  void ignore(std::string setting, std::string from) { ignored.push_back({std::move(setting), std::move(from)}); }
  void refuse(std::string setting, std::string because, std::string from = "");
  /// Refuses a setting until the user states the key, as the reason advises.
  void refuse_until(std::string_view key, std::string setting, std::string because, std::string from = "");
  void ask(std::string_view key, std::string because);
  [[nodiscard]] bool asks(std::string_view key) const;  ///< a question about the key stands
  /// Asks for the key of a flag that stands in the command with a value that nobody knows.
  void ask_for_flag(std::string_view key, std::string because);
  /// Asks for a key whose default stays in the scenario until the command line states it.
  void ask_over_default(std::string_view key, std::string because);

  /// Returns the value of a key; null when it is not set.
  [[nodiscard]] Json at(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return !at(key).is_null(); }
  void remove(std::string_view key);
  /// Takes a key, or a section, back with its lines.
  void forget(std::string_view key);

  /// Goes on without the refused settings named in `allow`; "all" stands for every one. "/batch/micro" and
  /// "batch.micro" name one setting, as "--seed" and "seed" do.
  void allow(const std::vector<std::string>& allow);

  /// Returns true when a line of the report is about the setting: "--recompute-foo" or "recompute-foo".
  [[nodiscard]] bool names(std::string_view setting) const;

  /// Takes back every assumed key: another file decides.
  void drop_assumptions(const std::string& because);

  /// Drops questions whose key is now set, or, where a default stands, set by the user.
  void drop_answered();

  /// Drops the settings of `read` that a line names, and repeated ones.
  void drop_named_of_read();

  /// Returns true when nothing is refused and nothing is open.
  [[nodiscard]] bool complete() const;

  /// Returns {"complete", "framework", "scenario", "mapped", "assumed", "read", "ignored", "refused", "asked"}.
  [[nodiscard]] Json json() const;

 private:
  void set(std::string_view key, Json value);
  void drop_lines(std::string_view key);  ///< the mapping or assumption of a key
};

}  // namespace foretoken::io::launch
