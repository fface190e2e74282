// Processes of groups: see group_processes.hpp.
#include "tools/command/group_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/gpus.hpp"
#include "core/base/log.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "tools/command/errors.hpp"
#include "tools/serve/gpu_servers.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

constexpr const char* place_variable = "TOFSTREAM_GROUP";  // "1/3 FOLDER"
constexpr const char* gpus_variable = "CUDA_VISIBLE_DEVICES";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

int gpus_here() {
  const int there = static_cast<int>(gpus_of_this_machine().names.size());
  const auto visible = variable(gpus_variable);
  if (there == 0 || !visible) return there;
  const bool is_none = visible->empty() || visible->front() == '-';
  return is_none ? 0 : static_cast<int>(std::ranges::count(*visible, ',')) + 1;
}

// Part `number` of `parts` of so many: from, and to.
std::pair<std::size_t, std::size_t> part(std::size_t number, std::size_t parts, std::size_t all) {
  return {all * number / parts, all * (number + 1) / parts};
}

/// What a group may use of the host; empty: all.
struct HostShare {
  std::optional<cpu_set_t> cores;
  std::optional<std::string> gpus;
};

std::optional<cpu_set_t> cores_of(int group, int groups) {
  cpu_set_t all, own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < groups) return {};
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) cores.push_back(core);
  const auto [from, to] = part(static_cast<std::size_t>(group), static_cast<std::size_t>(groups), cores.size());
  for (std::size_t i = from; i < to; ++i) CPU_SET(cores[i], &own);
  return own;
}

std::vector<HostShare> shares_of_host(int groups, bool uses_gpus) {
  const int gpus = uses_gpus ? gpus_here() : 0;
  if (gpus > 0 && gpus < groups)
    throw InputError(fmt::format(
        "groups: {} groups need a GPU each, and this host has {}: write fewer groups, or backend: cpu", groups, gpus));
  std::vector<HostShare> shares;
  for (int group = 0; group < groups; ++group) {
    HostShare& share = shares.emplace_back(HostShare{cores_of(group, groups), {}});
    if (gpus == 0) continue;
    const auto [from, to] =
        part(static_cast<std::size_t>(group), static_cast<std::size_t>(groups), static_cast<std::size_t>(gpus));
    std::vector<int> own(to - from);
    std::iota(own.begin(), own.end(), static_cast<int>(from));
    share.gpus = serve::visible_devices(own, variable(gpus_variable));
  }
  return shares;
}

// As it was given to this process, for another one.
std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::vector<std::string> environment_of(const GroupPlace& place, const HostShare& share) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry)
    if (!share.gpus || !std::string_view(*entry).starts_with(std::string(gpus_variable) + "="))
      all.emplace_back(*entry);
  if (share.gpus) all.push_back(fmt::format("{}={}", gpus_variable, *share.gpus));
  all.push_back(fmt::format("{}={}/{} {}", place_variable, place.group, place.groups, place.folder.string()));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// What lies between fork and exec: there, only async-signal-safe functions may be called.
struct GroupStart {
  std::vector<char*> arguments, environment;
  const cpu_set_t* cores;
  const char* log;
  pid_t parent;
};

[[noreturn]] void become_group(const GroupStart& start) {
  ::setpgid(0, 0);  // an interrupt from the terminal is for the parent
  // The parent is the thread that forked, which lives until it has reaped this child.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (start.cores) ::sched_setaffinity(0, sizeof(*start.cores), start.cores);
  const int log = ::open(start.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (log < 0 || nothing < 0) ::_exit(127);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(3, ~0U, 0);
  ::execve("/proc/self/exe", start.arguments.data(), start.environment.data());
  ::_exit(127);
}

std::string last_line(const fs::path& log) {
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

// The level and the text of a line of the log: "12:05:07.123 warning projected: ...".
std::optional<std::pair<std::string, std::string>> logged_in(const std::string& line) {
  const auto level = line.find(' ');
  const auto text = level == std::string::npos ? level : line.find(' ', level + 1);
  if (text == std::string::npos) return {};
  return std::pair(line.substr(level + 1, text - level - 1), line.substr(text + 1));
}

std::string end_of(int status, const fs::path& log) {
  if (WIFSIGNALED(status)) return fmt::format("it was killed by signal {}", WTERMSIG(status));
  const std::string said = last_line(log);
  return said.empty() ? fmt::format("it ended with exit code {}", WEXITSTATUS(status)) : said;
}

}  // namespace

std::optional<GroupPlace> take_group_place() {
  const auto text = variable(place_variable);
  if (!text) return {};
  ::unsetenv(place_variable);
  GroupPlace place;
  const char* const end = text->data() + text->size();
  const auto [slash, no_group] = std::from_chars(text->data(), end, place.group);
  if (no_group != std::errc() || slash == end || *slash != '/') return {};
  const auto [space, no_groups] = std::from_chars(slash + 1, end, place.groups);
  if (no_groups != std::errc() || space == end || place.group < 1 || place.group > place.groups) return {};
  place.folder = std::string(space + 1, end);
  return place;
}

class GroupProcesses::State {
 public:
  explicit State(Settings settings)
      : settings_(std::move(settings)), shares_(shares_of_host(settings_.groups, settings_.uses_gpus)) {}
  ~State() { end(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void begin(RunControl& run, const fs::path& output_dir) try {
    folder_ = fs::absolute(output_dir) / ".groups";
    fs::remove_all(folder_);  // of a run that was killed
    fs::create_directory(folder_);
    own_.emplace(folder_, 0, settings_.groups);
    in_use_.emplace(*own_);
    for (int group = 1; group <= settings_.groups; ++group) start(group);
    watch_ = std::jthread([this, &run](const std::stop_token& stop) { watch(run, stop); });
  } catch (const std::exception& error) {
    run.fail({"", fmt::format("groups: cannot be started: {}", error.what()), {}, std::nullopt});
  }

  void end() {
    watch_.request_stop();
    if (watch_.joinable()) watch_.join();
    for (Child& child : children_) pass_on(child);
    for (Child& child : children_) {
      if (child.process <= 0) continue;
      ::kill(child.process, SIGKILL);
      ::waitpid(std::exchange(child.process, 0), nullptr, 0);
    }
    in_use_.reset();
    std::error_code none;
    if (!folder_.empty()) fs::remove_all(std::exchange(folder_, {}), none);
  }

 private:
  struct Child {
    pid_t process = 0;
    fs::path log;
    std::streamoff read = 0;  // of the log
  };

  void start(int group) {
    Child& child = children_.emplace_back(Child{0, folder_ / fmt::format("log_{}", group)});
    const HostShare& share = shares_[static_cast<std::size_t>(group - 1)];
    std::vector<std::string> arguments = own_command(),
                             environment = environment_of({group, settings_.groups, folder_}, share);
    const GroupStart start{pointers(arguments), pointers(environment), share.cores ? &*share.cores : nullptr,
                           child.log.c_str(), ::getpid()};
    child.process = ::fork();
    if (child.process == 0) become_group(start);
    if (child.process < 0) throw std::system_error(errno, std::generic_category(), "fork");
  }

  void watch(RunControl& run, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds between_looks{50};
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, between_looks, [&] { return stop.stop_requested(); }))
      for (std::size_t i = 0; i < children_.size(); ++i) {
        Child& child = children_[i];
        pass_on(child);
        int status = 0;
        if (child.process <= 0 || ::waitpid(child.process, &status, WNOHANG) != child.process) continue;
        child.process = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        run.fail({"", fmt::format("group {}: {}", i + 1, end_of(status, child.log)), {}, std::nullopt});
        return;
      }
  }

  // What several groups say alike is said once.
  void pass_on(Child& child) {
    std::ifstream file(child.log, std::ios::binary);
    file.seekg(child.read);
    for (std::string line; std::getline(file, line) && !file.eof(); child.read = file.tellg()) {
      const auto said = logged_in(line);
      if (said && is_of_groups(said->second) && passed_on_.insert(said->second).second)
        program_log().log(spdlog::level::from_str(said->first), "{}", said->second);
    }
  }

  bool is_of_groups(const std::string& said) const {
    return std::ranges::any_of(settings_.gadgets,
                               [&](const std::string& name) { return said.starts_with(name + ": "); });
  }

  const Settings settings_;
  const std::vector<HostShare> shares_;
  fs::path folder_;
  std::optional<FrameGroups> own_;
  std::optional<FrameGroupsInUse> in_use_;
  std::vector<Child> children_;
  std::set<std::string> passed_on_;
  std::jthread watch_;
};

GroupProcesses::GroupProcesses(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
GroupProcesses::~GroupProcesses() = default;

void GroupProcesses::begin(RunControl& run, const fs::path& output_dir) {
  state_->begin(run, output_dir);
}

void GroupProcesses::end() {
  state_->end();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
