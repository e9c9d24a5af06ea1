// InBuffer: bytes that came from a connection and are not used yet.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace hapax::http {

// Grows by the arguments of prepare(), which its callers bound, never by a length that the client announces. New memory
// is not zeroed: zeroing would double the cost of a 64 KiB read.
class InBuffer {
 public:
  [[nodiscard]] std::string_view view() const { return {memory_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  // Room for `bytes` more bytes after the present ones; may move those, which invalidates views of them.
  [[nodiscard]] char* prepare(std::size_t bytes) {
    if (begin_ == end_) { begin_ = end_ = 0; }
    if (size_ - end_ < bytes) {
      if (size_ - (end_ - begin_) < bytes) {
        move_to(end_ - begin_ + bytes);
      } else {
        std::memmove(memory_.get(), memory_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
      }
    }
    return memory_.get() + end_;
  }
  void commit(std::size_t bytes) { end_ += bytes; }

  // Between requests: frees the memory that a large request needed.
  void shrink(std::size_t keep) {
    if (size_ > keep && end_ - begin_ <= keep) { move_to(keep); }
  }

 private:
  void move_to(std::size_t size) {
    auto other = std::make_unique_for_overwrite<char[]>(size);
    if (begin_ < end_) { std::memcpy(other.get(), memory_.get() + begin_, end_ - begin_); }
    end_ -= begin_;
    begin_ = 0;
    memory_ = std::move(other);
    size_ = size;
  }

  std::unique_ptr<char[]> memory_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hapax::http
