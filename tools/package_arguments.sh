# Sourced by the scripts that make packages. libraries_beside prints the shared libraries that programs need and a system may lack, a name and a path a
# line. package_arguments reads a script's arguments, [--no-build] [FOLDER] or --help, which prints the comment
# at its top; makes `folder`, dist by default, a full path; goes to the root of the tree; and says in `build` whether to build.
libraries_beside() {
  ldd "$@" | sed -n 's/^\t\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | sort -u | grep -vE '^lib(c|m|stdc\+\+|gcc_s|ampc|ampc_device_code)\.so'
}
package_arguments() {
  [ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
  local argument root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  folder=dist build=yes
  for argument in "$@"; do
    case "$argument" in
      --no-build) build= ;;
      -*) echo "$(basename "$0"): unknown argument '$argument', needed [--no-build] [FOLDER]" >&2; exit 2 ;;
      *) folder=$argument ;;
    esac
  done
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  cd "$root"
}
