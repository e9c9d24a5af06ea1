# bench/*.cpp: micro-benchmarks, one program. bench/rig/*.cpp: the program that the comparison rig runs.
# bench/http/*.cpp: compares enqueues over HTTP with the library's (./dev bench http).
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

hapax_glob(http_bench_sources bench/http/*.cpp)
if(http_bench_sources)
  add_executable(http_bench ${http_bench_sources})
  target_include_directories(http_bench PRIVATE src bench/http)
  target_link_libraries(http_bench PRIVATE hapax::hapax hapax_build_flags)
endif()
