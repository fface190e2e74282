// Start, requests and shared memory of a Python process: see session.hpp. What can go wrong is in session_failures.cpp.
#include "gadgets/python/session.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/private_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/wire/wait_for_any.hpp"

namespace tofstream {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string python_path(const fs::path& package) {
  const char* own = std::getenv("PYTHONPATH");
  return own && *own ? package.string() + ":" + own : package.string();
}

}  // namespace

PythonSession::PythonSession(PythonSettings settings, Context& context)
    : settings_(std::move(settings)),
      log_(context.log()),
      cancelled_(context.cancel_token()),
      arena_(SharedArena::instance()),
      socket_(zmq_, zmq::socket_type::pair) {
  socket_.set(zmq::sockopt::linger, 0);
  const PrivateTemporaryFolder meeting_place;
  const std::string endpoint = "ipc://" + (meeting_place.path() / "socket").string();
  socket_.bind(endpoint);
  const fs::path package = find_shared_file("python/tofstream/worker.py").parent_path().parent_path();
  child_ = std::make_unique<ChildProcess>(
      ChildOptions{{settings_.python, "-m", "tofstream.worker", settings_.script.string(), "--endpoint", endpoint,
                    "--arena", std::to_string(arena_->size())},
                   {{"PYTHONPATH", python_path(package)}, {"PYTHONUNBUFFERED", "1"}, {"PYTHONSAFEPATH", "1"}},
                   arena_->descriptor()},
      [this](bool is_error, std::string_view line) { log_line(is_error, line); });
  greet(context);
  load(context);
  is_ready_ = true;
}

PythonSession::~PythonSession() {
  if (!is_ready_ || !child_->how_ended().empty()) return;
  try {
    send({{"do", "quit"}});
    child_->wait(std::chrono::seconds(2));
  } catch (const std::exception& error) {
    log_.debug(error.what());
  }
}

void PythonSession::greet(Context& context) {
  const PythonJson hello = exchange(nullptr, settings_.start_timeout, "start_timeout_s", context).at("hello");
  if (hello.at("protocol") != python_protocol)
    throw std::runtime_error(fmt::format(
        "the Python package in {} is of another version ({}, protocol {}) than this program (protocol {}): install "
        "both from one release",
        hello.at("package").get<std::string>(), hello.at("version").get<std::string>(), hello.at("protocol").dump(),
        python_protocol));
  log_.debug(fmt::format("Python {}, NumPy {}, process {}", hello.at("python").get<std::string>(),
                         hello.at("numpy").get<std::string>(), child_->pid()));
}

void PythonSession::load(Context& context) {
  const PythonJson request{
      {"do", "load"}, {"takes", settings_.takes}, {"gives", settings_.gives}, {"arguments", settings_.arguments}};
  const PythonJson ready = exchange(request, settings_.start_timeout, "start_timeout_s", context).at("ready");
  where_ = ready.at("where").get<std::string>();
  has_flush_ = ready.at("has_flush").get<bool>();
}

void PythonSession::take_back() {
  for (const std::uint64_t lease : released_) leases_.erase(lease);
  released_.clear();
}

void PythonSession::lend(Lease lease) {
  leases_.emplace(++last_lease_, std::move(lease));
}

RangeOwner PythonSession::owner_of(std::size_t offset, std::size_t bytes) {
  const auto inside = [&](std::size_t begin, std::size_t size) {
    return offset >= begin && offset - begin <= size && bytes <= size - (offset - begin);
  };
  for (const auto& [number, lease] : leases_)
    for (const NamedRange& range : lease.ranges)
      if (inside(range.offset, range.bytes))
        return {std::make_shared<std::vector<std::shared_ptr<const void>>>(lease.owners), lease.is_payload};
  auto after = lent_.upper_bound(offset);
  if (after == lent_.begin() || !inside(std::prev(after)->first, std::prev(after)->second.block->bytes))
    throw std::runtime_error(fmt::format("{} gave memory that is not its own", where_));
  Lent& lent = std::prev(after)->second;
  std::shared_ptr<const void> holder = lent.holder.lock();
  if (!holder) {
    holder = std::shared_ptr<const void>(lent.block->data, [returned = returned_, block = lent.block](const void*) {
      const std::lock_guard lock(returned->mutex);
      returned->offsets.push_back(block->offset);
    });
    lent.holder = holder;
  }
  return {holder, false};
}

PythonJson PythonSession::ask(PythonJson request, Context& context) {
  request["lease"] = last_lease_;
  {
    const std::lock_guard lock(returned_->mutex);
    request["returned"] = std::exchange(returned_->offsets, {});
  }
  PythonJson reply = exchange(request, settings_.timeout, "timeout_s", context);
  for (const PythonJson& lease : reply.at("released")) released_.push_back(lease.get<std::uint64_t>());
  return reply;
}

// A request (null: none, the process speaks first) and what comes back, with the process's own needs met in between.
PythonJson PythonSession::exchange(const PythonJson& request, std::chrono::duration<double> limit,
                                   const char* parameter, Context& context) {
  if (!request.is_null()) send(request);
  const auto deadline =
      limit.count() > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(limit) : Clock::time_point::max();
  while (true) {
    PythonJson reply = receive(deadline, limit, parameter);
    if (const auto need = reply.find("need"); need != reply.end())
      send(lend_block(need->get<std::size_t>()));
    else if (const auto error = reply.find("error"); error != reply.end())
      fail_raised(*error, context);
    else
      return reply;
  }
}

PythonJson PythonSession::lend_block(std::size_t bytes) {
  auto block = arena_->allocate(bytes);
  const PythonJson answer{{"offset", block->offset}, {"bytes", block->bytes}};
  const std::size_t offset = block->offset;
  lent_.emplace(offset, Lent{std::move(block), {}});
  return answer;
}

PythonJson PythonSession::receive(Clock::time_point deadline, std::chrono::duration<double> limit,
                                  const char* parameter) {
  zmq::pollitem_t items[3] = {{socket_.handle(), 0, ZMQ_POLLIN, 0},
                              {nullptr, child_->ended_descriptor(), ZMQ_POLLIN, 0},
                              {nullptr, cancelled_.number(), ZMQ_POLLIN, 0}};
  PythonJson reply;
  while (Clock::now() < deadline) {
    const auto left = std::min<Clock::duration>(deadline - Clock::now(), std::chrono::seconds(1));
    wait_for_any(items, std::chrono::ceil<std::chrono::milliseconds>(left));
    if (receive_now(reply)) return reply;
    if (items[2].revents != 0) fail_cancelled();
    if (items[1].revents != 0) fail_dead();
  }
  fail_hanging(limit, parameter);
}

bool PythonSession::receive_now(PythonJson& reply) {
  zmq::message_t message;
  if (!socket_.recv(message, zmq::recv_flags::dontwait)) return false;
  reply = PythonJson::parse(message.to_string_view());
  return true;
}

void PythonSession::send(const PythonJson& message) {
  const std::string text = message.dump();
  if (!socket_.send(zmq::buffer(text), zmq::send_flags::dontwait)) fail_dead();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
