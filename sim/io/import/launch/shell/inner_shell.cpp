// Reads the words of a command that starts a shell of its own.
#include "sim/io/import/launch/shell/inner_shell.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::shell {
namespace {

constexpr std::array<std::string_view, 3> kMpi = {"mpirun", "mpiexec", "orterun"};

std::string file_name(const std::string& word) { return std::filesystem::path(word).filename().string(); }

bool is_mpi(const std::string& word) { return std::ranges::find(kMpi, file_name(word)) != kMpi.end(); }

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> text_of_shell(const Texts& words, std::size_t shell) {
  bool reads_text = false;
  for (std::size_t i = shell + 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option = word.size() > 1 && (word[0] == '-' || word[0] == '+');
    if (!option) return reads_text ? std::optional(i) : std::nullopt;
    if (word == "--rcfile" || word == "--init-file") ++i;  // a file follows
    if (word.starts_with("--")) continue;
    reads_text = reads_text || (word[0] == '-' && word.find('c') != std::string::npos);
    // The name of a setting follows for each letter: bash -eo pipefail, bash -O extglob.
    i += static_cast<std::size_t>(std::ranges::count(word, 'o') + std::ranges::count(word, 'O'));
  }
  return std::nullopt;
}

// Command of NVIDIA's Base Command: ngc batch run --commandline "torchrun ...". The third part of an instance's name
// counts its GPUs (dgxa100.40g.8.norm); replicas are the nodes (NGC CLI documentation, "batch").
std::optional<TextOfJob> text_of_ngc(const Texts& words) {
  if (words.size() < 3 || words[1] != "batch" || words[2] != "run") return std::nullopt;
  TextOfJob job;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    const bool joined = equals != std::string::npos;
    if (!option.starts_with("--") || (!joined && i + 1 == words.size())) continue;
    const std::string value = joined ? words[i].substr(equals + 1) : words[i + 1];
    if (option == "--commandline") job.text = value;
    if (option == "--replicas") job.options.insert_or_assign("--nodes", value);
    if (option != "--instance") continue;
    const std::string gpus = std::filesystem::path(value).stem().extension().string();
    if (gpus.size() > 1 && is_digits(gpus.substr(1))) job.options.insert_or_assign("--gpus-per-node", gpus.substr(1));
  }
  return job.text.empty() ? std::nullopt : std::optional(std::move(job));
}

// submit_job is a front of sbatch that scripts of NVIDIA's research branches call. It counts the GPUs of a node.
std::optional<TextOfJob> text_of_job(const Texts& words) {
  if (words.empty()) return std::nullopt;
  const std::string program = file_name(words[0]);
  if (program == "ssh" || program == "pdsh" || program == "clush") {
    if (words.back().find(' ') == std::string::npos) return std::nullopt;
    return TextOfJob{words.back(), {{std::string(kStartedBy), words[0]}}};
  }
  if (program == "ngc") return text_of_ngc(words);
  if (program != "submit_job") return std::nullopt;
  TextOfJob job{.text = "", .options = {{"--gpus-per-node", unknown_because("submit_job without --gpu")}}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    if (equals == std::string::npos && i + 1 == words.size()) break;
    const std::string option = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? words[i + 1] : words[i].substr(equals + 1);
    if (option == "-c" || option == "--command") job.text = value;
    if (option == "-N" || option == "--nodes") job.options.insert_or_assign("--nodes", value);
    if (option == "--gpu" || option == "--gpus") job.options.insert_or_assign("--gpus-per-node", value);
  }
  return job.text.empty() ? std::nullopt : std::optional(std::move(job));
}

Texts launcher_before(const Texts& words, std::size_t shell) {
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(shell);
  const auto launcher = std::find_if(words.begin(), end, [](const std::string& word) {
    const std::string program = file_name(word);
    return program == "deepspeed" || program == "torchrun" || program == "accelerate";
  });
  return {launcher, end};
}

std::string_view process_launcher(const Texts& words) {
  if (words.empty()) return "";
  if (words.size() > 1 && file_name(words[0]) == "flux" && words[1] == "run") return "flux run";
  return is_mpi(words[0]) ? "mpirun" : "";
}

// Options of mpirun(1) and flux-run(1). Flux's -c counts the cores of a process.
std::optional<std::string> count_of_processes(const Texts& words, std::size_t end) {
  const std::string_view launcher = process_launcher(words);
  if (launcher.empty()) return std::nullopt;
  const bool flux = launcher == "flux run";
  for (std::size_t i = 1; i < std::min(end, words.size()); ++i) {
    const std::string& word = words[i];
    const bool alone = word == "-n" || (flux ? word == "--ntasks" : word == "-np" || word == "--np" || word == "-c");
    if (alone && i + 1 < end) return words[i + 1];
    const std::string_view joined = flux ? "--ntasks=" : "--np=";
    if (word.starts_with(joined)) return word.substr(joined.size());
    if (word.starts_with("-n") && is_digits(std::string_view(word).substr(2))) return word.substr(2);
  }
  return std::nullopt;
}

namespace {

// Options without a value: srun(1) of Slurm 24.05; mpirun(1) of Open MPI 4.1; flux-run(1); pdsh(1). Any other option
// takes the next word.
constexpr std::string_view kBare =
    " -E -H -k -K -l -O -Q -s -u -v -X -Z --contiguous --disable-status --exact --exclusive "
    "--external-launcher --hold --immediate --interactive --kill-on-bad-exit --label --no-allocate "
    "--no-kill --overcommit --overlap --oversubscribe --preserve-env --propagate --pty --quiet "
    "--quit-on-interrupt --reboot --spread-job --unbuffered --use-min-nodes --verbose "
    "--container-mount-home --no-container-mount-home --container-writable --container-readonly "
    "--container-remap-root --no-container-remap-root --no-container-entrypoint --allow-run-as-root "
    "--bynode --byslot --display-allocation --display-map --nolocal --nooversubscribe --report-bindings "
    "--tag-output --timestamp-output --use-hwthread-cpus --label-io ";

// Slurm's programs that run beside a task.
constexpr std::string_view kBesideTasks[] = {"--prolog", "--epilog", "--task-prolog", "--task-epilog"};

// Returns how many words the option at words[at] takes. Open MPI writes its long options with one dash, too, and MCA
// parameters take a name and a value.
std::size_t words_of_option(const Texts& words, std::size_t at) {
  std::string option = words[at];
  if (option.find('=') != std::string::npos) return 1;
  const bool mpi = is_mpi(words[0]), one_dash = !option.starts_with("--");
  if (mpi && option == "-H") return 2;
  if (mpi && one_dash && option.size() > 2) option.insert(0, "-");
  if (mpi && (option == "--mca" || option == "--gmca")) return 3;
  if (holds_word(kBare, option)) return 1;
  if (!mpi && one_dash && option.size() > 2) return 1;  // -N4
  if (at + 1 < words.size() && words[at + 1].starts_with('-')) return 1;
  const bool beside = std::ranges::find(kBesideTasks, option) != std::end(kBesideTasks);
  return at + 1 < words.size() && is_script_name(words[at + 1]) && !beside ? 1 : 2;
}

}  // namespace

std::optional<std::size_t> script_behind_launcher(const Texts& words) {
  if (words.empty() || !starts_processes(words[0])) return std::nullopt;
  const std::string program = file_name(words[0]);
  std::size_t at = 1;
  if (program == "kubectl" || program == "oc") {  // kubectl exec POD -- train.sh
    const auto dashes = std::ranges::find(words, "--");
    at = static_cast<std::size_t>(dashes - words.begin());
  } else if (program == "flux") {
    if (words.size() < 2 || words[1] != "run") return std::nullopt;
    at = 2;
  }
  while (at < words.size() && words[at].starts_with('-') && words[at] != "--") at += words_of_option(words, at);
  if (program == "ssh") ++at;  // its host
  if (at < words.size() && words[at] == "--") ++at;
  const bool script = at < words.size() && is_script_name(words[at]) && !is_unknown(words[at]);
  return script ? std::optional(at) : std::nullopt;
}

bool starts_processes(const std::string& word) {
  constexpr std::string_view kOthers[] = {"srun", "flux",         "pdsh",    "ssh", "clush",
                                          "pssh", "parallel-ssh", "kubectl", "oc"};
  return is_mpi(word) || std::ranges::find(kOthers, file_name(word)) != std::end(kOthers);
}

}  // namespace foretoken::io::shell
