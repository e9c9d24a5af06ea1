# The library that programs link: every room's objects in one archive, exported as hapax::hapax.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

get_property(room_objects GLOBAL PROPERTY HAPAX_ROOM_OBJECTS)
get_property(room_targets GLOBAL PROPERTY HAPAX_ROOM_TARGETS)

# hapax_rooms is for tests of internals: all rooms, with src/ on the include path.
add_library(hapax_rooms INTERFACE)
target_link_libraries(hapax_rooms INTERFACE ${room_targets})

# The archive's target is not named "hapax", because the program's file in the build folder has this name.
if(room_objects)
  add_library(hapax_library ${room_objects})
  set(scope PUBLIC)
  target_link_libraries(hapax_library PRIVATE SQLite::SQLite3 OpenSSL::Crypto OpenSSL::SSL Boost::context absl::time)
  if(HAPAX_WITH_POSTGRES)
    target_link_libraries(hapax_library PRIVATE PostgreSQL::PostgreSQL)
  endif()
  if(HAPAX_WITH_REDIS)
    target_link_libraries(hapax_library PRIVATE Hiredis::Hiredis)
  endif()
else()
  add_library(hapax_library INTERFACE)
  set(scope INTERFACE)
endif()
add_library(hapax::hapax ALIAS hapax_library)
set_target_properties(hapax_library PROPERTIES OUTPUT_NAME hapax EXPORT_NAME hapax)
target_compile_features(hapax_library ${scope} cxx_std_20)
target_include_directories(hapax_library ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(hapax_library ${scope} nlohmann_json::nlohmann_json Threads::Threads)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hapax")
install(TARGETS hapax_library EXPORT hapaxTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT hapax_development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT hapax_development)
# The archive is installed without debug information, which is four fifths of it. The whole archive is a component of its own:
# cmake --install BUILD --component hapax_debug.
if(room_objects AND CMAKE_STRIP)
  install(CODE "
    set(archive \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:hapax_library>\")
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\${archive}\" COMMAND_ERROR_IS_FATAL ANY)
  " COMPONENT hapax_development)
  install(FILES "$<TARGET_FILE:hapax_library>" DESTINATION "${CMAKE_INSTALL_LIBDIR}/debug" COMPONENT hapax_debug EXCLUDE_FROM_ALL)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/include/hapax")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hapax" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT hapax_development FILES_MATCHING PATTERN "*.hpp")
endif()
install(EXPORT hapaxTargets NAMESPACE hapax:: DESTINATION "${package_folder}" COMPONENT hapax_development)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/hapaxConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/hapaxConfig.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hapaxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hapaxConfig.cmake" "${PROJECT_BINARY_DIR}/hapaxConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindHiredis.cmake"
  DESTINATION "${package_folder}" COMPONENT hapax_development)
