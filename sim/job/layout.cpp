// Deals layers to chunks, and finds the chunks of embedding and head.
#include "sim/job/layout.h"

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace foretoken::job {
namespace {

Dealing dealing_of(const Job& job) {
  const std::optional<Dealing> dealing = deal_layers(job.model.layers, job.parallelism);
  expects(dealing.has_value(), "the layers of a job can be dealt out; reading it checks that");
  return *dealing;
}

/// Returns the ends where virtual stage k p + r is chunk k of stage r. A search asks for them too often to build a
/// placement.
ModelEnds looped_ends(int stages, int chunks, Stage stage, Chunk chunk) {
  return {.embedding = stage.number() == 0 && chunk.number() == 0,
          .head = stage.number() + 1 == stages && chunk.number() + 1 == chunks};
}

/// Returns the stage with such an end; the first one where the model stands twice.
Stage stage_where(const Job& job, bool ModelEnds::*end) {
  const Layout layout(job);
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      if (layout.ends(stage, chunk).*end) return stage;
  contract_broken("every model has an embedding and a head", __FILE__, __LINE__);
}

}  // namespace

// Megatron's account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split: both count as a layer.
Dealing::Dealing(std::int64_t layers, const Parallelism& parallelism)
    : stages_(parallelism.pipeline),
      chunks_a_stage_(std::max(1, parallelism.virtual_pipeline / parallelism.copies)),
      extra_(parallelism.embedding_and_head_as_layers ? 1 : 0),
      share_((layers + 2 * extra_) / (std::int64_t{stages_} * chunks_a_stage_)),
      stated_(parallelism.layers_per_stage),
      whole_copies_(parallelism.virtual_pipeline % parallelism.copies == 0) {
  if (stated_.empty() && encoder_stages(parallelism) > 0) deal_halves(layers, parallelism);
}

// No stage has layers of both halves (Megatron-LM 23.04, megatron/core/parallel_state.py, the split rank).
void Dealing::deal_halves(std::int64_t layers, const Parallelism& parallelism) {
  const std::int64_t encoder = parallelism.encoder_layers, decoder = layers - encoder;
  const int before = encoder_stages(parallelism), behind = stages_ - before;
  halves_fit_ = before > 0 && behind > 0 && encoder % before == 0 && decoder % behind == 0 && chunks_a_stage_ == 1;
  if (!halves_fit_) return;
  stated_.assign(static_cast<std::size_t>(before), static_cast<int>(encoder / before));
  stated_.insert(stated_.end(), static_cast<std::size_t>(behind), static_cast<int>(decoder / behind));
}

bool Dealing::works(std::int64_t layers) const {
  if (!whole_copies_ || !halves_fit_) return false;
  if (stated_.empty()) {
    const bool even = (layers + 2 * extra_) % chunks() == 0;
    return even && layers >= 1 && share_ - (chunks() == 1 ? 2 * extra_ : extra_) >= 0;
  }
  const int unit = states_chunks() ? 1 : chunks_a_stage_;
  const bool cut =
      !leaves_chunk_empty(stated_, unit) && std::ranges::all_of(stated_, [&](int of) { return of % unit == 0; });
  const std::int64_t sum = std::accumulate(stated_.begin(), stated_.end(), std::int64_t{0});
  return (states_chunks() || static_cast<int>(stated_.size()) == stages_) && sum == layers && cut;
}

int Dealing::layers(Stage stage, int at, int ends) const {
  if (states_chunks() || (!stated_.empty() && chunks_a_stage_ == 1)) return stated_.at(static_cast<std::size_t>(at));
  if (!stated_.empty()) return stated_.at(stage.index()) / chunks_a_stage_;
  return static_cast<int>(share_ - ends * extra_);
}

int Dealing::layers(Stage stage, Chunk chunk) const {
  const int at = chunk.number() * stages_ + stage.number();
  return layers(stage, at, looped_ends(stages_, chunks_a_stage_, stage, chunk).count());
}

std::int64_t Dealing::before(Stage stage, Chunk chunk) const {
  const std::int64_t chunks = std::int64_t{stages_} * chunk.number() + stage.number();
  if (stated_.empty()) return share_ * chunks - (chunks > 0 ? extra_ : 0);
  if (states_chunks()) return std::accumulate(stated_.begin(), stated_.begin() + chunks, std::int64_t{0});
  const std::int64_t whole = std::accumulate(stated_.begin(), stated_.end(), std::int64_t{0}) * chunk.number();
  const auto here = stated_.begin() + stage.number();
  return (whole + std::accumulate(stated_.begin(), here, std::int64_t{0})) / chunks_a_stage_;
}

int Dealing::largest() const {
  int most = 0;
  for (const Stage stage : ids<Stage>(stages_))
    for (const Chunk chunk : ids<Chunk>(chunks_a_stage_)) most = std::max(most, layers(stage, chunk));
  return most;
}

std::optional<Dealing> deal_layers(std::int64_t layers, const Parallelism& parallelism) {
  expects(parallelism.pipeline > 0 && parallelism.virtual_pipeline > 0, "degrees are positive");
  Dealing dealing(layers, parallelism);
  if (!dealing.works(layers)) return std::nullopt;
  return dealing;
}

bool leaves_chunk_empty(const std::vector<int>& layers, int chunks) {
  for (std::size_t at = 0; at < layers.size(); ++at) {
    const bool end = chunks == 1 && (at == 0 || at + 1 == layers.size());
    if (layers[at] < (end ? 0 : chunks)) return true;
  }
  return false;
}

int ChunkContents::layer_count() const {
  return std::accumulate(layers.begin(), layers.end(), 0,
                         [](int sum, const model::LayerCount& run) { return sum + run.count; });
}

Layout::Layout(const Job& job) : job_(job), dealing_(dealing_of(job)) {
  if (job.schedule.place) placement_ = placement_of(job);
}

std::int64_t Layout::layers_before(schedule::Place at) const {
  if (!placement_) return dealing_.before(at.stage, at.chunk);
  std::int64_t count = 0;
  for (const schedule::Place* before = placement_->neighbour(at, schedule::Neighbour::kPrevious); before;
       before = placement_->neighbour(*before, schedule::Neighbour::kPrevious))
    count += layers(before->stage, before->chunk);
  return count;
}

// Returns the number of the virtual stage at a place: the chunks before it on the line.
int Layout::place_in_line(schedule::Place at) const {
  if (!placement_) return at.chunk.number() * job_.parallelism.pipeline + at.stage.number();
  int chunks = 0;
  for (const schedule::Place* before = placement_->neighbour(at, schedule::Neighbour::kPrevious); before;
       before = placement_->neighbour(*before, schedule::Neighbour::kPrevious))
    ++chunks;
  return chunks;
}

ModelEnds Layout::ends(Stage stage, Chunk chunk) const {
  const Parallelism& parallel = job_.parallelism;
  if (!placement_) return looped_ends(parallel.pipeline, parallel.virtual_pipeline, stage, chunk);
  return {.embedding = placement_->is_first({stage, chunk}), .head = placement_->is_last({stage, chunk})};
}

int Layout::layers(Stage stage, Chunk chunk) const {
  return dealing_.layers(stage, place_in_line({stage, chunk}), ends(stage, chunk).count());
}

ChunkContents Layout::contents(Stage stage, Chunk chunk) const {
  const ModelEnds both = ends(stage, chunk);
  const std::int64_t before = job_.model.one_kind() ? 0 : layers_before({stage, chunk});
  return {.layers = model::layers_between(job_.model, before, layers(stage, chunk)),
          .embedding = both.embedding,
          .head = both.head};
}

StageContents Layout::contents(Stage stage) const {
  StageContents all;
  for (const Chunk chunk : ids<Chunk>(job_.parallelism.virtual_pipeline))
    for (const model::LayerCount& run : all.chunks.emplace_back(contents(stage, chunk)).layers) {
      const auto same = std::ranges::find(all.layers, run.kind, &model::LayerCount::kind);
      if (same == all.layers.end())
        all.layers.push_back(run);
      else
        same->count += run.count;
    }
  return all;
}

int Job::layers_in(Stage stage, Chunk chunk) const { return Layout(*this).layers(stage, chunk); }

ChunkContents contents_of(const Job& job, Stage stage, Chunk chunk) { return Layout(job).contents(stage, chunk); }

std::vector<model::LayerCount> layers_of(const Job& job, Stage stage) { return Layout(job).contents(stage).layers; }

int recomputed_layers(const Job& job, int layers) {
  return job.recompute.block ? std::min(job.recompute.layers, layers) : layers;
}

std::vector<model::LayerCount> first_layers(const std::vector<model::LayerCount>& layers, int count) {
  std::vector<model::LayerCount> first;
  for (model::LayerCount run : layers) {
    run.count = std::min(run.count, count);
    count -= run.count;
    if (run.count > 0) first.push_back(run);
  }
  return first;
}

Stage stage_of_embedding(const Job& job) {
  return job.schedule.place ? stage_where(job, &ModelEnds::embedding) : id_of<Stage>(0);
}

Stage stage_of_head(const Job& job) {
  return job.schedule.place ? stage_where(job, &ModelEnds::head) : id_of<Stage>(job.parallelism.pipeline - 1);
}

std::optional<Stage> stage_of_decoder_table(const Job& job) {
  if (encoder_stages(job.parallelism) == 0) return std::nullopt;
  const Stage last = id_of<Stage>(job.parallelism.pipeline - 1);
  std::int64_t before = 0;
  Stage stage = id_of<Stage>(0);
  for (; stage < last; stage = id_of<Stage>(stage.number() + 1)) {
    if (before >= job.parallelism.encoder_layers) break;
    before += job.layers_in(stage, Chunk{0});
  }
  if (stage == last && job.model.tied_embeddings) return std::nullopt;
  return stage;
}

bool stages_share_embedding(const Job& job) {
  const bool needed = job.model.tied_embeddings || job.model.prediction_layers > 0;
  return needed && stage_of_embedding(job) != stage_of_head(job);
}

}  // namespace foretoken::job
