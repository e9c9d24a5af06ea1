// InBuffer: bytes that came from a connection and are not used yet.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace hapax::server {

// Grows by what is asked of prepare(), which is bounded by its callers, never by what a client says.
class InBuffer {
 public:
  [[nodiscard]] std::string_view view() const { return {memory_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  void consume(std::size_t bytes) { begin_ += bytes; }

  // Room for that many bytes behind the ones that are there; moves those, so views of them end.
  [[nodiscard]] char* prepare(std::size_t bytes) {
    if (begin_ == end_) { begin_ = end_ = 0; }
    if (memory_.size() - end_ < bytes) {
      if (begin_ < end_) { std::memmove(memory_.data(), memory_.data() + begin_, end_ - begin_); }
      end_ -= begin_;
      begin_ = 0;
      if (memory_.size() - end_ < bytes) { memory_.resize(end_ + bytes); }
    }
    return memory_.data() + end_;
  }
  void commit(std::size_t bytes) { end_ += bytes; }

  // Between requests: what a large one needed is given back.
  void shrink(std::size_t keep) {
    if (memory_.size() <= keep || end_ - begin_ > keep) { return; }
    std::vector<char> smaller(keep);
    if (begin_ < end_) { std::memcpy(smaller.data(), memory_.data() + begin_, end_ - begin_); }
    end_ -= begin_;
    begin_ = 0;
    memory_.swap(smaller);
  }

 private:
  std::vector<char> memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace hapax::server
