// Conditions of a script, by recursive descent: or, and, not, brackets, tests of one and of two words.
#include "sim/io/import/launch/shell/condition.h"

#include <charconv>
#include <optional>

#include "sim/io/import/launch/shell/substitute.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class Conditions {
 public:
  Conditions(const std::vector<std::string>& words, bool patterns, Unset& unset)
      : words_(words), patterns_(patterns), unset_(unset) {}

  Outcome whole() {
    const Outcome outcome = any();
    return at_ == words_.size() ? outcome : Outcome::kOpen;
  }

 private:
  Outcome any() {
    Outcome outcome = all();
    while (take("||") || take("-o")) {
      const Outcome next = all();
      if (outcome == Outcome::kYes || next == Outcome::kYes)
        outcome = Outcome::kYes;
      else if (next == Outcome::kOpen)
        outcome = next;
    }
    return outcome;
  }

  bool take(std::string_view word) {
    if (at_ >= words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }

  Outcome all() {
    Outcome outcome = one();
    while (take("&&") || take("-a")) {
      const Outcome next = one();
      if (outcome == Outcome::kNo || next == Outcome::kNo)
        outcome = Outcome::kNo;
      else if (next == Outcome::kOpen)
        outcome = next;
    }
    return outcome;
  }

  Outcome one() {
    bool turned = false;
    while (at_ + 1 < words_.size() && take("!")) turned = !turned;
    if (depth_ < 64 && take("(")) {
      ++depth_;
      const Outcome inner = any();
      (void)take(")");
      return turned ? opposite(inner) : inner;
    }
    const Outcome tested = test();
    return turned ? opposite(tested) : tested;
  }

  Outcome test() {
    const std::size_t left = words_.size() - at_;
    if (left == 0) return Outcome::kNo;
    const std::string& first = words_[at_];
    // An empty variable left its side out.
    if (left >= 2 && is_comparison(first) && !is_comparison(words_[at_ + 1])) {
      at_ += 2;
      return Outcome::kOpen;
    }
    if (left >= 3 && is_comparison(words_[at_ + 1])) {
      at_ += 3;
      return compare(empty_if_unset(first), words_[at_ - 2], empty_if_unset(words_[at_ - 1]));
    }
    if (left >= 2 && first.size() == 2 && first[0] == '-') {
      at_ += 2;
      return of_one(first[1], words_[at_ - 1]);
    }
    ++at_;
    if (is_unset(first) || holds_only_unstated(first)) {
      unset_.tested = true;
      return Outcome::kNo;
    }
    if (is_unknown(first)) return Outcome::kOpen;
    return outcome_of(!first.empty());
  }

  static bool is_comparison(const std::string& word) {
    for (const char* known : {"=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "<", ">"})
      if (word == known) return true;
    return false;
  }

  // The shell takes a variable that nobody sets as empty. Those of a scheduler or a container are set in the run.
  std::string empty_if_unset(const std::string& word) {
    if (!is_unset(word)) return word;
    const std::string name = name_of_unset(word);
    if (is_set_by_machine(name)) return word;
    unset_.compared.insert(name);
    return "";
  }

  // What Slurm, Open MPI, PMI, PBS, LSF, Kubernetes, CUDA, torchrun and the login set, and what clusters set in their
  // place.
  static bool is_set_by_machine(std::string_view name) {
    for (const char* prefix : {"SLURM_", "OMPI_", "PMI_", "PBS_", "LSB_", "KUBERNETES_", "MLP_", "CUDA_"})
      if (name.starts_with(prefix)) return true;
    for (const char* known : {"WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK", "NNODES", "NUM_NODES", "GPUS_PER_NODE",
                              "HOSTNAME", "HOME", "USER", "PATH"})
      if (name == known) return true;
    return false;
  }

  // Files belong to the machine of the run, so tests of them are open.
  [[nodiscard]] Outcome of_one(char test, const std::string& word) {
    if (test != 'z' && test != 'n' && test != 'v') return Outcome::kOpen;
    // The scripts ask here for what ${NAME:-...} asks: the variable, or the argument, counts as not set.
    if (test != 'v' && (is_unset(word) || holds_only_unstated(word))) {
      unset_.tested = true;
      return outcome_of(test == 'z');
    }
    if (is_unknown(word) || test == 'v') return Outcome::kOpen;
    return outcome_of(word.empty() == (test == 'z'));
  }

  // Arguments that nobody states equal the empty text: [ "x$1" = x ].
  [[nodiscard]] bool equal_without_arguments(const std::string& a, const std::string& b) const {
    const bool stated = is_unknown(a) == is_unknown(b);
    const auto left = without_unstated_arguments(a), right = without_unstated_arguments(b);
    return !stated && left && left == right;
  }

  [[nodiscard]] Outcome compare(const std::string& a, const std::string& op, const std::string& b) {
    const bool by_text = op == "=" || op == "==" || op == "!=";
    if (by_text && equal_without_arguments(a, b)) {
      unset_.tested = true;
      return outcome_of(op != "!=");
    }
    if (is_unknown(a) || is_unknown(b) || op == "=~") return Outcome::kOpen;
    if (by_text) {
      const bool same = patterns_ ? matches_pattern(a, b) : a == b;
      return outcome_of(same == (op != "!="));
    }
    if (op == "<" || op == ">") return outcome_of(op == "<" ? a < b : a > b);
    const auto number = [&](const std::string& text) { return number_of(patterns_ && text.empty() ? "0" : text); };
    const auto x = number(a), y = number(b);
    if (!x || !y) return !patterns_ && (a.empty() || b.empty()) ? Outcome::kNo : Outcome::kOpen;
    if (op == "-eq") return outcome_of(*x == *y);
    if (op == "-ne") return outcome_of(*x != *y);
    if (op == "-lt") return outcome_of(*x < *y);
    if (op == "-le") return outcome_of(*x <= *y);
    return outcome_of(op == "-gt" ? *x > *y : *x >= *y);
  }

  const std::vector<std::string>& words_;
  bool patterns_;
  Unset& unset_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Outcome condition(const std::vector<std::string>& words, bool patterns, Unset& unset) {
  return Conditions(words, patterns, unset).whole();
}

}  // namespace foretoken::io::shell
