// The multiplicative update of list-mode EM (paper 000, eq. 1): x <- x / (s T_k/T) * A^T(1 / (A x +
// c/m)).
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/em/em_update.hpp"

namespace tofstream {
namespace {

struct OsemUpdate {
  struct Params {
    ImageParams image;
    float start_value = 1;
    float sensitivity_floor = 1e-3f;
    BackendChoice backend = BackendChoice::automatic;
    std::filesystem::path resume_from;
  };
  static constexpr auto params = describe(
      param<&Params::image>("image", "The image to reconstruct"),
      param<&Params::start_value>("start_value", range(1e-30, 1e30), "Value of every voxel at the start"),
      param<&Params::sensitivity_floor>("sensitivity_floor", range(0, 1),
                                        "Voxels less sensitive than this fraction of the maximum become 0"),
      param<&Params::backend>("backend", "Where the update runs"),
      param<&Params::resume_from>("resume_from", "Folder of a run that was killed, whose checkpoint is gone on from"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // The inverse sensitivity and the last estimate; each estimate that it gives is another image.
  static MemoryNeed memory(const Params& p) {
    MemoryNeed need = image_memory(p.backend, 2 * p.image.bytes(), p.image.bytes(), "image.size");
    need.is_limit = p.image.is_auto();
    return need;
  }

  explicit OsemUpdate(const Params& p) : start_value_(p.start_value), floor_(p.sensitivity_floor), backend_(p.backend) {
    if (p.image.is_auto()) {
      wish_ = p.image.wish();
    } else {
      grid_ = p.image.grid();
      validate_basis(grid_);
      const Buffer<float> room(Memory::host, grid_.voxels());  // where there is none, nothing begins
    }
    if (!p.resume_from.empty()) resume(p.resume_from);
  }

  // The first use of a GPU sets it up, and a large image is filled, which takes some tenths of a second: here, and not
  // in the constructor, so that other gadgets read and decode meanwhile.
  void start(Emit<Estimate>& emit) {
    if (image_)
      image_ = in_memory_of_backend(image_);
    else if (!wish_)
      image_ = start_image();
    // Without an image where the scanner has yet to decide the grid.
    emit(Estimate{resumed_, image_, quantity_.get(), wish_});
  }

  void process(std::shared_ptr<const Projected> projected, Emit<Estimate>& emit, Context& context) {
    if (projected->step.restart) {
      begin_on(grid_);
      quantity_ = {};
      emit(Estimate{projected->step, image_});
      return;
    }
    if (projected->step.iteration == 0) {
      if (!image_) begin_on(projected->back_projection->grid);
      return emit(Estimate{resumed_, image_, quantity_.get()});
    }
    if (projected->sensitivity != sensitivity_) {
      sensitivity_ = projected->sensitivity;
      inverse_ = inverse_sensitivity(*sensitivity_, floor_);
    }
    // The estimate that went out is immutable and may still be read: the update is made on a copy.
    auto next = std::make_shared<Image>(image_->to(memory_of(backend_)));
    const std::int64_t broken = em_update(*next, inverse_, *projected->back_projection, projected->time_fraction);
    if (broken > 0) context.log().warning(fmt::format("{} voxels were not finite and became 0", broken));
    image_ = next;
    quantity_.add(projected->quantity);
    emit(Estimate{projected->step, image_, quantity_.get()});
  }

 private:
  std::shared_ptr<const Image> start_image() const {
    return std::make_shared<const Image>(Image::filled(grid_, start_value_, memory_of(backend_)));
  }

  void begin_on(const Grid& grid) {
    grid_ = grid;
    image_ = start_image();
  }

  void resume(const std::filesystem::path& folder) {
    auto checkpoint = read_checkpoint(folder);
    if (!checkpoint) return;
    if (!wish_ && !(checkpoint->image.grid == grid_))
      throw std::runtime_error(
          fmt::format("the checkpoint in {} is of another image than `image` says", folder.string()));
    resumed_ = {.iteration = checkpoint->step.iteration, .update = checkpoint->step.update};
    quantity_.add(checkpoint->quantity);
    grid_ = checkpoint->image.grid;
    image_ = std::make_shared<const Image>(std::move(checkpoint->image));
  }

  std::shared_ptr<const Image> in_memory_of_backend(const std::shared_ptr<const Image>& image) const {
    if (backend_ != Backend::cuda) return image;
    auto there = std::make_shared<const Image>(image->to(Memory::device));
    synchronize(nullptr);  // before the host's image is released
    return there;
  }

  Grid grid_;
  std::optional<GridWish> wish_;  // where the scanner decides the grid
  float start_value_;
  float floor_;
  GadgetBackend backend_;
  UpdateStep resumed_ = {.iteration = 0};
  std::shared_ptr<const Image> image_;
  QuantitySoFar quantity_;  // of the image
  std::shared_ptr<const Image> sensitivity_;
  Image inverse_;
};

TOFSTREAM_GADGET(OsemUpdate, "osem_update", "Multiplies the estimate by back projection over sensitivity (EM, OSEM)");

}  // namespace
}  // namespace tofstream
