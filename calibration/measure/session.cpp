// Handles signals and shares of time.
#include "calibration/measure/session.h"

#include <csignal>
#include <ctime>
#include <map>

#include "sim/base/check.h"

namespace foretoken::measure {
namespace {

sigset_t stop_set() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t signals = stop_set();
  expects(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "signals can be blocked");
}

bool StopSignals::asked() {
  const sigset_t signals = stop_set();
  const timespec at_once{};
  if (sigtimedwait(&signals, nullptr, &at_once) > 0) asked_ = true;
  return asked_;
}

std::vector<std::pair<std::string, double>> share_minutes(const std::vector<std::string>& parts, double minutes) {
  const std::map<std::string, double> weights{{"gemm", 10},  {"kernels", 2}, {"attention", 3},
                                              {"layers", 3}, {"host", 0.5},  {"collectives", 3}};
  double all = 0;
  for (const std::string& part : parts) all += weights.at(part);
  std::vector<std::pair<std::string, double>> shares;
  for (const std::string& part : parts) shares.emplace_back(part, minutes * weights.at(part) / all);
  return shares;
}

}  // namespace foretoken::measure
