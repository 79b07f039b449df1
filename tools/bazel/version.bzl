"""The version of ampc: the one place. The command, the library, its soname, the CMake package and the pkg-config files take it from here."""

VERSION = "0.1.0"
