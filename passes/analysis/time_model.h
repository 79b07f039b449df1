// TimeModel: how long the ops of a program take on a device in float32 and in a low type, by the flops and bytes of their records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/device_numbers.h"
#include "graph/program.h"

namespace ampc {

// Seconds that somebody measured.
struct MeasuredOp {
  std::optional<double> fp32, low = {};
};

// Work and sizes where dims that the program leaves open have been chosen.
struct ProgramSizes {
  std::vector<Cost> costs;                // by Op::id
  std::vector<double> elements;           // by Var::id
  std::vector<double> runs;               // by Block::index(), BlockRuns
  std::string feeds;                      // the dims that were chosen, "x [1, 3, 224, 224]"; "" where none was open
  std::vector<MeasuredOp> measured = {};  // by Op::id, in the place of what follows from these; may be shorter than the program's ids
};
// `sized` is a clone of `program`, with other dims.
ProgramSizes SizesOf(const Program& program, const Program& sized);

// How sizes are found, for passes that predict time (PassContext::Find); without it open dims count as 1.
struct FindsSizes {
  std::function<ProgramSizes(const Program&)> of;
};

class TimeModel {
 public:
  // `sizes` null: open dims count as 1. All have to live as long as this is asked.
  TimeModel(const Program& program, const ProgramSizes* sizes, const DeviceNumbers& device, DType low);

  const DeviceNumbers& device() const { return device_; }
  const std::string& feeds() const { return feeds_; }  // ProgramSizes::feeds
  // Of all runs of the op in a run of the program, with the operands and results that follow in that precision; as measured, where it was.
  // 0 for AMP's casts, and for what is computed from stored values alone: that is done once.
  double OpSeconds(const Op& op, bool low) const;
  // Between float32 and the low type, in that block; 0 for a value that is known before a run.
  double CastSeconds(const Var& var, int block) const;
  double Elements(const Var& var) const;

 private:
  double FromWork(const Op& op, bool low) const;
  void FindJoined(const Program& program);
  bool FollowsIn(const Op& op, int flat) const;
  bool FollowsOut(const Op& op, int flat) const;

  const ProgramSizes* sizes_;
  std::string feeds_;
  const DeviceNumbers& device_;
  DType low_;
  std::vector<double> runs_;    // by Block::index()
  std::vector<bool> known_;     // by Var::id: before a run
  std::vector<int> joined_in_;  // by Op::id: the operand whose maker computes the op as well, from registers; -1 for none
};

}  // namespace ampc
