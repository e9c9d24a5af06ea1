# bench/*.cpp: micro-benchmarks, one program. bench/rig/*.cpp: the program that the comparison rig drives.
include_guard(GLOBAL)

hapax_glob(bench_sources bench/*.cpp)
if(bench_sources)
  find_package(benchmark REQUIRED)
  add_executable(hapax_bench ${bench_sources})
  target_include_directories(hapax_bench PRIVATE bench)
  target_link_libraries(hapax_bench PRIVATE hapax_rooms benchmark::benchmark benchmark::benchmark_main
    SQLite::SQLite3 PostgreSQL::PostgreSQL hapax_build_flags)
endif()

hapax_glob(rig_sources bench/rig/*.cpp)
if(rig_sources)
  add_executable(rig_adapter ${rig_sources})
  target_include_directories(rig_adapter PRIVATE src bench)
  target_link_libraries(rig_adapter PRIVATE hapax::hapax PostgreSQL::PostgreSQL hapax_build_flags)
endif()
