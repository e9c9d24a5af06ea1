// What the examples of the documentation's pages are compiled with (tests/docs/extract.py).
#pragma once

#include <hapax/hapax.hpp>
#include <hapax/replay_tester.hpp>
#include <hapax/testing.hpp>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

// Examples say with assert what holds, in every build.
#undef NDEBUG
#include <cassert>

namespace docs {

// On a fresh store: HAPAX_DOCS_STORE, or SQLite in the current folder.
[[nodiscard]] hapax::App open();

// An example by its place, "docs/guides/reuse.md:40".
struct Registration {
  Registration(const char* place, void (*run)());
};

// Whether it throws that error.
template <class Error, class Fn>
[[nodiscard]] bool refused(Fn fn) {
  try {
    fn();
  } catch (const Error&) { return true; }
  return false;
}

}  // namespace docs
