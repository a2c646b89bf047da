# What `cmake --install` copies: the program to bin, its data to share/foretoken. The program finds the data from where it
# stands (sim/io/json/data_path.cpp), so the whole prefix may be moved.
include(GNUInstallDirs)
set(FORETOKEN_DATA_FOLDER ${CMAKE_INSTALL_DATADIR}/foretoken)
foreach(FOLDER models topologies scenarios calibration/profiles calibration/runtimes calibration/engines calibration/collectives
        calibration/nccl calibration/serving validate)
  install(DIRECTORY ${FOLDER}/ DESTINATION ${FORETOKEN_DATA_FOLDER}/${FOLDER} FILES_MATCHING PATTERN "*.json"
          PATTERN "*.yaml")
endforeach()
install(FILES README.md CHANGELOG.md TYPE DOC)

# From the folder of the program to the folder of the data: ../share/foretoken, unless the install folders are changed.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_DATADIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE WAY)
set(FORETOKEN_DATA_FROM_PROGRAM ${WAY}/foretoken)
