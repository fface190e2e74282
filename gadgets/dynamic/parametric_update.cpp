// Direct reconstruction of parametric images: events of all frames update the coefficients of functions of time, by
// nested EM (Wang and Qi 2010).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/dynamic/frame_functions.hpp"
#include "gadgets/dynamic/parametric_checkpoint.hpp"
#include "gadgets/io/dynamic/time_functions.hpp"
#include "gadgets/update/estimate_keeper.hpp"
#include "kernels/dynamic/nested_em.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

constexpr auto* parametric_name = "parametric_update";

/// What the update gives: for the projector, the image of the frame whose subset comes next; for those who show and
/// write, all frames' images at the end of an iteration; for a checkpoint, the coefficients after each update.
struct ParametricImages {
  std::shared_ptr<const Estimate> image, frames, coefficients;
  static constexpr auto outputs =
      ports(port<&ParametricImages::image>("image"), port<&ParametricImages::frames>("frames"),
            port<&ParametricImages::coefficients>("coefficients"));
};

struct ParametricUpdate {
  struct Params {
    std::filesystem::path input;
    double start_s = 1200;
    std::filesystem::path uptake = "ki.nii.gz";
    std::filesystem::path volume = "v.nii.gz";
    std::filesystem::path functions;
    int inner = 20;
    ImageParams image;
    float start_value = 1;
    float sensitivity_floor = default_sensitivity_fraction;
    BackendChoice backend = BackendChoice::automatic;
    std::filesystem::path resume_from;
  };
  static constexpr auto params = describe(
      param<&Params::input>("input", reads_file, plasma_words),
      param<&Params::start_s>("start_s", range(0, 1e9), unit("s"),
                              "Of input: t*, from which on tissue is in equilibrium with plasma; no frame may begin "
                              "before it"),
      param<&Params::uptake>("uptake", in_run_folder, uptake_words),
      param<&Params::volume>("volume", in_run_folder, volume_words),
      param<&Params::functions>("functions", reads_file, function_table_words),
      param<&Params::inner>("inner", range(1, 10000),
                            "EM steps of the coefficients in each update; they cost little beside a projection"),
      param<&Params::image>("image", "The image to reconstruct"),
      param<&Params::start_value>("start_value", range(1e-30, 1e30),
                                  "Value of every voxel of every frame at the start"),
      param<&Params::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                        "Voxels less sensitive than this fraction of the maximum become 0"),
      param<&Params::backend>("backend", "Where the update runs"),
      param<&Params::resume_from>("resume_from",
                                  "Folder of a run that was killed: this run continues from its checkpoint"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = start_of(p).memory();
    need.note = "and a back projection of each frame, an image for each function, and each twice more for an update";
    return need;
  }

  ParametricUpdate(const Params& p, Context& context)
      : p_(p), functions_(functions_of(p)), start_(start_of(p), parametric_name), inverse_(p.sensitivity_floor) {
    if (p.image.basis == Basis::blobs)
      throw std::invalid_argument("image: parametric images are of voxels, not of blobs");
    for (const CoefficientImage& image : functions_.images()) context.output_file(image.file);
    if (!p.resume_from.empty()) resume();
  }

  void start(Emit<ParametricImages>& emit) {
    if (!is_resumed()) return emit({.image = shared(start_.begin())});
    place();
    emit({.image = shared(resumed_image())});
  }

  void process(std::shared_ptr<const Projected> projected, Emit<ParametricImages>& emit, Context& context) {
    const UpdateStep step = projected->step;  // update() gives the back projections back
    if (step.iteration == 0)
      return emit({.image = shared(is_resumed() ? resumed_image() : *start_.without_update(*projected))});
    if (!step.is_joint)
      throw std::runtime_error("parametric_update takes subsets of all frames together: set together: true of framing");
    note_frame(*projected, context);
    came_.push_back(std::move(projected));
    if (came_.size() < static_cast<std::size_t>(step.frame.frames)) return emit_next(step, emit);
    if (step.recalled) {
      came_.clear();
    } else {
      update();
      emit({.coefficients = shared(parametric_estimate(state_, parametric_name))});
    }
    emit_next(step, emit);
    if (step.ends_iteration) emit_frames(emit);
  }

  void flush(Context& context) {
    if (state_.coefficients.empty())
      throw std::runtime_error("no frame came, which a course over time could be seen in: take framing for subsets");
    for (std::size_t m = 0; m < state_.coefficients.size(); ++m) functions_.write(m, state_.coefficients[m], context);
  }

 private:
  /// What is known of a frame, from its first subset on.
  struct Frame {
    UpdateStep step;  // of its last subset
    std::shared_ptr<const Quantity> quantity;
  };

  static UpdateParams start_of(const Params& p) {
    UpdateParams settings;
    settings.image = p.image;
    settings.start_value = p.start_value;
    settings.sensitivity_floor = p.sensitivity_floor;
    settings.backend = p.backend;
    return settings;
  }

  static FrameFunctions functions_of(const Params& p) {
    if (p.input.empty() == p.functions.empty())
      throw std::invalid_argument(
          "say what frames are sums of: give input, the activity of plasma, for K_i and V, or functions, a table");
    if (!p.functions.empty()) return FrameFunctions::of_table(p.functions);
    return FrameFunctions::of_plasma(formats::read_time_function(p.input), p.input, p.uptake, p.volume);
  }

  static std::shared_ptr<const Estimate> shared(Estimate estimate) {
    return std::make_shared<const Estimate>(std::move(estimate));
  }

  void resume() {
    auto found = read_parametric_checkpoint(p_.resume_from, functions_.count(), parametric_name);
    if (!found) return;
    state_ = std::move(*found);
    const Grid& grid = state_.coefficients.front().grid;
    if (!p_.image.is_auto() && !(grid == p_.image.grid()))
      throw std::runtime_error(
          fmt::format("the checkpoint in {} belongs to other images than `image` describes", p_.resume_from.string()));
    rejected_before_ = state_.rejected;
    events_before_ = state_.events;
    resumed_ = state_.update;
  }
  bool is_resumed() const { return resumed_ > 0; }

  // The checkpoint's images, where updates are made.
  void place() {
    const GadgetBackend backend(p_.backend);
    if (backend != Backend::cuda) return;
    for (Image& image : state_.coefficients) {
      Image there = image.to(Memory::device);
      synchronize(nullptr);  // before the host's image is released
      image = std::move(there);
    }
  }

  // The first frame's, with which the first update begins.
  Estimate resumed_image() const {
    return {
        .step = {.iteration = state_.iteration, .update = state_.update}, .image = image_of(0), .modality = modality_};
  }

  void note_frame(const Projected& projected, Context& context) {
    const std::size_t number = came_.size();
    if (projected.support) throw std::runtime_error("parametric images of views are not there: take list-mode events");
    if (!projected.coefficients_of.empty())
      throw std::runtime_error(
          fmt::format("parametric images are of voxels, and {} makes them of coefficients: leave it out",
                      projected.coefficients_of));
    const UpdateStep& step = projected.step;
    if (static_cast<std::size_t>(step.frame.number) != number + 1)
      throw std::runtime_error("a frame's subset is missing: each update needs one of every frame, in order");
    if (frames_.size() == number) {
      require_resumable(step);
      require_equilibrium(step.frame);
      decay_.note(projected.quantity.get(), context);
      take_functions(step.frame, functions_.of(step.frame, context));
      frames_.push_back({});
    }
    frames_[number] = {step, projected.quantity};
    modality_ = projected.modality;
  }

  // Those who give the subsets go on where this gadget does.
  void require_resumable(const UpdateStep& step) const {
    if (step.update == resumed_ + (step.recalled ? 0 : 1)) return;
    throw std::runtime_error(
        fmt::format("the first subset is of update {}, and these images are of update {}: set resume_from of this "
                    "gadget and of framing to the same folder",
                    step.update, resumed_));
  }

  void take_functions(const ScanFrame& frame, std::vector<double> functions) {
    const auto number = static_cast<std::size_t>(frame.number);
    if (!is_resumed()) return state_.functions.push_back(std::move(functions));
    if (static_cast<std::size_t>(frame.frames) == state_.functions.size() && functions == state_.functions[number - 1])
      return;
    throw std::runtime_error(
        fmt::format("resume_from: the checkpoint in {} is of other frames or functions of time, as frame {} of {} "
                    "shows: resume with the settings of the run that was killed, or leave resume_from out",
                    p_.resume_from.string(), frame.number, frame.frames));
  }

  void require_equilibrium(const ScanFrame& frame) const {
    if (p_.input.empty() || frame.start_s >= p_.start_s) return;
    throw std::runtime_error(
        fmt::format("frame {} begins at {:g} s, before start_s ({:g} s), from which on Patlak's plot holds: let "
                    "`frames` begin then, "
                    "as [{:g}-{:g}, 5x300]",
                    frame.number, frame.start_s, p_.start_s, p_.start_s, p_.start_s + 300));
  }

  void update() {
    std::vector<NestedFrame> data;
    for (std::size_t f = 0; f < came_.size(); ++f) {
      if (came_[f]->sensitivity != came_.back()->sensitivity)
        throw std::runtime_error("frames have sensitivities of their own, and parametric images need one for all");
      data.push_back({*came_[f]->back_projection, state_.functions[f], came_[f]->time_fraction});
    }
    const bool is_first = state_.coefficients.empty();
    if (is_first) begin();
    const Projected& last = *came_.back();
    const std::int64_t broken =
        nested_em_update(state_.coefficients, data, inverse_.of(last),
                         {.inner = p_.inner, .uniform = is_first ? std::optional(p_.start_value) : std::nullopt});
    require_finite(broken, last.step);
    state_.update = last.step.update;
    state_.iteration = last.step.iteration;
    state_.rejected = last.rejected;
    state_.rejected.events += rejected_before_.events;
    state_.events = last.events + events_before_;
    came_.clear();
  }

  // Each function has an equal part of the start value, in the mean over the frames' time.
  void begin() {
    const Image& like = *came_.back()->back_projection;
    for (std::size_t m = 0; m < functions_.count(); ++m) {
      double sum = 0, time = 0;
      for (std::size_t f = 0; f < frames_.size(); ++f) {
        sum += frames_[f].step.frame.duration_s * state_.functions[f][m];
        time += frames_[f].step.frame.duration_s;
      }
      if (!(sum > 0)) throw std::runtime_error(fmt::format("function {} is 0 in all frames: leave it out", m + 1));
      const double value = static_cast<double>(p_.start_value) * time / sum / static_cast<double>(functions_.count());
      state_.coefficients.push_back(Image::filled(like.grid, static_cast<float>(value), like.voxels.memory()));
    }
  }

  // Before the first update all frames are at the start image.
  std::shared_ptr<const Image> image_of(std::size_t frame) const {
    if (state_.coefficients.empty()) return start_.image();
    return std::make_shared<const Image>(frame_image(state_.coefficients, state_.functions[frame]));
  }

  void emit_next(const UpdateStep& step, Emit<ParametricImages>& emit) const {
    emit({.image = shared({.step = step, .image = image_of(came_.size()), .modality = modality_})});
  }

  void emit_frames(Emit<ParametricImages>& emit) const {
    for (std::size_t f = 0; f < frames_.size(); ++f) {
      UpdateStep step = frames_[f].step;
      step.ends_iteration = true;
      step.last = step.iteration == step.iterations && f + 1 == frames_.size();
      emit({.frames =
                shared({.step = step, .image = image_of(f), .quantity = frames_[f].quantity, .modality = modality_})});
    }
  }

  Params p_;
  FrameFunctions functions_;
  EstimateKeeper start_;
  InverseSensitivities inverse_;
  std::vector<Frame> frames_;
  std::vector<std::shared_ptr<const Projected>> came_;  // of the update at hand, by frame
  ParametricState state_;                               // no coefficients before the first update
  std::int64_t resumed_ = 0;                            // the checkpoint's update; 0: none
  Rejected rejected_before_;                            // by the checkpoint
  std::uint64_t events_before_ = 0;                     // likewise
  Modality modality_ = Modality::unknown;
  DecayWarning decay_;
};

TOFSTREAM_GADGET(
    ParametricUpdate, "parametric_update",
    "Updates coefficients of functions of time, such as K_i and V, with the events of all frames (nested EM)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
