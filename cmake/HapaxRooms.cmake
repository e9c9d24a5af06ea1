# A room is a folder of src/ built as its own static library, so that a test links the rooms it needs and a mistake in
# one room stops only what depends on it. The installed library is made of all rooms' objects (HapaxLibrary.cmake).
include_guard(GLOBAL)

# hapax_glob(<variable> <pattern>...): matching files, watched: a new file is picked up by the next build.
function(hapax_glob variable)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# hapax_unity(<target>): the target's sources are compiled many at a time, because most of the compiler's time goes into headers
# that all of them include. HAPAX_UNITY=OFF compiles each file by itself: a change of one file then builds faster, and the
# clang preset checks shadowed names and missing includes file by file.
function(hapax_unity target)
  if(HAPAX_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE "${HAPAX_UNITY_BATCH}")
  endif()
endfunction()

# hapax_room(<name> [FLAT] [PROGRAM] SOURCES <folder> [EXCLUDE <regex>] [LINKS <target>...]): target hapax_<name>. FLAT
# leaves out sub-folders, EXCLUDE the files whose paths match. PROGRAM is for what only our program needs: it is left out of
# the installed library.
# A folder with no sources makes an empty target, so that others can name it in LINKS whatever is there.
function(hapax_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "FLAT;PROGRAM" "SOURCES;EXCLUDE" "LINKS")
  set(target hapax_${name})
  if(room_FLAT)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room_SOURCES}/*.cpp")
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room_SOURCES}/*.cpp")
  endif()
  if(room_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${room_EXCLUDE}")
  endif()
  if(name IN_LIST HAPAX_SKIP_ROOMS)
    set(sources "")
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PRIVATE hapax_build_flags)
    hapax_unity(${target})
    if(NOT room_PROGRAM)
      set_property(GLOBAL APPEND PROPERTY HAPAX_ROOM_OBJECTS "$<TARGET_OBJECTS:${target}>")
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} ${scope} ${room_LINKS})
  set_property(GLOBAL APPEND PROPERTY HAPAX_ROOM_TARGETS "${target}")
endfunction()
