// Counts the GPUs and the hosts of a machine by what a script and its user say of it.
#include "sim/io/import/launch/shell/counted_output.h"

#include <algorithm>

namespace foretoken::io::shell {
namespace {

using Expand = std::function<Texts(std::string_view)>;

// "$NAME", ${NAME} and $NAME. Empty for other words.
std::string name_in_word(std::string word) {
  if (word.size() > 1 && word.starts_with('"') && word.ends_with('"')) word = word.substr(1, word.size() - 2);
  if (word.starts_with("${") && word.ends_with('}')) return word.substr(2, word.size() - 3);
  return word.starts_with('$') ? word.substr(1) : "";
}

// The words of a command before `| wc -l`; empty where other operators stand there. `wc -l < FILE` is `cat FILE | wc`.
Texts words_that_are_counted(const std::vector<Token>& tokens) {
  const auto is = [&](std::size_t at, std::string_view text) { return at < tokens.size() && tokens[at].text == text; };
  if (tokens.size() == 4 && is(0, "wc") && is(1, "-l") && is(2, "<")) return {"cat", tokens[3].text};
  const std::size_t end = tokens.size() < 3 ? 0 : tokens.size() - 3;
  if (end == 0 || !is(end, "|") || !is(end + 1, "wc") || !is(end + 2, "-l")) return {};
  Texts words;
  for (std::size_t at = 0; at < end; ++at) {
    if (tokens[at].is_operator && tokens[at].text != "|") return {};
    words.push_back(tokens[at].text);
  }
  return words;
}

// Returns a count that a variable holds; nothing for other texts.
std::optional<std::string> count_in(const char* variable, const Expand& expand) {
  const Texts count = expand(variable);
  const bool known =
      count.size() == 1 && !count[0].empty() && count[0].find_first_not_of("0123456789") == std::string::npos;
  return known ? std::optional(count[0]) : std::nullopt;
}

// python -c "import torch; print(torch.cuda.device_count())"
bool prints_device_count(const std::vector<Token>& tokens) {
  if (tokens.size() != 3 || !tokens[0].text.starts_with("python") || tokens[1].text != "-c") return false;
  std::string code;
  for (const char c : tokens[2].text)
    if (std::string_view(" \t\n'\"").find(c) == std::string_view::npos) code += c;
  while (code.ends_with(';')) code.pop_back();
  constexpr std::string_view kPrint = "print(torch.cuda.device_count())";
  return code.ends_with(kPrint) && code.find("print(") + kPrint.size() == code.size();
}

// nvidia-smi prints a line for each GPU of the node, whatever CUDA_VISIBLE_DEVICES says.
bool lists_devices(const Texts& words) {
  if (words.size() < 2 || words[0] != "nvidia-smi") return false;
  if (words.size() == 2) return words[1] == "-L" || words[1] == "--list-gpus";
  return words.size() == 3 && words[1].starts_with("--query-gpu=") && words[2] == "--format=csv,noheader";
}

std::optional<std::string> count_of_devices(bool by_torch, const Machine& machine, const Expand& expand) {
  if (by_torch) {
    const Texts visible = expand("${CUDA_VISIBLE_DEVICES:-}");
    if (visible.size() == 1 && !visible[0].empty() && !is_unknown(visible[0]))
      return std::to_string(1 + std::ranges::count(visible[0], ','));
  }
  if (auto stated = count_in("${SLURM_GPUS_ON_NODE:-}", expand)) return stated;
  return machine.devices > 0 ? std::optional(std::to_string(machine.devices)) : std::nullopt;
}

// Without a list scontrol takes that of the job: scontrol(1). Another list than that of the job has another number of
// nodes.
bool lists_hosts_of_slurm(const Texts& words) {
  if (words.size() < 3 || words[0] != "scontrol" || words[1] != "show") return false;
  if (words[2] != "hostnames" && words[2] != "hostname") return false;
  if (words.size() == 3) return true;
  const std::string name = name_in_word(words[3]);
  return words.size() == 4 && (name == "SLURM_JOB_NODELIST" || name == "SLURM_NODELIST");
}

// The file of hosts of a job, its lines once each where `once` is set: cat $PBS_NODEFILE, sort -u $PBS_NODEFILE, cat
// $PBS_NODEFILE | sort | uniq.
bool lists_file_of_hosts(const Texts& words, bool& once) {
  bool named = false;
  for (const std::string& word : words) {
    const std::string name = name_in_word(word);
    if (name == "PBS_NODEFILE" || name == "SGE_JOB_HOSTLIST" || name == "PE_HOSTFILE") {
      if (named) return false;
      named = true;
    } else if (word == "-u" || word == "uniq")
      once = true;
    else if (word != "cat" && word != "sort" && word != "|")
      return false;
  }
  return named;
}

}  // namespace

std::optional<std::string> counted_output(std::vector<Token> tokens, const Machine& machine, const Expand& expand) {
  while (!tokens.empty() && tokens.back().is_operator && tokens.back().text == ";") tokens.pop_back();
  const bool by_torch = prints_device_count(tokens);
  const Texts words = words_that_are_counted(tokens);
  if (by_torch || lists_devices(words)) return count_of_devices(by_torch, machine, expand);
  if (lists_hosts_of_slurm(words)) return count_in("${SLURM_NNODES:-}", expand);
  bool once = false;
  if (!lists_file_of_hosts(words, once)) return std::nullopt;
  const std::int64_t hosts = once ? machine.hosts : machine.host_lines;
  return hosts > 0 ? std::optional(std::to_string(hosts)) : std::nullopt;
}

}  // namespace foretoken::io::shell
