#include "tools/picture/svg.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace ampc::svg {

double TickStep(double span) {
  const double rough = span / 4, power = std::pow(10, std::floor(std::log10(rough)));
  for (double m : {1.0, 2.0, 5.0}) {
    if (m * power >= rough) return m * power;
  }
  return 10 * power;
}

std::string Text(double x, double y, const char* anchor, absl::string_view text, absl::string_view more) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more,
                         absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}));
}

std::string Page(double width, double height, absl::string_view body) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "%s<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
      width, height, width, height, kStyle, body);
}

}  // namespace ampc::svg
