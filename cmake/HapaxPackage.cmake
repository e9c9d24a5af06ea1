# The files of an installation besides the program, and the Debian package (./dev package).
#
# `cmake --install` puts program, manual page and completions below its prefix. Units and the default configuration
# belong into system folders; only the package installs them.
include_guard(GLOBAL)

# The program generates these from its own flags whenever it is linked.
set(generated "${PROJECT_BINARY_DIR}/generated")
add_custom_command(TARGET hapax_cli POST_BUILD
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${generated}"
  COMMAND hapax_cli generate "${generated}"
  COMMAND gzip -9nf "${generated}/hapax.1"
  BYPRODUCTS "${generated}/hapax.1.gz" "${generated}/hapax" "${generated}/_hapax" VERBATIM)
install(FILES "${generated}/hapax.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT hapax_runtime)
install(FILES "${generated}/hapax" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  COMPONENT hapax_runtime)
install(FILES "${generated}/_hapax" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
  COMPONENT hapax_runtime)

set(packaging "${PROJECT_SOURCE_DIR}/packaging")
function(hapax_system_file destination)
  install(FILES ${ARGN} DESTINATION "${destination}" COMPONENT hapax_system EXCLUDE_FROM_ALL)
endfunction()
hapax_system_file(/lib/systemd/system "${packaging}/hapax.service" "${packaging}/hapax-work@.service")
hapax_system_file(/etc/hapax "${packaging}/hapax.toml")
hapax_system_file(/usr/share/doc/hapax "${packaging}/copyright" "${PROJECT_SOURCE_DIR}/docs/operating/configuration.md")
file(GLOB nginx_examples "${PROJECT_SOURCE_DIR}/examples/nginx/*")
hapax_system_file(/usr/share/doc/hapax/examples/nginx ${nginx_examples})
hapax_system_file(/usr/share/doc/hapax/examples/prometheus "${packaging}/prometheus/alerts.yml")
hapax_system_file(/usr/share/doc/hapax/examples/grafana "${packaging}/grafana/hapax.json")

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hapax)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The hapax authors <hapax@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable execution: tasks that take effect once")
set(CPACK_PACKAGE_DESCRIPTION "A task queue, workflows, schedules, events and guarded functions that take effect once, however
often they are asked for, retried, crashed or replayed. Embedded on SQLite, or on PostgreSQL.")
set(CPACK_COMPONENTS_ALL hapax_runtime hapax_system)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# hapax reads time zones from tzdata; other dependencies are found from the linked libraries.
set(CPACK_DEBIAN_PACKAGE_DEPENDS tzdata)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${packaging}/conffiles" "${packaging}/postinst" "${packaging}/prerm"
                                       "${packaging}/postrm")
include(CPack)
