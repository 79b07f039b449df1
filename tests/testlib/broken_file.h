// The test that stands for a file of cases which cannot be read: it fails and says why.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ampc::testing {

class BrokenFileTest : public ::testing::Test {
 public:
  explicit BrokenFileTest(std::string message) : message_(std::move(message)) {}
  void TestBody() override { FAIL() << message_; }

 private:
  std::string message_;
};

}  // namespace ampc::testing
