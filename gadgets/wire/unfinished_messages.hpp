// Messages that never end. libzmq keeps the parts of a message until its last has come, bounds each part by
// ZMQ_MAXMSGSIZE and bounds neither their number nor their sum: one peer can fill the memory. All messages of this
// program have one part, so a connection on which more is under way than the largest message is cut.
//
// How much is under way is what the kernel has given libzmq on the connection (TCP_INFO) without what libzmq has given
// on. So it is for tcp only; over ipc the folder of the socket says who may connect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace zmq {
class message_t;
}

namespace tofstream {

class UnfinishedMessages {
 public:
  /// `largest`: bytes of the largest message that may come; 0: nothing is bounded.
  UnfinishedMessages(std::uint64_t largest, bool is_encrypted) : largest_(largest), is_encrypted_(is_encrypted) {}

  /// A connection, by its descriptor, which is libzmq's and may have been closed since. From any thread; the rest is
  /// called by the thread that receives, in this order, again and again.
  void opened(int descriptor);
  /// Whether there are connections to look at.
  bool has_any() const;
  /// Notes what each connection has brought, before what is there is received.
  void look();
  /// A message, or a part of one, that was received since.
  void took(zmq::message_t& message);
  /// Cuts the connections that had brought more than was received by now, after all that was there has been; how many.
  std::size_t cut();

 private:
  struct Connection {
    std::uint64_t brought = 0;  // bytes that libzmq has read, at the latest look
    std::uint64_t taken = 0;    // bytes of the messages that it has given on
    std::int64_t since_ns = 0;  // steady clock, at the first look
    int descriptor = -1;        // -1: not seen open yet
    bool is_cut = false;
  };
  using Cookie = std::uint64_t;  // the kernel's number of a socket, which no other ever has

  const std::uint64_t largest_;
  const bool is_encrypted_;
  mutable std::mutex mutex_;  // of the descriptors
  std::set<int> descriptors_;
  std::map<Cookie, Connection> connections_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
