// Tests variables of the environment inside of configurations.
#include "sim/io/import/launch/environment.h"

#include <gtest/gtest.h>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

Json put(const std::string& value, const Environment& environment) {
  Json document = {{"key", value}, {"own", "1"}};
  put_environment(environment, document);
  return document.at("key");
}

TEST(Environment, StatedVariablesReplaceTheirExpressions) {
  const Environment both = {{"A", "2"}, {"B", "x"}};
  EXPECT_EQ(put("${A:7}", both), "2");
  EXPECT_EQ(put("${A}", both), "2");
  EXPECT_EQ(put("${oc.env:A,7}", both), "2");
  EXPECT_EQ(put("${oc.env:A}", both), "2");
  EXPECT_EQ(put("${env:A}", both), "2");
  EXPECT_EQ(put("run-${B}-${A:1}", both), "run-x-2");
  EXPECT_EQ(put("${oc.env:C,${oc.env:A,4}}", both), "${oc.env:C,2}");
  EXPECT_EQ(put("${oc.env:A,${oc.env:C,4}}", both), "2");
  EXPECT_EQ(put("${A:7}", {{"A", "2"}, {"A", "3"}}), "3") << "the last one counts";
  EXPECT_EQ(put("${A:7}", {{"A", "null"}}), Json());
}

TEST(Environment, OtherExpressionsStay) {
  EXPECT_EQ(put("${C:7}", {{"A", "2"}}), "${C:7}");
  EXPECT_EQ(put("${own}", {{"own", "2"}}), "${own}") << "a key of the document";
  EXPECT_EQ(put("${A", {{"A", "2"}}), "${A");
  EXPECT_EQ(put("${A}", {{"A", "${A}"}}), "${A}") << "a value is not read again";
}

TEST(Environment, BracesMayStandInsideAndOutside) {
  const Environment one = {{"A", "2"}};
  EXPECT_EQ(put("{${A:{7}}}", one), "{2}");
  EXPECT_EQ(put("${C:{x} ${A}}-${A", one), "${C:{x} 2}-${A");
  EXPECT_EQ(put("}${${A} ${A}", one), "}${2 2");
  EXPECT_EQ(put("${A.b} ${oc.env:A:1} ${A,1}", one), "${A.b} ${oc.env:A:1} ${A,1}") << "other expressions";
}

// Each letter is read once: the square of 400 kB would take minutes.
TEST(Environment, LongTextsEndAtOnce) {
  constexpr int kExpressions = 200'000;
  std::string open, closed, many;
  for (int i = 0; i < kExpressions; ++i) {
    open += "${";
    closed += '}';
    many += "${A}";
  }
  const Environment one = {{"A", "2"}};
  EXPECT_EQ(put(open, one), open);
  EXPECT_EQ(put(open + closed, one), open + closed);
  EXPECT_EQ(put(many, one), std::string(kExpressions, '2'));
  const std::string value(1 << 20, 'x');
  EXPECT_LT(put(many, {{"A", value}}).get<std::string>().size(), 20U << 20);
}

TEST(Environment, ARecipeTakesTheVariablesOfTheUser) {
  const auto micro = [](const Environment& variables) {
    Launch launch;
    launch.variables = variables;
    Findings findings;
    const Report report = read_launch_text(
        "model: {_target_: x, pretrained_model_name_or_path: meta-llama/Llama-3.2-1B}\n"
        "step_scheduler: {global_batch_size: 64, local_batch_size: '${oc.env:EACH,2}'}\n",
        "a.yaml", launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report.whole("batch.micro");
  };
  EXPECT_EQ(micro({}), 2);
  EXPECT_EQ(micro({{"EACH", "4"}}), 4);
}

}  // namespace
}  // namespace foretoken::io::launch
