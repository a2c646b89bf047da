// Adds the defaults of programs that fine-tune one family of chat models.
#include "sim/io/import/launch/tuning/chat_programs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"

namespace foretoken::io::launch::tuning {
namespace {

// lm-sys/FastChat, fastchat/train/train_lora.py, LoraArguments.
bool is_fast_chat(const std::vector<std::string>& program) {
  return program.front().ends_with("fastchat/train/train_lora.py") || program.front() == "fastchat.train.train_lora";
}

// The same, train.py. train_mem.py and train_flash_attn.py begin with the patch that --flash_attn stands for here.
bool is_fast_chat_whole(const std::vector<std::string>& program) {
  return program.front().ends_with("fastchat/train/train.py") || program.front() == "fastchat.train.train";
}

// Without the patch attention is that of transformers, which is written in PyTorch before 4.36.
void take_attention_of_fast_chat(const Taken& taken) {
  taken.origins.program = "FastChat";
  if (is_on(taken.arguments, "flash-attn")) return;
  taken.add_default("attn-implementation", {"eager"}, "FastChat of 2023, with transformers before 4.36");
}

void take_fast_chat(const Taken& taken) {
  take_attention_of_fast_chat(taken);
  taken.add_default("lora-r", {"8"});
  taken.add_default("lora-target-modules", {"q_proj,v_proj"});
}

// QwenLM/Qwen, finetune.py. Programs of other models have its name, too.
bool is_qwen(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  constexpr std::string_view kFamily = "qwen-";
  const std::string model = lower_case(value_of(arguments, "model-name-or-path"));
  const std::size_t size = model.find(kFamily) == model.npos ? model.size() : model.find(kFamily) + kFamily.size();
  const bool first = size < model.size() && model[size] >= '0' && model[size] <= '9';
  return first && last_of(arguments, "lazy-preprocess") != nullptr &&
         std::filesystem::path(program.front()).filename() == "finetune.py";
}

// Adapters without --q_lora, beside a model without "chat" in its name, leave its embedding and head to train whole.
void take_qwen(const Taken& taken) {
  std::vector<Argument>& arguments = taken.arguments;
  taken.origins.program = "Qwen's finetune.py";
  if (!is_on(arguments, "use-lora")) return;
  taken.add_default("lora-r", {"64"});
  taken.add_default("lora-target-modules", {"c_attn", "c_proj", "w1", "w2"});
  const bool chat = lower_case(value_of(arguments, "model-name-or-path")).find("chat") != std::string::npos;
  if (!chat && !is_on(arguments, "q-lora")) taken.add_default("modules-to-save", {"wte", "lm_head"});
}

// THUDM/ChatGLM-6B and ChatGLM2-6B, ptuning/main.py.
bool is_chat_glm(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  const auto has = [&](const char* name) { return last_of(arguments, name) != nullptr; };
  return std::filesystem::path(program.front()).filename() == "main.py" &&
         lower_case(value_of(arguments, "model-name-or-path")).find("chatglm") != std::string::npos &&
         std::ranges::all_of(std::array{"prompt-column", "response-column", "max-source-length"}, has);
}

// It calls gradient_checkpointing_enable() before it trains, whatever the flag says.
void take_chat_glm(const Taken& taken) {
  taken.origins.program = "ChatGLM's main.py";
  std::erase_if(taken.arguments, [](const Argument& one) { return one.name == "gradient-checkpointing"; });
  taken.add_default("gradient-checkpointing", {"true"});
}

}  // namespace

void take_chat_program(const std::vector<std::string>& program, const Taken& taken) {
  if (is_fast_chat(program)) return take_fast_chat(taken);
  if (is_fast_chat_whole(program)) return take_attention_of_fast_chat(taken);
  if (is_qwen(program, taken.arguments)) return take_qwen(taken);
  if (is_chat_glm(program, taken.arguments)) take_chat_glm(taken);
}

}  // namespace foretoken::io::launch::tuning
