# Hiredis::Hiredis, the C client of Redis: the library and the folder that contains hiredis/hiredis.h. Installed with
# hapax, because programs that link hapax link hiredis too.
include(FindPackageHandleStandardArgs)
find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)
find_package_handle_standard_args(Hiredis REQUIRED_VARS HIREDIS_LIBRARY HIREDIS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "on Debian: apt-get install libhiredis-dev, or build hapax with -DHAPAX_WITH_REDIS=OFF")
if(Hiredis_FOUND AND NOT TARGET Hiredis::Hiredis)
  add_library(Hiredis::Hiredis UNKNOWN IMPORTED)
  set_target_properties(Hiredis::Hiredis PROPERTIES IMPORTED_LOCATION "${HIREDIS_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HIREDIS_INCLUDE_DIR}")
endif()
