"""embed_text: files as C++ string constants."""

def embed_text(name, srcs, out):
    """A header with `inline constexpr char kNameExt[]` for each file name.ext.

    Args:
      name: the rule's name.
      srcs: text files; none contains `)TEXT"`.
      out: the header, to be included once per source.
    """
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [out],
        cmd = """
for file in $(SRCS); do
  base=$$(basename $$file)
  stem=$${base%.*}; ext=$${base##*.}
  printf 'inline constexpr char k%s%s[] = R"TEXT(' "$$(echo $${stem:0:1} | tr a-z A-Z)$${stem:1}" "$$(echo $${ext:0:1} | tr a-z A-Z)$${ext:1}"
  cat $$file
  printf ')TEXT";\\n'
done > $@
""",
    )
