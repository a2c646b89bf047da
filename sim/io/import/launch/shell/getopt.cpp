// Sorts arguments as getopt(1) does: options first, each with its value, then --, then the others.
#include "sim/io/import/launch/shell/getopt.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

namespace foretoken::io::shell {
namespace {

enum class Takes : std::uint8_t { kNothing, kValue, kPerhaps };

/// By name.
using Options = std::map<std::string, Takes, std::less<>>;

/// Where the arguments go that are no options.
enum class Others : std::uint8_t { kLast, kInPlace, kEnd };

/// A request states getopt's options and the arguments that it sorts.
struct Request {
  Options letters{}, words{};
  Others others = Others::kLast;
  bool prints = true;
  Texts arguments{};
};

std::string in_single_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// "vn:o::" are -v, -n VALUE and -o[VALUE]. A + in front ends the options at the first other argument, a - leaves those
// where they are.
void take_letters_of(std::string_view text, Request& request) {
  request.letters.clear();
  if (text.starts_with('+')) request.others = Others::kEnd;
  if (text.starts_with('-')) request.others = Others::kInPlace;
  if (request.others != Others::kLast) text.remove_prefix(1);
  Takes* last = nullptr;
  for (const char c : text) {
    if (c != ':')
      last = &(request.letters[std::string(1, c)] = Takes::kNothing);
    else if (last != nullptr)
      *last = *last == Takes::kNothing ? Takes::kValue : Takes::kPerhaps;
  }
}

// "verbose,name:" are --verbose and --name VALUE.
void add_words(std::string_view list, Options& all) {
  for (std::size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    std::string_view name = list.substr(begin, end - begin);
    Takes takes = Takes::kNothing;
    if (name.ends_with(':')) takes = name.ends_with("::") ? Takes::kPerhaps : Takes::kValue;
    while (name.ends_with(':')) name.remove_suffix(1);
    all.insert_or_assign(std::string(name), takes);
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
    if (is("-Q", "--quiet-output")) request.prints = false;
    if (is("-q", "-Q", "--quiet", "--quiet-output")) continue;
    if (!is("-o", "--options", "-l", "--long", "--longoptions", "-n", "--name")) return std::nullopt;
    if (!joined && at + 1 >= words.size()) return std::nullopt;
    if (!joined) value = words[++at];
    if (is("-o", "--options")) take_letters_of(value, request);
    if (is("-l", "--long", "--longoptions")) add_words(value, request.words);
  }
  if (at == words.size()) return std::nullopt;
  request.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return request;
}

/// The two parts of the output.
struct Sorted {
  std::string options{}, others{};
};

// Takes --NAME, --NAME=VALUE or --NAME VALUE.
bool take_word(const Request& request, std::size_t& at, Sorted& sorted) {
  const std::string_view word = std::string_view(request.arguments[at]).substr(2);
  const std::size_t equals = word.find('=');
  const auto known = request.words.find(word.substr(0, equals));
  const bool joined = equals != word.npos;
  if (known == request.words.end() || (joined && known->second == Takes::kNothing)) return false;
  sorted.options += " --" + known->first;
  if (known->second == Takes::kNothing) return true;
  const bool behind = !joined && known->second == Takes::kValue;
  if (behind && ++at >= request.arguments.size()) return false;
  sorted.options += " " + in_single_quotes(behind   ? std::string_view(request.arguments[at])
                                           : joined ? word.substr(equals + 1)
                                                    : std::string_view());
  return true;
}

// Takes -vn VALUE or -vnVALUE.
bool take_letters(const Request& request, std::size_t& at, Sorted& sorted) {
  const std::string_view letters = request.arguments[at];
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const auto known = request.letters.find(letters.substr(i, 1));
    if (known == request.letters.end()) return false;
    sorted.options += " -" + known->first;
    if (known->second == Takes::kNothing) continue;
    std::string_view value = letters.substr(i + 1);
    if (value.empty() && known->second == Takes::kValue) {
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
    else if (!option && !ended && request->others == Others::kInPlace)
      sorted.options += " " + in_single_quotes(one);
    else if (!option) {
      sorted.others += " " + in_single_quotes(one);
      ended = ended || request->others == Others::kEnd;
    } else if (!(one[1] == '-' ? take_word(*request, at, sorted) : take_letters(*request, at, sorted)))
      return std::nullopt;
  }
  return request->prints ? sorted.options + " --" + sorted.others + "\n" : "";
}

}  // namespace foretoken::io::shell
