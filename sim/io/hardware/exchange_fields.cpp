// Lists the fields of laws of exchanges of tokens.
#include "sim/io/hardware/exchange_fields.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/fields.h"

namespace foretoken::io {
namespace {

constexpr Range kWorkBytes{.low = 0, .high = 1e9};
constexpr Range kRows{.low = 0, .high = 1e3};
constexpr Range kSharpness{.low = 1, .high = 100};

void across_fields(Fields& f, cost::ExchangeAcross& law) {
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.microseconds("launch_per_doubling_us", law.launch_per_doubling, kMicroseconds);
  f.gigabytes("gb_per_s", law.rate, kRate);
  f.number("network_rows", law.network_rows, kRows);
  f.number("nic_efficiency", law.nic_efficiency, kEfficiency);
  f.number("sharpness", law.sharpness, kSharpness);
  f.object("evidence", law.evidence, evidence_fields);
}

}  // namespace

void exchange_fields(Fields& f, cost::ExchangeLaw& law) {
  using enum ExchangeLibrary;
  using enum ExchangePhase;
  f.one_of<ExchangeLibrary>("library", law.library,
                            {{name_of(kDeepEp), kDeepEp},
                             {name_of(kDeepEpLowLatency), kDeepEpLowLatency},
                             {name_of(kTrtllmOneSided), kTrtllmOneSided},
                             {name_of(kTrtllmTwoSided), kTrtllmTwoSided}});
  f.one_of<ExchangePhase>("phase", law.phase,
                          {{name_of(kPrepare), kPrepare},
                           {name_of(kDispatch), kDispatch},
                           {name_of(kCombine), kCombine},
                           {name_of(kNarrowCombine), kNarrowCombine}});
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.boolean("by_multiprocessor", law.by_multiprocessor);
  f.gigabytes("gb_per_s", law.rate, kRate);
  f.gigabytes("link_gb_per_s", law.link, kRate);
  f.number("sharpness", law.sharpness, kSharpness);
  f.number_or("copy_bytes", law.copy_bytes, 0, kWorkBytes);
  f.number_or("token_bytes", law.token_bytes, 0, kWorkBytes);
  f.number_or("token_rows", law.token_rows, 0, kRows);
  f.optional_object("across", law.across, across_fields);
  f.object("evidence", law.evidence, evidence_fields);
}

void want_each_exchange_once(const Node& node, const std::vector<cost::ExchangeLaw>& laws) {
  std::set<std::pair<ExchangeLibrary, ExchangePhase>> known;
  for (const cost::ExchangeLaw& law : laws)
    if (!known.emplace(law.library, law.phase).second)
      node.complain("exchanges", fmt::format("expected one law for each library and phase, found {} {} again",
                                             name_of(law.library), name_of(law.phase)));
}

}  // namespace foretoken::io
