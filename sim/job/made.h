// A job and the remarks on it.
#pragma once

#include <utility>

#include "sim/job/job.h"
#include "sim/job/notes.h"

namespace foretoken::job {

/// The result of making a job: the job with its remarks. A Job converts to one without remarks, so `simulate(job)`
/// works.
struct Made {
  Made(Job of, Notes on = {}) : job(std::move(of)), notes(std::move(on)) {}  // NOLINT(google-explicit-constructor)

  Job job;
  Notes notes;
};

}  // namespace foretoken::job
