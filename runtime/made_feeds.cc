#include "runtime/made_feeds.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/host_values.h"
#include "graph/base/status_macros.h"
#include "kernels/storage.h"
#include "passes/amp/protect/facts.h"
#include "passes/analysis/dataflow.h"
#include "runtime/made_image.h"

namespace ampc {
namespace {

constexpr int kMostFollowed = 64;   // ops behind a feed that are looked at for what it is
constexpr double kSmallOffset = 4;  // images between 0 and 1 are shifted by less
constexpr double kPixelScale = 16;  // and divided by less

enum class Kind : uint8_t { kIds, kMask, kPositions, kTypes, kRate, kLength, kCount, kImage, kPixels, kAudio, kState, kScale, kNormal };

// The sizes that the model leaves open.
struct Sizes {
  int64_t height, width, sequence, samples, frames;
};
constexpr Sizes kSizes[kMadeSizes] = {{224, 224, 32, 16000, 100}, {48, 320, 128, 512, 64}, {32, 128, 16, 4096, 16}, {1, 1, 1, 1, 1}};

struct Use {
  int64_t rows = -1;    // of the smallest table that it is an index of; -1 for none
  bool pixels = false;  // it is brought from 0..255 to the size of ordinary values
  bool convolved = false;
};

bool HasWord(absl::string_view name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [name](const char* word) { return absl::StrContains(name, word); });
}

// As a word of its own, between characters that are no letters.
bool IsWord(absl::string_view name, absl::string_view word) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, absl::ByAnyChar("_./:-0123456789"), absl::SkipEmpty());
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

// The magnitude of a stored number, or of the largest of a few; 0 where it is not known.
double MagnitudeOf(const Var& var) {
  if (var.literal == nullptr || var.literal->num_elements() > 64) return 0;
  double largest = 0;
  if (const auto floats = FloatsOf(*var.literal)) {
    for (const float value : *floats) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return largest;
}

bool IsPixelArithmetic(const Op& op, int flat) {
  if (op.HasTrait(OpTrait::kAffine))
    return std::fabs(op.GetFloat("bias")) > kSmallOffset || std::fabs(op.GetFloat("scale", 1)) <= 1 / kPixelScale;
  if (op.inputs().size() != 2 || flat != 0) return false;
  const double other = MagnitudeOf(*op.inputs()[1]);
  if (other == 0) return false;
  if (op.HasTrait(OpTrait::kDivision)) return other >= kPixelScale;
  if (op.HasTrait(OpTrait::kProduct)) return other <= 1 / kPixelScale;
  return op.HasTrait(OpTrait::kAdditive) && other > kSmallOffset;
}

// The rows of the table that operand `flat` is an index of; -1 for none.
int64_t RowsOf(const Op& op, int flat) {
  const SlotDef& slot = op.def().inputs[op.InputSlotOf(flat)];
  if (slot.precision != SlotPrecision::kAsIs || !HasWord(absl::AsciiStrToLower(slot.name), {"indic", "index", "ids"})) return -1;
  for (const Var* table : op.inputs()) {
    if (!table->type.has_rank || table->type.rank() == 0 || table == op.inputs()[flat]) continue;
    int64_t axis = op.GetInt("axis");
    if (axis < 0) axis += table->type.rank();
    return axis >= 0 && axis < table->type.rank() ? table->type.dims[static_cast<size_t>(axis)] : -1;
  }
  return -1;
}

// Through what only moves the feed.
Use UseOf(const ValueFlow& flow, const Var& feed) {
  Use use;
  std::vector<const Var*> front = {&feed};
  absl::flat_hash_set<int> seen = {feed.id()};
  int looked_at = 0;
  for (size_t i = 0; i < front.size(); ++i) {
    for (const int32_t at : flow.Readers(*front[i])) {
      const Op& op = *flow.ops()[at];
      if (++looked_at > kMostFollowed) return use;
      for (int flat = 0; flat < static_cast<int>(op.inputs().size()); ++flat) {
        if (&flow.Root(*op.inputs()[flat]) != front[i]) continue;
        const int64_t rows = RowsOf(op, flat);
        if (rows > 0) use.rows = use.rows < 0 ? rows : std::min(use.rows, rows);
        use.pixels = use.pixels || IsPixelArithmetic(op, flat);
        use.convolved = use.convolved || absl::StrContains(absl::AsciiStrToLower(op.type()), "conv");
      }
      if (!MovesValues(op) && !IsCast(op)) continue;
      for (const Var* var : op.outputs()) {
        if (seen.insert(var->id()).second) front.push_back(var);
      }
    }
    for (const int32_t id : flow.LinkedTo(*front[i])) {
      if (seen.insert(id).second) front.push_back(&flow.var(id));
    }
  }
  return use;
}

bool IsChannels(int64_t dim) { return dim == 1 || dim == 3 || dim == 4; }
bool LooksLikeImage(const TensorType& type) {
  if (type.rank() != 4) return false;
  const auto large = [&type](size_t i) { return !IsKnown(type.dims[i]) || type.dims[i] >= 16; };
  return (IsChannels(type.dims[1]) && large(2) && large(3)) || (IsChannels(type.dims[3]) && large(1) && large(2));
}

Kind IntegerKind(const Var& feed, absl::string_view name, const Use& use) {
  if (feed.type.dtype == DType::kBool || HasWord(name, {"mask", "valid"})) return Kind::kMask;
  if (HasWord(name, {"position", "pos_id"})) return Kind::kPositions;
  if (HasWord(name, {"token_type", "segment", "type_id", "sent_id"})) return Kind::kTypes;
  if (use.rows > 0) return Kind::kIds;
  if (IsWord(name, "sr") || HasWord(name, {"sample_rate", "sampling_rate"})) return Kind::kRate;
  if (HasWord(name, {"length", "_len", "lens", "shape", "size"})) return Kind::kLength;
  if (feed.type.dtype == DType::kU8 && LooksLikeImage(feed.type)) return Kind::kPixels;
  return Kind::kCount;
}

Kind FloatKind(const Var& feed, absl::string_view name, const Use& use) {
  if (HasWord(name, {"mask"})) return Kind::kMask;
  if (HasWord(name, {"scale_factor", "im_scale"})) return Kind::kScale;
  if (HasWord(name, {"im_shape", "image_shape", "orig_size", "target_size"})) return Kind::kLength;
  if (use.pixels) return Kind::kPixels;
  if (LooksLikeImage(feed.type)) return Kind::kImage;
  if (HasWord(name, {"state", "hidden", "cache", "past", "memory"}) || IsWord(name, "h") || IsWord(name, "c") || IsWord(name, "hx"))
    return Kind::kState;
  if (HasWord(name, {"audio", "wav", "speech", "signal", "sound", "pcm", "samples"})) return Kind::kAudio;
  const int64_t last = feed.type.rank() == 0 ? 0 : *std::max_element(feed.type.dims.begin(), feed.type.dims.end());
  const bool line = feed.type.rank() <= 2 || (feed.type.rank() == 3 && (feed.type.dims[1] == 1 || feed.type.dims[2] == 1));
  if (line && use.convolved && (last < 0 || last >= 256)) return Kind::kAudio;
  return Kind::kNormal;
}

class Maker {
 public:
  Maker(const Program& program, const MadeFeedOptions& options)
      : program_(program), options_(options), sizes_(kSizes[options.size]), flow_(program) {}

  absl::StatusOr<MadeFeeds> Make() {
    AMPC_RETURN_IF_ERROR(CheckDims());
    MadeFeeds made;
    for (const Var* feed : program_.feeds) {
      const Use use = UseOf(flow_, *feed);
      const Kind kind = KindOf(*feed, use);
      AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, DimsOf(*feed, kind));
      std::string what;
      random_.seed(options_.seed * 1000003 + static_cast<uint64_t>(options_.run) * 1009 + made.kinds.size());
      AMPC_ASSIGN_OR_RETURN(made.feeds[feed->exported()], Values(*feed, kind, use, dims, &what));
      made.kinds.push_back(absl::StrCat(feed->exported(), ": ", what, ", [", absl::StrJoin(dims, ", "), "]"));
    }
    return made;
  }

  absl::StatusOr<std::map<std::string, std::vector<int64_t>>> MakeDims() {
    AMPC_RETURN_IF_ERROR(CheckDims());
    std::map<std::string, std::vector<int64_t>> dims;
    for (const Var* feed : program_.feeds) {
      AMPC_ASSIGN_OR_RETURN(dims[feed->exported()], DimsOf(*feed, KindOf(*feed, UseOf(flow_, *feed))));
    }
    return dims;
  }

 private:
  static Kind KindOf(const Var& feed, const Use& use) {
    const std::string name = absl::AsciiStrToLower(feed.exported());
    return feed.type.IsFloat() ? FloatKind(feed, name, use) : IntegerKind(feed, name, use);
  }

  absl::Status CheckDims() const {
    for (const auto& [name, dims] : options_.dims) {
      const auto same = [&name = name](const Var* feed) { return feed->exported() == name; };
      const auto at = std::find_if(program_.feeds.begin(), program_.feeds.end(), same);
      if (at == program_.feeds.end()) {
        const auto print = [](std::string* out, const Var* feed) { absl::StrAppend(out, "'", feed->exported(), "'"); };
        return UsageError(absl::StrCat("found dims of '", name, "', needed one of the feeds ", absl::StrJoin(program_.feeds, ", ", print)));
      }
      const TensorType& type = (*at)->type;
      bool fits = !type.has_rank || type.rank() == static_cast<int>(dims.size());
      for (size_t i = 0; fits && type.has_rank && i < dims.size(); ++i)
        fits = dims[i] >= 0 && (!IsKnown(type.dims[i]) || type.dims[i] == dims[i]);
      if (!fits) return UsageError(absl::StrCat("feed '", name, "' is ", ToString(type), ", found dims [", absl::StrJoin(dims, ", "), "]"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> DimsOf(const Var& feed, Kind kind) {
    if (feed.type.kind != TypeKind::kTensor || feed.type.dtype == DType::kInvalid) {
      return UnsupportedError(absl::StrCat("no values can be made for feed '", feed.exported(), "' of type ", ToString(feed.type)));
    }
    const auto given = options_.dims.find(feed.exported());
    std::vector<int64_t> dims(feed.type.dims.begin(), feed.type.dims.end());
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t symbol = dims[i];
      if (given != options_.dims.end()) {
        dims[i] = given->second[i];
      } else if (!IsKnown(symbol)) {
        dims[i] = OpenDim(feed, kind, i);
        if (const auto known = by_symbol_.find(symbol); known != by_symbol_.end()) dims[i] = known->second;
      }
      if (IsSymbol(symbol)) by_symbol_.emplace(symbol, dims[i]);
    }
    if (!feed.type.has_rank && given != options_.dims.end()) dims = given->second;
    return dims;
  }

  // Exporters call dims that they know nothing of "?" all alike.
  bool IsSymbol(int64_t dim) const {
    if (dim >= kUnknownDim) return false;
    const std::string& name = program_.symbols[static_cast<size_t>(-2 - dim)];
    return !name.empty() && name != "?" && name != "-1" && name != "None";
  }

  int64_t OpenDim(const Var& feed, Kind kind, size_t i) const {
    const TensorType& type = feed.type;
    const size_t rank = type.dims.size();
    if (IsSymbol(type.dims[i]) &&
        absl::StrContains(absl::AsciiStrToLower(program_.symbols[static_cast<size_t>(-2 - type.dims[i])]), "batch"))
      return options_.batch;
    if (kind == Kind::kState) return IsKnown(type.dims[0]) || i == 0 || rank < 4 ? options_.batch : sizes_.sequence;
    if (i == 0 && rank > 1) return options_.batch;
    if (kind == Kind::kAudio) return sizes_.samples;
    if (rank == 4) {
      if (i == 1 && !IsChannels(type.dims[3])) return 3;
      if (i == 3 && IsChannels(type.dims[1])) return sizes_.width;
      return i == rank - 1 ? sizes_.width : sizes_.height;
    }
    if (rank == 1) return kind == Kind::kNormal ? sizes_.sequence : options_.batch;
    return feed.type.IsFloat() && rank >= 3 ? sizes_.frames : sizes_.sequence;
  }

  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // A sum of uniform values: the same bits with every library of functions.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

  absl::StatusOr<HostTensor> Values(const Var& feed, Kind kind, const Use& use, const std::vector<int64_t>& dims, std::string* what) {
    AMPC_ASSIGN_OR_RETURN(HostTensor values, HostTensor::Create(DType::kF64, dims));
    const absl::Span<double> out = values.mutable_values<double>();
    Fill(kind, use, dims, out, what);
    return Typed(values, feed);
  }

  void Fill(Kind kind, const Use& use, const std::vector<int64_t>& dims, absl::Span<double> out, std::string* what) {
    const size_t row = dims.empty() || dims.back() == 0 ? 1 : static_cast<size_t>(dims.back());
    const auto each = [&](const auto& value) {
      for (size_t i = 0; i < out.size(); ++i) out[i] = value(i);
    };
    switch (kind) {
      case Kind::kIds:
        *what = absl::StrCat("ids below ", use.rows);
        return each([&](size_t) { return std::floor(Uniform() * static_cast<double>(use.rows)); });
      case Kind::kMask:
        *what = options_.run % 2 == 0 ? "a mask of ones" : "a mask with zeros behind";
        return each([&](size_t i) { return options_.run % 2 == 0 || i % row < (row + 1) * 3 / 4 ? 1.0 : 0.0; });
      case Kind::kPositions:
        *what = "positions";
        return each([&](size_t i) { return static_cast<double>(use.rows > 0 ? i % row % static_cast<size_t>(use.rows) : i % row); });
      case Kind::kTypes: *what = "zeros"; return;
      case Kind::kRate: *what = "16000 samples a second"; return each([](size_t) { return 16000.0; });
      case Kind::kLength:
        *what = "sizes of the others";
        return each(
            [&](size_t i) { return static_cast<double>(dims.size() > 1 ? (i % 2 == 0 ? sizes_.height : sizes_.width) : sizes_.sequence); });
      case Kind::kCount: *what = "integers below 10"; return each([&](size_t) { return std::floor(Uniform() * 10); });
      case Kind::kImage: {
        const bool normalized = options_.run % 2 != 0;
        *what = normalized ? "an image in -1..1" : "an image in 0..1";
        FillImage(dims, 1, out);
        if (normalized) each([&](size_t i) { return 2 * out[i] - 1; });
        return;
      }
      case Kind::kPixels: *what = "an image in 0..255"; return FillImage(dims, 255, out);
      case Kind::kAudio:
        *what = "audio";
        return each(
            [&](size_t i) { return 0.3 * Wave(static_cast<double>(i) / 73) + 0.2 * Wave(static_cast<double>(i) / 11) + 0.05 * Normal(); });
      case Kind::kState:
        *what = options_.run % 2 == 0 ? "zeros" : "small normal values";
        return each([&](size_t) { return options_.run % 2 == 0 ? 0.0 : 0.1 * Normal(); });
      case Kind::kScale: *what = "ones"; return each([](size_t) { return 1.0; });
      case Kind::kNormal: break;
    }
    *what = "normal values";
    each([&](size_t) { return Normal(); });
  }

  void FillImage(const std::vector<int64_t>& dims, double range, absl::Span<double> out) {
    const size_t rank = dims.size();
    const bool channels_last = rank == 4 && IsChannels(dims[3]) && !IsChannels(dims[1]);
    const auto dim = [&](size_t from_last) {
      const size_t at = from_last + (channels_last ? 1 : 0);
      return at < rank ? static_cast<size_t>(std::max<int64_t>(dims[rank - 1 - at], 1)) : 1;
    };
    const MadeImage image(dim(1), dim(0), random_);
    const size_t step = channels_last ? static_cast<size_t>(dims[3]) : 1;
    for (size_t i = 0; i < out.size(); ++i) {
      const double grain = 0.1 * (Uniform() - 0.5);
      out[i] = std::clamp(image.At(i / step) + grain, 0.0, 1.0) * range;
      if (range > 1) out[i] = std::floor(out[i]);
    }
  }

  absl::StatusOr<HostTensor> Typed(const HostTensor& values, const Var& feed) const;

  const Program& program_;
  const MadeFeedOptions& options_;
  const Sizes& sizes_;
  const ValueFlow flow_;
  std::mt19937_64 random_;
  std::map<int64_t, int64_t> by_symbol_;
};

template <typename T>
absl::StatusOr<HostTensor> As(const HostTensor& values, DType dtype) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Create(dtype, values.dims()));
  const absl::Span<const double> from = values.values<double>();
  std::transform(from.begin(), from.end(), out.mutable_values<T>().begin(), [](double value) { return static_cast<T>(value); });
  return out;
}

absl::StatusOr<HostTensor> Maker::Typed(const HostTensor& values, const Var& feed) const {
  const DType dtype = feed.type.dtype;
  switch (dtype) {
    case DType::kF64: return values;
    case DType::kBool: return As<bool>(values, dtype);
    case DType::kU8: return As<uint8_t>(values, dtype);
    case DType::kI8: return As<int8_t>(values, dtype);
    case DType::kI16: return As<int16_t>(values, dtype);
    case DType::kI32: return As<int32_t>(values, dtype);
    case DType::kI64: return As<int64_t>(values, dtype);
    case DType::kF32: return As<float>(values, dtype);
    case DType::kF16:
    case DType::kBF16: {
      AMPC_ASSIGN_OR_RETURN(const HostTensor floats, As<float>(values, DType::kF32));
      return FromStorage(floats, dtype);
    }
    default: return UnsupportedError(absl::StrCat("no values can be made for feed '", feed.exported(), "' of type ", ToString(feed.type)));
  }
}

// "x=1,3,224,224, ids=1,32", as --dims takes them; without those that have none.
std::string DimsText(const TensorMap& feeds) {
  std::vector<std::string> texts;
  for (const auto& [name, feed] : feeds) {
    if (feed.rank() > 0) texts.push_back(absl::StrCat(name, "=", absl::StrJoin(feed.dims(), ",")));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> MadeDims(const Program& program, const MadeFeedOptions& options) {
  return Maker(program, options).MakeDims();
}

absl::StatusOr<MadeFeeds> MakeFeeds(const Program& program, const MadeFeedOptions& options) { return Maker(program, options).Make(); }

absl::Status UseFeedsThatFit(const Program& program, MadeFeedOptions options,
                             const std::function<absl::Status(const TensorMap& feeds)>& use, std::string* note) {
  absl::Status first;
  std::vector<std::string> tried;
  for (options.size = 0; options.size < kMadeSizes; ++options.size) {
    AMPC_ASSIGN_OR_RETURN(const MadeFeeds made, MakeFeeds(program, options));
    const std::string dims = DimsText(made.feeds);
    if (std::find(tried.begin(), tried.end(), dims) != tried.end()) continue;
    const absl::Status used = use(made.feeds);
    if (ExitCodeOf(used) != ExitCode::kUsage) {
      if (!tried.empty()) *note = absl::StrCat("the model takes no feeds of ", absl::StrJoin(tried, " or "), "; they are of ", dims);
      return used;
    }
    if (tried.empty()) first = used;
    tried.push_back(dims);
  }
  return Annotate(first, absl::StrCat("with feeds of ", absl::StrJoin(tried, " or "), ", which --dims changes"));
}

}  // namespace ampc
