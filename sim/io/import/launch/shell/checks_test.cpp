// Tests checks that end a script for want of a variable, and options of the shell.
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/shell/script.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::shell {
namespace {

std::size_t commands_of(const std::string& text) {
  Findings findings;
  const auto script = read_script_text(text + "\n", "run.sh", ".", {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return script ? script->commands.size() : 0;
}

std::string value_behind(const std::string& text) {
  Findings findings;
  const auto script = read_script_text(text + "\n", "run.sh", ".", {}, findings);
  const Texts* const value = script ? script->variables.find("X") : nullptr;
  return value == nullptr || value->empty() ? "" : is_unknown(value->front()) ? "?" : value->front();
}

TEST(Checks, ADefaultThatIsEmptyEndsNoScript) {
  for (const char* begin : {"", "set -euo pipefail\n"})
    for (const char* check :
         {"[ -z \"${DATA:-}\" ] && exit 1", "if [ -z \"${DATA:-}\" ]; then exit 1; fi",
          "if [ \"${DATA:-}\" = \"\" ]; then exit 1; fi", "if [ \"x${DATA-}\" = x ]; then exit 1; fi",
          "if [ \"${DATA:-}${MORE:-}\" = \"\" ]; then exit 1; fi", "if [[ ! -v DATA ]]; then exit 1; fi",
          "if [[ -v DATA ]]; then :; else exit 1; fi", "[ -z \"${1:-}\" ] && exit 1",
          "[[ -z ${1:-} ]] && { echo usage; exit 1; }", "if [ -n \"${DATA:-}\" ]; then :; else exit 1; fi",
          "[ \"${DATA:-}\" ] || exit 1"})
      EXPECT_EQ(commands_of(std::string(begin) + check + "\npython a.py --x 1"), 1U) << begin << check;
  EXPECT_EQ(commands_of("DATA=''; [ -z \"${DATA:-}\" ] && exit 1\npython a.py"), 0U) << "the script empties it";
}

TEST(Checks, AnEmptyDefaultDecidesUnderSetU) {
  EXPECT_EQ(value_behind("set -u; if [ -z \"${U:-}\" ]; then X=8; else X=4; fi"), "8");
  EXPECT_EQ(value_behind("set -u; X=2; [ \"${U:-}\" = a ] && X=4"), "2");
  EXPECT_EQ(value_behind("X=2; case \"${U:-}\" in a) X=4 ;; esac"), "2");
  EXPECT_EQ(value_behind("X=$(( ${U:-} + 1 ))"), "1");
  EXPECT_EQ(value_behind("X=2; [ \", which the script takes as empty$(date)\" = a ] && X=4"), "?") << "a text alone";
}

TEST(Checks, OptionsOfTheShellEndBeforeItsArguments) {
  const std::string asks = "\nif [ \"$U\" = a ]; then X=4; else X=2; fi";
  EXPECT_EQ(value_behind("set foo -u" + asks), "2");
  EXPECT_EQ(value_behind("set -- -u" + asks), "2");
  EXPECT_EQ(value_behind("set -e foo -u" + asks + "\nX=$X$1$2"), "2foo-u");
  EXPECT_EQ(value_behind("set -o pipefail -u" + asks), "?");
  EXPECT_EQ(value_behind("#!/bin/bash -eu" + asks), "?");
  EXPECT_EQ(value_behind("#!/bin/bash -e" + asks), "2");
  EXPECT_EQ(value_behind("#!/usr/bin/env bash" + asks), "2");
}

}  // namespace
}  // namespace foretoken::io::shell
