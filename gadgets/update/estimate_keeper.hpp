// What every update does besides its arithmetic: it holds the estimate, begins with the start image or a checkpoint's
// image, restarts when told to, and keeps the inverse sensitivities of its subsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/per_image.hpp"
#include "gadgets/update/rest.hpp"

namespace tofstream {

/// What every update is told; one with parameters of its own derives from it.
struct UpdateParams {
  ImageParams image;
  float start_value = 1;
  float sensitivity_floor = 1e-3f;
  BackendChoice backend = BackendChoice::automatic;
  StopParams stop;
  std::filesystem::path resume_from;  // empty: none
  static constexpr auto params = describe(
      param<&UpdateParams::image>("image", "The image to reconstruct"),
      param<&UpdateParams::start_value>("start_value", range(1e-30, 1e30), "Value of every voxel at the start"),
      param<&UpdateParams::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                              "Voxels less sensitive than this fraction of the maximum become 0"),
      param<&UpdateParams::backend>("backend", "Where the update runs"), param<&UpdateParams::stop>("stop", stop_words),
      param<&UpdateParams::resume_from>("resume_from",
                                        "Folder of a run that was killed: this run continues from its checkpoint"));

  /// The inverse sensitivity and the last estimate; each estimate that an update gives is another image. How many
  /// subsets there will be, and whether each has a sensitivity of its own, is the projector's to know.
  MemoryNeed memory() const;
};

class EstimateKeeper {
 public:
  /// `algorithm`: the gadget's name, which checkpoints are to have. Throws std::invalid_argument for an impossible
  /// image, std::bad_alloc for one that memory has no room for, and std::runtime_error for a checkpoint that is
  /// unreadable, of another image or of another algorithm.
  EstimateKeeper(const UpdateParams& settings, std::string algorithm);

  /// What goes to the projector first, in the backend's memory: an announcement where the scanner has yet to decide the
  /// grid. Sets a GPU up and fills a large image, so it takes some tenths of a second.
  Estimate begin();
  /// The answer to an announcement, a restart, a step that was passed or a frame that is recalled, which ask for no
  /// update; nothing for any other `projected`. Throws std::runtime_error for a frame's checkpoint that does not fit.
  std::optional<Estimate> without_update(const Projected& projected);
  /// The image that went out last; null where only an announcement did.
  const std::shared_ptr<const Image>& image() const { return image_; }
  /// A copy of the estimate for an update to work on, since the estimate that went out may still be read.
  std::shared_ptr<Image> copy() const;
  /// The estimate that goes out after an update: `next`, with the quantity that it shows by now. `kept`: what the
  /// algorithm keeps besides the image. Where the updates have come to rest, it is the last one.
  Estimate updated(std::shared_ptr<const Image> next, const Projected& projected, Context& context,
                   std::map<std::string, double> kept = {});
  /// What the algorithm kept by the last update, or by the checkpoint; nothing after a restart.
  const std::map<std::string, double>& kept() const { return kept_; }
  /// Whether it began with a checkpoint's image.
  bool is_resumed() const { return resumed_.iteration > 0; }

 private:
  static void end(UpdateStep& step);
  void begin_on(const Grid& grid);
  // The estimate to begin with: a start image, or that of the checkpoint with what it knows.
  Estimate first(const std::optional<GridWish>& wish = {}) const;
  void resume();
  Estimate recalled(const Projected& projected);
  Checkpoint checkpoint_of(const UpdateStep& step);
  void give(const Estimate& estimate);
  void take(Checkpoint checkpoint);
  void require_resumable(const UpdateStep& step);
  void tell_of_resume(Context& context);
  void place();

  std::string algorithm_;
  std::filesystem::path resume_from_;  // empty: it begins with the start image
  bool has_frames_ = false;            // whose images lie there
  bool has_begun_ = false;             // a subset has come
  bool has_told_ = false;              // where it goes on
  Grid grid_;
  std::optional<GridWish> wish_;  // where the scanner decides the grid
  float start_value_;
  GadgetBackend backend_;
  UpdateStep resumed_ = {.iteration = 0};
  Rejected rejected_before_;         // by the checkpoint
  std::uint64_t events_before_ = 0;  // likewise
  // Where groups share the frames: what was projected here so far, and of it what was given away.
  Rejected rejected_here_, rejected_given_;
  std::uint64_t events_here_ = 0, events_given_ = 0;
  RestRule rest_;
  std::map<std::string, double> kept_;
  std::shared_ptr<const Image> image_;
  std::shared_ptr<HostCopy> host_copy_ = std::make_shared<HostCopy>();  // of the start image, which may go out twice
  QuantitySoFar quantity_;                                              // of the image
  QuantitySoFar resumed_quantity_;                                      // of the checkpoint's
  Modality modality_ = Modality::unknown;                               // as the projector says it
};

/// Throws std::runtime_error, which names the folder, where a checkpoint says that another gadget made its updates.
void require_made_by(const std::string& algorithm, const CheckpointStep& step, const std::filesystem::path& folder);

/// Throws std::runtime_error, which names the update, where an update found voxels that are not finite: what follows
/// would be computed from a wrong image.
void require_finite(std::int64_t not_finite, const UpdateStep& step);

/// The subsets' 1/s are kept up to this size. Those of large images are computed anew, which takes little of an
/// update's time.
inline constexpr std::size_t most_bytes_of_inverses = std::size_t{128} << 20;

/// 1/s of each subset, computed when the subset first comes and kept for as long as it comes again, or until there is
/// no room for it.
class InverseSensitivities {
 public:
  /// `floor`: see inverse_sensitivity().
  explicit InverseSensitivities(float floor) : floor_(floor) {}
  /// Valid until the next call.
  const Image& of(const Projected& projected);
  /// 1/s of the whole, of which the subset is a part. What of() gave for the same back projection stays valid.
  const Image& of_whole(const Projected& projected);

 private:
  float floor_;
  PerImage<Image> inverses_, wholes_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
