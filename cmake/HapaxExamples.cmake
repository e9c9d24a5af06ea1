# examples/*.cpp: one program each, using only the public API, each run as the test example.<name> in an empty folder.
include_guard(GLOBAL)

hapax_glob(example_sources examples/*.cpp)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE hapax::hapax hapax_build_flags)
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                                      "${PROJECT_BINARY_DIR}/examples")
  if(HAPAX_BUILD_TESTS)
    add_test(NAME example.${name} COMMAND "${PROJECT_SOURCE_DIR}/scripts/run_test.sh" --fresh-folder
                                          "$<TARGET_FILE:example_${name}>")
    set_tests_properties(example.${name} PROPERTIES LABELS "process" TIMEOUT 600)
  endif()
endforeach()
