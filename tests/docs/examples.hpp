// Included by the C++ examples of the documentation's pages (tests/docs/extract.py).
#pragma once

#include <hapax/hapax.hpp>
#include <hapax/otlp.hpp>
#include <hapax/prometheus.hpp>
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

// Examples check with assert, in every build type.
#undef NDEBUG
#include <cassert>

namespace docs {

// Opens a new store: HAPAX_DOCS_STORE, or SQLite in the current folder.
[[nodiscard]] hapax::App open();

// Registers an example under its place, such as "docs/guides/reuse.md:40".
struct Registration {
  Registration(const char* place, void (*run)());
};

// Whether `fn` throws an Error of this type.
template <class Error, class Fn>
[[nodiscard]] bool refused(Fn fn) {
  try {
    fn();
  } catch (const Error&) { return true; }
  return false;
}

}  // namespace docs
