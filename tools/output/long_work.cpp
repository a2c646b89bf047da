// Catches Ctrl-C for every long command in the same way.
#include "tools/output/long_work.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "sim/base/check.h"
#include "sim/report/text/number.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

// Ctrl-C sets this flag. It is global because a signal handler can reach nothing else.
std::atomic<bool> interrupt_came = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

LongWork::LongWork(std::string things, bool lines_in_files)
    : things_(std::move(things)), line_(things_, lines_in_files) {
  interrupt_came = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_came = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

LongWork::~LongWork() { end(); }

Watch LongWork::watch() {
  return {.progress =
              [this](std::size_t done, std::size_t total) {
                done_ = done;
                total_ = total;
                line_.show(done, total);
              },
          .stop = &interrupt_came};
}

bool LongWork::interrupted() const { return interrupt_came && (done_ < total_ || total_ == 0); }

void LongWork::end() {
  if (std::exchange(ended_, true)) return;
  line_.clear();
  sigaction(SIGINT, &before_, nullptr);
}

std::string LongWork::marked(std::string json) const {
  expects(json.starts_with('{'), "an answer is a JSON object");
  if (interrupted()) json.insert(1, fmt::format(R"("complete": false, "done": {}, "wanted": {},)", done_, total_));
  return json;
}

int LongWork::status(int status) {
  end();
  if (!interrupted()) return status;
  const auto whole = [](std::size_t count) { return report::whole(static_cast<double>(count)); };
  print_error(fmt::format("Interrupted: {} of {} {} are done.", whole(done_), whole(total_), things_));
  return kInterrupted;
}

}  // namespace foretoken::tools
