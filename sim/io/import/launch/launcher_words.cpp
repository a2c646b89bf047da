// Takes the launchers' words off a command.
#include "sim/io/import/launch/launcher_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/inner_shell.h"

namespace foretoken::io::launch {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kOfProcesses = " -n";  // ends the place of a count of MPI or Flux

bool is_named(const std::string& word, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, std::filesystem::path(word).filename().string()) != names.end();
}

// singularity run --nv image.sif torchrun ...: the flags up to the launcher belong to the container.
Words without_container(Words words) {
  const auto begin = std::ranges::find_if(words, [](const std::string& word) {
    return is_named(word, {"singularity", "apptainer", "docker", "podman", "shifter", "enroot"});
  });
  const auto end = std::find_if(begin, words.end(), [](const std::string& word) {
    return is_named(word, {"torchrun", "python", "python3", "deepspeed", "accelerate"});
  });
  if (end != words.end()) words.erase(begin, end);
  return words;
}

// mpirun -np 16 [options] python ...: every process has a GPU. It may also start one torchrun a node.
Words without_mpi(Words words, const std::string& place, std::vector<Argument>& counts) {
  const std::string_view launcher = shell::process_launcher(words);
  if (launcher.empty()) return words;
  const auto program = std::ranges::find_if(words, [](const std::string& word) {
    const std::string name = std::filesystem::path(word).filename().string();
    return name.starts_with("python") || name.starts_with("torchrun") || name.ends_with(".py");
  });
  const bool torchrun = program != words.end() && program->find("torchrun") != std::string::npos;
  if (auto count = shell::count_of_processes(words, static_cast<std::size_t>(program - words.begin())))
    counts.push_back({torchrun ? "nnodes" : "nproc-per-node",
                      {std::move(*count)},
                      fmt::format("{}, {}{}", place, launcher, kOfProcesses)});
  words.erase(words.begin(), program);
  return words;
}

// MindSpore's msrun counts the processes of all nodes, each with a device, in --worker_num.
bool is_msrun(const Words& words) {
  return std::ranges::any_of(words, [](const std::string& word) { return is_named(word, {"msrun"}); });
}

// jsrun of LSF starts resource sets, each with GPUs of its own: jsrun(1) of IBM's Job Step Manager.
std::optional<Argument> gpus_of_jsrun(const Words& words, const std::vector<Argument>& options,
                                      const std::string& place) {
  if (std::ranges::none_of(words, [](const std::string& word) { return is_named(word, {"jsrun"}); }))
    return std::nullopt;
  const auto sets = whole_of(value_of(options, "nrs")), each = whole_of(value_of(options, "gpu-per-rs"));
  constexpr std::int64_t kMost = 1 << 24;  // products fit into 64 bits
  if (!sets || !each || *sets < 1 || *each < 1 || *sets > kMost || *each > kMost) return std::nullopt;
  return Argument{"gpus", {std::to_string(*sets * *each)}, place + ", --nrs x --gpu_per_rs of jsrun"};
}

// The short options of srun: -N 4, -N4, -n 16.
std::optional<Argument> short_option(const Words& words, std::size_t at, const std::string& place) {
  constexpr std::pair<std::string_view, const char*> kShort[] = {{"-N", "nodes"}, {"-n", "ntasks"}, {"-G", "gpus"}};
  for (const auto& [option, name] : kShort) {
    if (!words[at].starts_with(option)) continue;
    if (words[at].size() > option.size()) {
      const std::string value = words[at].substr(option.size());
      if (whole_of(value)) return Argument{name, {value}, place};
    } else if (at + 1 < words.size()) {
      return Argument{name, {words[at + 1]}, place};
    }
  }
  return std::nullopt;
}

// python -m torch.distributed.run: the module starts another program.
bool is_launcher_module(const std::string& module) {
  for (const char* launcher : {"torch.distributed", "deepspeed.launcher", "accelerate.commands", "torchrun"})
    if (module.starts_with(launcher)) return true;
  return false;
}

// torchrun --nproc_per_node=8 "$ENTRY" --lr 1: a program that nobody knows ends before the first flag that the launcher
// does not have: torch/distributed/run.py, deepspeed/launcher/runner.py.
std::optional<std::size_t> unknown_program_at(const Words& words) {
  constexpr std::string_view kOptions[] = {
      "node-rank",    "master-addr",   "master-port", "standalone", "max-restarts", "monitor-interval",
      "start-method", "role",          "log-dir",     "redirects",  "tee",          "local-addr",
      "no-python",    "run-path",      "logs-specs",  "exclude",    "hostfile",     "launcher",
      "no-ssh",       "no-local-rank", "save-pid",    "force-multi"};
  if (words.empty() || !is_named(words[0], {"torchrun", "deepspeed"})) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto flag = arguments_of({words[i]}, "");
    if (flag.empty() || is_count(flag.front().name) || flag.front().name.starts_with("rdzv-")) continue;
    if (std::ranges::find(kOptions, flag.front().name) == std::end(kOptions)) return i;
  }
  return std::nullopt;
}

// --module is a switch, behind which more of the launcher's own options may stand: deepspeed --module --num_gpus 4
// NAME.
std::size_t module_behind(const Words& words, std::size_t at) {
  constexpr std::string_view kSwitches[] = {"no-python",   "no-local-rank", "standalone", "run-path",
                                            "force-multi", "save-pid",      "no-ssh",     "multi-gpu"};
  for (++at; at < words.size() && words[at].starts_with('-');) {
    const auto flag = arguments_of({words[at]}, "");
    const bool alone = flag.empty() || !flag.front().values.empty() ||
                       std::ranges::find(kSwitches, flag.front().name) != std::end(kSwitches);
    at += alone ? 1 : 2;
  }
  return at;
}

// The place of the program among the words, or nothing.
std::optional<std::size_t> program_at(const Words& words, const std::function<bool(std::string_view)>& is_programs) {
  std::optional<std::size_t> program;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-m" || words[i] == "--module")
      if (const std::size_t at = module_behind(words, i); at < words.size() && !is_launcher_module(words[at]))
        return at;
    // Command lines that start their program by themselves: swift sft.
    const bool verb = i + 1 < words.size() && !words[i + 1].starts_with("-");
    if (!program && verb && is_named(words[i], {"swift", "megatron"})) return std::nullopt;
    if (words[i].ends_with(".py")) program = i;
    const auto flag = arguments_of({words[i]}, "");
    if (!flag.empty() && !is_count(flag.front().name) && is_programs(flag.front().name)) break;
  }
  return program ? program : unknown_program_at(words);
}

// torchrun starts one process on each node unless told otherwise: torch/distributed/run.py.
bool starts_one_process(const shell::Command& command, const std::vector<Argument>& counts) {
  const auto any = [&](auto holds) { return std::ranges::any_of(command.words, holds); };
  const bool stated =
      std::ranges::any_of(counts, [](const Argument& one) { return one.name != "nnodes" && one.name != "nodes"; });
  const bool torchrun = any([](const std::string& word) {
    return is_named(word, {"torchrun"}) || word == "torch.distributed.run" || word == "torch.distributed.launch";
  });
  return torchrun && !stated && command.empties.empty() && !any(is_open_word) && !any([](const std::string& word) {
           return word.find("nproc") != word.npos || is_named(word, {"deepspeed", "accelerate", "mpirun", "ray"});
         });
}

// These start a process for each GPU of their node, whatever the tasks of Slurm that start them: accelerate's
// launch.py, DeepSpeed's runner.py and LLaMA-Factory's cli.py count the devices.
bool takes_all_gpus(const Words& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return is_named(word, {"accelerate", "deepspeed", "llamafactory-cli"});
  });
}

// The GPUs of a job whose tasks state theirs: --nodes 16 --ntasks-per-node 1 --gpus-per-task 8 (sbatch(1)).
std::optional<Argument> gpus_of_tasks(const std::map<std::string, std::string>& options) {
  const auto count = [&](std::initializer_list<const char*> names) -> std::optional<std::int64_t> {
    for (const char* name : names)
      if (const auto found = options.find(name); found != options.end())
        return whole_of(std::string_view(found->second).substr(found->second.rfind(':') + 1));
    return std::nullopt;
  };
  for (const char* other : {"--gpus", "-G", "--gres", "--gpus-per-node"})
    if (options.contains(other)) return std::nullopt;
  const auto each = count({"--gpus-per-task"}), nodes = count({"--nodes", "-N"}), all = count({"--ntasks", "-n"});
  if (!each || (!nodes && !all)) return std::nullopt;
  const std::int64_t tasks = all ? *all : count({"--ntasks-per-node"}).value_or(1);
  return Argument{all ? "gpus" : "gpus-per-node", {std::to_string(*each * tasks)}, "Slurm"};
}

// Returns true where only arguments of the script open the conditions.
bool depends_on_arguments(const shell::Alternatives& branches) {
  return !branches.reasons.empty() && std::ranges::all_of(branches.reasons, shell::is_unstated_argument);
}

// A branch on an argument that nobody states is not taken: the script then runs without its flags.
void take_default(const Decisive& flag, const std::string& variable, const shell::Alternatives& branches,
                  Report& report) {
  const std::string because = fmt::format(
      "--{} stands in a branch on {}, which is not known; the branch is not taken. State the argument "
      "behind --, or --env {}=\"--FLAG ...\"",
      flag.flag, *branches.reasons.begin(), printable(variable, 60));
  const bool assumed = std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == flag.key; });
  if (assumed && report.has(flag.key))
    report.assume(flag.key, report.at(flag.key), because);
  else
    report.approximate(std::string(flag.key), because);
}

void ask_for_branch(const Decisive& flag, const std::string& variable, Report& report) {
  report.forget(flag.key);
  report.ask(flag.key, fmt::format("--{} stands in a branch of an open condition; state the branch with --env "
                                   "{}=\"--FLAG ...\"",
                                   flag.flag, printable(variable, 60)));
}

// The processes of accelerate. Ai2's mason.py multiplies them by its own --num_nodes: allenai/open-instruct, mason.py.
std::string processes_of(const Argument& option, const shell::Command& command, const std::vector<Argument>& counts) {
  const bool by_mason =
      std::ranges::any_of(command.words, [](const auto& word) { return is_named(word, {"mason.py"}); });
  const std::int64_t nodes = by_mason ? whole_of(value_of(counts, "num-nodes")).value_or(0) : 0;
  const std::int64_t processes = whole_of(option.values.front()).value_or(0);
  if (nodes < 1 || processes < 1 || nodes > kMostCount || processes > kMostCount) return option.values.front();
  return std::to_string(nodes * processes);
}

}  // namespace

bool LaunchedProgram::has(std::string_view flag) const {
  return std::ranges::any_of(options, [&](const Argument& one) { return one.name == flag; });
}

std::vector<Argument> counts_of(const shell::Command& command, const LaunchedProgram& launched) {
  std::vector<Argument> counts;
  // accelerate counts the processes of all machines.
  if (std::ranges::any_of(command.words, [](const std::string& word) { return is_named(word, {"accelerate"}); }))
    for (const Argument& option : launched.options)
      if (option.name == "num-processes" && !option.values.empty())
        return {{"gpus", {processes_of(option, command, launched.counts)}, command.place()}};
  const bool by_mpi =
      std::ranges::any_of(launched.counts, [](const Argument& one) { return one.place.ends_with(kOfProcesses); });
  for (const auto& [name, value] : command.scheduler) {
    if (by_mpi) break;
    const auto launcher = std::ranges::find_if(shell::kProcessLaunchers,
                                               [&name = name](std::string_view one) { return name.starts_with(one); });
    if (launcher != std::end(shell::kProcessLaunchers)) {
      counts.push_back({name.substr(launcher->size()), {value}, std::string(*launcher) + "-n"});
      continue;
    }
    const std::string plain = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    const std::string flag = name == "-N" ? "nodes" : name == "-n" ? "ntasks" : name == "-G" ? "gpus" : plain;
    // Slurm has no options of these names: variables of the environment state them.
    const bool variable = flag == "nproc-per-node" || flag == "nnodes";
    if (is_count(flag)) counts.push_back({flag, {value}, variable ? "the environment" : "Slurm"});
  }
  if (auto gpus = by_mpi ? std::nullopt : gpus_of_tasks(command.scheduler)) counts.push_back(std::move(*gpus));
  const bool devices = std::ranges::any_of(counts, [](const Argument& one) {
    return one.name == "gpus" || one.name == "gres" || one.name == "gpus-per-node";
  });
  if (devices && takes_all_gpus(command.words))
    std::erase_if(counts, [](const Argument& one) { return one.name.starts_with("ntasks"); });
  counts.insert(counts.end(), launched.counts.begin(), launched.counts.end());
  const bool bare = command.words.front().starts_with("python") && command.scheduler.empty() &&
                    launched.options.empty() && std::ranges::none_of(command.words, [](const std::string& word) {
                      return word.find("torch.distributed") != std::string::npos ||
                             word.find("torchrun") != std::string::npos ||
                             word.ends_with("deepy.py");  // GPT-NeoX's way to DeepSpeed's launcher
                    });
  if (starts_one_process(command, counts))
    counts.push_back({"nproc-per-node", {"1"}, command.place() + ", torchrun's default"});
  if (bare) counts.push_back({"nproc-per-node", {"1"}, command.place() + kWithoutLauncher});
  return counts;
}

void ask_for_open_counts(const std::vector<Argument>& counts, Report& report) {
  const bool asked = report.asks("gpus");
  if (asked || report.has("gpus")) return;
  for (const Argument& count : counts) {
    if (!count.values.empty() && !shell::is_unknown(count.values.front())) continue;
    const std::string why = count.values.empty() ? "" : shell::why_unknown(count.values.front());
    return report.ask(
        "gpus", fmt::format("--{} {}; state it {}, or --gpus N", count.name,
                            why.empty() ? "has no value" : "depends on " + printable(why, 120), way_to_state(why)));
  }
}

void ask_for_row(std::int64_t all, Report& report) {
  report.ask("row", all == 1 ? std::string("the script starts one training; leave --row out")
                             : fmt::format("the script starts {} trainings; choose one with --row 1 to {}", all, all));
}

void note_left_out(std::int64_t number, std::int64_t all, Report& report) {
  if (all < 2) return;
  report.approximate("the training",
                     fmt::format("{} of {} commands that start a training; the others are left out; "
                                 "choose one with --row 1 to {}",
                                 number == 1 ? "the first" : fmt::format("number {}", number), all, all));
}

bool is_count(std::string_view flag) {
  constexpr std::string_view kCounts[] = {
      "nproc-per-node", "nnodes",   "nodes", "num-nodes", "gpus-per-node",   "gpus",
      "gres",           "num-gpus", "nproc", "ntasks",    "ntasks-per-node", "include"};
  return std::ranges::find(kCounts, flag) != std::end(kCounts);
}

LaunchedProgram launched_program(Words words, const std::string& place,
                                 const std::function<bool(std::string_view flag)>& is_programs) {
  LaunchedProgram launched;
  words = without_mpi(without_container(std::move(words)), place, launched.counts);
  const auto program = program_at(words, is_programs);
  if (!program) {
    launched.program = std::move(words);
    return launched;
  }
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(*program);
  const Words launchers(words.begin(), begin);
  launched.program.assign(begin, words.end());
  launched.options = arguments_of(launchers, place);
  for (Argument argument : launched.options) {
    if (argument.name == "worker-num" && is_msrun(launchers)) argument.name = "gpus";
    if (argument.name == "world-size") argument.name = "gpus";  // of programs that start another: gaudi_spawn.py
    if (!is_count(argument.name)) continue;
    // A value is one word: the next launcher may follow it, srun --nodes 4 torchrun.
    if (argument.values.size() > 1) argument.values.resize(1);
    launched.counts.push_back(std::move(argument));
  }
  if (auto gpus = gpus_of_jsrun(launchers, launched.options, place)) launched.counts.push_back(std::move(*gpus));
  for (const std::string& word : launchers)
    if (const auto flag = arguments_of({word}, place); !flag.empty() && !is_count(flag.front().name))
      launched.others.push_back(word.substr(0, word.find('=')));
  bool srun = false;
  for (std::size_t i = 0; i < launchers.size(); ++i) {
    if (is_named(launchers[i], {"torchrun", "python", "python3", "deepspeed", "accelerate"})) srun = false;
    if (is_named(launchers[i], {"srun"})) srun = true;
    if (!srun) continue;
    if (auto option = short_option(launchers, i, place)) launched.counts.push_back(std::move(*option));
  }
  return launched;
}

std::vector<std::string> words_of_text(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r";
  std::vector<std::string> words;
  std::string word;
  bool unknown = false;  // the reason of an unknown part may hold spaces
  for (const char c : text) {
    if (c == shell::kUnknown) unknown = !unknown;
    if (unknown || kSpaces.find(c) == kSpaces.npos) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool is_open_word(const std::string& word) {
  return word.size() > 2 && word.front() == shell::kUnknown && word.find('=') == std::string::npos;
}

void ask_open_flags(const shell::Script& script, const std::vector<std::string>& program,
                    std::span<const Decisive> flags, Report& report) {
  const std::vector<Argument> stated = arguments_of(program, "");
  std::set<std::string_view> defaults;  // keys
  for (const std::string& word : program) {
    const std::string reason = is_open_word(word) ? shell::why_unknown(word) : "";
    if (!reason.starts_with(shell::kOpenCondition)) continue;
    const std::string name = reason.substr(shell::kOpenCondition.size());
    const auto found = script.alternatives.find(name);
    if (found == script.alternatives.end()) continue;
    for (const std::string& text : found->second.texts)
      for (const Argument& argument : arguments_of(words_of_text(text), ""))
        for (const Decisive& flag : flags) {
          const bool decided = std::ranges::any_of(
              flags, [&](const Decisive& one) { return one.key == flag.key && last_of(stated, one.flag) != nullptr; });
          if (flag.flag != argument.name || decided) continue;
          // Few train in fp32, which is the default.
          if (flag.key == "precision" || !depends_on_arguments(found->second))
            ask_for_branch(flag, name, report);
          else if (defaults.insert(flag.key).second)
            take_default(flag, name, found->second, report);
        }
  }
}

const char* way_to_state(std::string_view reason) {
  return reason.find("argument") != reason.npos ? "behind --" : "with --env NAME=VALUE";
}

void note_empty_words(const shell::Command& command, Report& report) {
  std::vector<std::string> reasons;
  for (const std::string& word : command.words)
    if (is_open_word(word)) reasons.push_back(shell::why_unknown(word));
  reasons.insert(reasons.end(), command.empties.begin(), command.empties.end());
  for (const std::string& reason : reasons)
    report.approximate("a part of the command", fmt::format("taken as empty: words that depend on {}; state them {}",
                                                            printable(reason, 120), way_to_state(reason)));
}

}  // namespace foretoken::io::launch
