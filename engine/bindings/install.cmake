# What is installed: the library with its C interface, and packages for CMake and pkg-config that find it. A wheel
# (SKBUILD) has them in Python's package, which calls the same library, with the sources that build it elsewhere.
file(STRINGS bindings/nmt_frontier.h NUMBERS REGEX "define NMT_INTERFACE_M")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" INTERFACE "${NUMBERS}")
set_target_properties(library PROPERTIES EXPORT_NAME nmt_frontier OUTPUT_NAME nmt_frontier)
if(SKBUILD)
  set(LIBRARIES nmt_frontier)
  set(HEADERS nmt_frontier/include)
  set(CMAKE_PACKAGE nmt_frontier/cmake)
  set(LINKED [[${libdir}/engine.so -Wl,-rpath,${libdir}]])
  set_target_properties(library PROPERTIES PREFIX "" OUTPUT_NAME engine)
  if(APPLE)
    set_target_properties(library PROPERTIES SUFFIX .so)
  endif()
  install(DIRECTORY . DESTINATION nmt_frontier/source FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h*" PATTERN "*.c"
          PATTERN "*.cmake" PATTERN "*.in" PATTERN CMakeLists.txt PATTERN nfc_tables.py PATTERN python EXCLUDE)
else()
  set(LIBRARIES ${CMAKE_INSTALL_LIBDIR})
  set(HEADERS ${CMAKE_INSTALL_INCLUDEDIR})
  set(CMAKE_PACKAGE ${LIBRARIES}/cmake/nmt_frontier)
  set(LINKED "-L\${libdir} -lnmt_frontier")
  string(REGEX MATCH "^[0-9]+" MAJOR ${INTERFACE})
  set_target_properties(library PROPERTIES VERSION ${INTERFACE} SOVERSION ${MAJOR})
endif()

install(TARGETS library EXPORT nmt_frontier LIBRARY DESTINATION ${LIBRARIES} RUNTIME DESTINATION ${LIBRARIES}
        ARCHIVE DESTINATION ${LIBRARIES} INCLUDES DESTINATION ${HEADERS})
install(FILES bindings/nmt_frontier.h bindings/nmt_frontier.hpp DESTINATION ${HEADERS})

include(CMakePackageConfigHelpers)
set(WRITTEN ${CMAKE_CURRENT_BINARY_DIR})
write_basic_package_version_file(${WRITTEN}/nmt_frontierConfigVersion.cmake VERSION ${INTERFACE}
                                 COMPATIBILITY SameMajorVersion)
install(EXPORT nmt_frontier FILE nmt_frontierConfig.cmake NAMESPACE nmt_frontier:: DESTINATION ${CMAKE_PACKAGE})
install(FILES ${WRITTEN}/nmt_frontierConfigVersion.cmake DESTINATION ${CMAKE_PACKAGE})
file(RELATIVE_PATH UP /${LIBRARIES}/pkgconfig /)
configure_file(bindings/nmt_frontier.pc.in ${WRITTEN}/nmt_frontier.pc @ONLY)
install(FILES ${WRITTEN}/nmt_frontier.pc DESTINATION ${LIBRARIES}/pkgconfig)
