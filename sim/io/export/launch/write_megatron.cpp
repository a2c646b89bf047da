// Writes a launch script of Megatron-LM.
#include <fmt/format.h>

#include <algorithm>

#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"

namespace foretoken::io {

std::string write_megatron(const job::Job& job, const nlohmann::json& scenario) {
  std::string text =
      "#!/bin/bash\n# A launch of Megatron-LM, written by foretoken export. Replace data and tokenizer.\n";
  text += own_lines_of(scenario, job.gpus);
  for (const std::string& remark : megatron_remarks(job)) text += "# " + remark + "\n";
  const std::vector<std::string> command = megatron_command(job);
  for (std::size_t i = 0; i < command.size(); ++i) text += (i == 0 ? "" : " \\\n  ") + command[i];
  return text + "\n";
}

}  // namespace foretoken::io
