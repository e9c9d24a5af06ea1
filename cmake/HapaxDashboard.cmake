# The dashboard (web/): built with Node.js into the build tree and embedded into the room `api`.
include_guard(GLOBAL)

set(HAPAX_WEB "auto" CACHE STRING "The dashboard: auto (built where Node.js is there), required, or off")
set_property(CACHE HAPAX_WEB PROPERTY STRINGS auto required off)
find_program(HAPAX_NODE NAMES node nodejs)
find_program(HAPAX_NPM NAMES npm)
set(node none)
if(HAPAX_NODE)
  set(node "${HAPAX_NODE}")
endif()
set(npm none)
if(HAPAX_NPM)
  set(npm "${HAPAX_NPM}")
endif()

hapax_glob(web_sources web/*.* web/src/*.* web/src/api/* web/src/components/* web/src/lib/* web/src/pages/* web/src/state/* web/src/styles/*)
set(dashboard "${PROJECT_BINARY_DIR}/dashboard")
add_custom_command(OUTPUT "${dashboard}/dashboard_files.cpp"
  COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/scripts/embed_dashboard.py" "${PROJECT_SOURCE_DIR}" "${dashboard}"
          "${HAPAX_WEB}" "${node}" "${npm}"
  DEPENDS ${web_sources} scripts/embed_dashboard.py web/without_node.html COMMENT "Building the dashboard" VERBATIM)
add_custom_target(hapax_web DEPENDS "${dashboard}/dashboard_files.cpp")
target_sources(hapax_api PRIVATE "${dashboard}/dashboard_files.cpp")
