# Language, warnings, sanitizers and the compiler cache for building hapax itself. Programs that use the installed
# package get only the language level.
include_guard(GLOBAL)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  find_program(HAPAX_CCACHE ccache)
  if(HAPAX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${HAPAX_CCACHE}")
  endif()
endif()

add_library(hapax_build_flags INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(hapax_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
  # In a unity build a local name may equal a file-local name of another source, so only single files get this warning.
  target_compile_options(hapax_build_flags INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:HAPAX_IS_UNITY>>>:-Wshadow>")
  # Designated initialisers leave out members on purpose, which then keep their documented defaults.
  target_compile_options(hapax_build_flags INTERFACE -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these falsely inside its own inlined standard library when optimising; clang and the
    # sanitizers find the real cases.
    target_compile_options(hapax_build_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
                                                       -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()

if(HAPAX_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(HAPAX_SANITIZE STREQUAL "thread")
  # Boost.Asio uses fences, which this sanitizer does not know. The result is false findings, never missed ones.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=thread)
elseif(HAPAX_SANITIZE STREQUAL "fuzzer")
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT HAPAX_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HAPAX_SANITIZE is '${HAPAX_SANITIZE}', expected nothing, address, thread or fuzzer")
endif()

if(HAPAX_SKIP_ROOMS)
  # Lets a developer link and run one room's tests while another room does not compile. A call into a
  # missing room crashes.
  add_link_options(-Wl,--unresolved-symbols=ignore-all)
endif()
