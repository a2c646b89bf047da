// Sorts arguments as getopt(1) does: options first, each with its value, then --, then the others.
#include "sim/io/import/launch/shell/getopt.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::io::shell {
namespace {

enum class Takes : std::uint8_t { kNothing, kValue, kPerhaps };

struct Known {
  std::string name{};
  Takes takes = Takes::kNothing;
};

/// What getopt is told, and what it sorts.
struct Request {
  std::vector<Known> letters{}, words{};
  Texts arguments{};
};

std::string in_single_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// "vn:o::" are -v, -n VALUE and -o[VALUE].
std::vector<Known> letters_of(std::string_view text) {
  std::vector<Known> all;
  for (const char c : text) {
    if (c != ':')
      all.push_back({std::string(1, c), Takes::kNothing});
    else if (!all.empty())
      all.back().takes = all.back().takes == Takes::kValue ? Takes::kPerhaps : Takes::kValue;
  }
  return all;
}

// "verbose,name:" are --verbose and --name VALUE.
void add_words(std::string_view list, std::vector<Known>& all) {
  for (std::size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    std::string_view name = list.substr(begin, end - begin);
    Known known;
    if (name.ends_with("::"))
      known.takes = Takes::kPerhaps;
    else if (name.ends_with(':'))
      known.takes = Takes::kValue;
    while (name.ends_with(':')) name.remove_suffix(1);
    known.name = name;
    all.push_back(std::move(known));
  }
}

// getopt's own options end at --.
std::optional<Request> request_of(const Texts& words) {
  Request request;
  std::size_t at = 1;
  for (; at < words.size() && words[at] != "--"; ++at) {
    std::string name = words[at], value;
    const std::size_t equals = name.starts_with("--") ? name.find('=') : name.npos;
    const bool joined = equals != name.npos;
    if (joined) value = name.substr(equals + 1);
    name = name.substr(0, equals);
    const auto is = [&](auto... names) { return ((name == names) || ...); };
    if (is("-q", "-Q", "--quiet", "--quiet-output")) continue;
    if (!is("-o", "--options", "-l", "--long", "--longoptions", "-n", "--name")) return std::nullopt;
    if (!joined && at + 1 >= words.size()) return std::nullopt;
    if (!joined) value = words[++at];
    if (is("-o", "--options")) request.letters = letters_of(value);
    if (is("-l", "--long", "--longoptions")) add_words(value, request.words);
  }
  if (at == words.size()) return std::nullopt;
  request.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return request;
}

const Known* found_in(const std::vector<Known>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Known::name);
  return found == all.end() ? nullptr : &*found;
}

/// The two parts of the output.
struct Sorted {
  std::string options{}, others{};
};

// Takes --NAME, --NAME=VALUE or --NAME VALUE.
bool take_word(const Request& request, std::size_t& at, Sorted& sorted) {
  const std::string_view word = std::string_view(request.arguments[at]).substr(2);
  const std::size_t equals = word.find('=');
  const Known* const known = found_in(request.words, word.substr(0, equals));
  const bool joined = equals != word.npos;
  if (known == nullptr || (joined && known->takes == Takes::kNothing)) return false;
  sorted.options += " --" + known->name;
  if (known->takes == Takes::kNothing) return true;
  const bool behind = !joined && known->takes == Takes::kValue;
  if (behind && ++at >= request.arguments.size()) return false;
  sorted.options += " " + in_single_quotes(behind   ? std::string_view(request.arguments[at])
                                           : joined ? word.substr(equals + 1)
                                                    : std::string_view());
  return true;
}

// Takes -vn VALUE or -vnVALUE.
bool take_letters(const Request& request, std::size_t& at, Sorted& sorted) {
  const std::string letters = request.arguments[at];
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const Known* const known = found_in(request.letters, letters.substr(i, 1));
    if (known == nullptr) return false;
    sorted.options += " -" + known->name;
    if (known->takes == Takes::kNothing) continue;
    std::string value = letters.substr(i + 1);
    if (value.empty() && known->takes == Takes::kValue) {
      if (++at >= request.arguments.size()) return false;
      value = request.arguments[at];
    }
    sorted.options += " " + in_single_quotes(value);
    break;
  }
  return true;
}

}  // namespace

std::optional<std::string> getopt_output(const Texts& words) {
  const auto request = request_of(words);
  if (!request) return std::nullopt;
  Sorted sorted;
  bool ended = false;
  for (std::size_t at = 0; at < request->arguments.size(); ++at) {
    const std::string& one = request->arguments[at];
    const bool option = !ended && one.size() > 1 && one[0] == '-';
    if (option && one == "--")
      ended = true;
    else if (!option)
      sorted.others += " " + in_single_quotes(one);
    else if (!(one[1] == '-' ? take_word(*request, at, sorted) : take_letters(*request, at, sorted)))
      return std::nullopt;
  }
  return sorted.options + " --" + sorted.others;
}

}  // namespace foretoken::io::shell
