// What --help prints: options under their headings, with what their values look like, in lines that fit a terminal.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}  // namespace CLI

namespace ampc {

// For the command and for each of its verbs. Options without a heading come last, as "Options".
std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace ampc
