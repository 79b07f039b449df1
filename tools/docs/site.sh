#!/usr/bin/env bash
# Makes a site of the pages: README.md, tools/docs, the Python package's page, and the --help of every verb.
#   tools/docs/site.sh FOLDER       FOLDER/index.html is the first page; a link that leads nowhere is an error
#     --no-build                    of what `bazel build //tools:ampc //tools/install:documents` built before
# MkDocs comes from PyPI, once, into ~/.cache/ampc/site_tools.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
folder= build=yes
for argument in "$@"; do
  case "$argument" in
    --no-build) build= ;;
    -*) echo "site.sh: unknown argument '$argument', needed [--no-build] FOLDER" >&2; exit 2 ;;
    *) folder=$argument ;;
  esac
done
[ -n "$folder" ] || { echo "site.sh: a folder is needed" >&2; exit 2; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/../.."
[ -z "$build" ] || bazel build --noshow_progress //tools:ampc //tools/install:documents >&2

tools=$HOME/.cache/ampc/site_tools
if [ ! -x "$tools/bin/mkdocs" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --retries 2 mkdocs==1.6.1 >&2
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
xargs -n 1 < bazel-bin/tools/install/documents.txt | while read -r document; do
  install -D -m 644 "$document" "$stage/docs/$document"
done
# Of ```cpp file=... the site's Markdown knows the first word.
find "$stage/docs" -name '*.md' -exec sed -i 's/^```\([a-z]\+\) .*/```\1/' {} +
ampc=bazel-bin/tools/ampc
{
  printf '# The command line\n\n```text\n'
  "$ampc" --help
  printf '```\n'
  for verb in $("$ampc" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
    printf '\n## ampc %s\n\n```text\n' "$verb"
    "$ampc" "$verb" --help
    printf '```\n'
  done
} > "$stage/docs/commands.md"
cat > "$stage/mkdocs.yml" <<'END'
site_name: ampc
site_url: ""
use_directory_urls: false
theme:
  name: mkdocs
  color_mode: auto
  user_color_mode_toggle: true
validation:
  omitted_files: ignore
  absolute_links: warn
  unrecognized_links: warn
  anchors: warn
  not_found: warn
nav:
  - ampc: README.md
  - Coming from:
      - PyTorch: tools/docs/from_pytorch.md
      - onnxconverter-common: tools/docs/from_onnxconverter_common.md
      - Paddle: tools/docs/from_paddle.md
      - ModelOpt or Polygraphy: tools/docs/from_modelopt_and_polygraphy.md
  - Use:
      - The command line: commands.md
      - Python: tools/python/README.md
      - Installation: tools/docs/programs.md
      - C++: tools/docs/cpp.md
      - C: tools/docs/c.md
      - Training: tools/docs/training.md
      - Errors and exit codes: tools/docs/errors.md
  - Questions:
      - Is fp16 worth it?: tools/docs/is_fp16_worth_it.md
      - My fp16 model gives NaN: tools/docs/nan_in_fp16.md
      - What a conversion does: tools/docs/convert.md
      - What keeps an op in fp32: tools/docs/protect_rules.md
      - What is supported: tools/docs/supported.md
      - ONNX models: tools/docs/onnx.md
      - Paddle 3 models: tools/docs/paddle3.md
      - Known faults of runtimes: tools/docs/runtime_faults.md
      - On a GPU: tools/docs/gpu.md
      - Benchmarks: tools/docs/benchmarks.md
  - Development:
      - Contributing: CONTRIBUTING.md
      - What happens in a conversion: tools/docs/flow.md
      - How to add an op: tools/docs/how_to_add_an_op.md
      - Changes: CHANGELOG.md
END
"$tools/bin/mkdocs" build --strict --config-file "$stage/mkdocs.yml" --site-dir "$folder" > "$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
echo "$folder/index.html"
