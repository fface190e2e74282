// The folder of one run's results: who may write there, and which of its files are that run's. A run holds a lock on
// its folder, which the system releases with the process, however that ends; run.json lists the run's files by name.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/value/value.hpp"

namespace tofstream {

// A file that belongs to a run: its name within the folder, and the gadget that writes it ("": none).
struct RunFile {
  std::string name;
  std::string gadget;
  bool operator==(const RunFile&) const = default;
};

// What becomes of a run that a folder holds already: the new run is refused; or it clears the files that the run.json
// of the earlier one lists; or it goes on with the earlier one, whose files become its own.
enum class EarlierRun { refuse, overwrite, resume };

class RunFolder {
 public:
  // Makes the folder if it is missing, and locks it; nothing in it is changed. Others are told `run` as the one that is
  // there. Throws std::runtime_error, in one line that says what to do: no folder can be made there, another run holds
  // it, or it holds an earlier run that is not to be touched.
  RunFolder(std::filesystem::path path, std::string_view run, EarlierRun earlier);
  // Releases the lock, and removes the folder if it was made for a run that did not begin.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // The run begins: its files will be `own`, and `parameters` are its pipeline's. What is left of an earlier run that
  // it does not go on with is cleared, and nothing else. Throws std::runtime_error before anything is changed, if a
  // parameter names what would be cleared, or if a file of one of these names is there that no run.json lists.
  void begin(const std::vector<RunFile>& own, const Value& parameters);

  const std::filesystem::path& path() const { return path_; }
  // The files of the run that this one goes on with.
  const std::vector<RunFile>& resumed() const { return resumed_; }

 private:
  void lock(std::string_view run);
  void release() const;
  void look_at_earlier_run();
  void clear(const std::vector<RunFile>& own, const Value& parameters) const;

  const std::filesystem::path path_;
  const EarlierRun earlier_;
  std::vector<RunFile> resumed_;
  int descriptor_ = -1;  // of the lock
  bool made_ = false, began_ = false;
};

// The files that a folder's run.json lists and that are there. Throws std::runtime_error, in one line, where
// there is no run.json, or one that lists none.
std::vector<RunFile> files_of_run(const std::filesystem::path& folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
