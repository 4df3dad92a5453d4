// A producer of traces in C++ with Apache Arrow, by docs/format.md alone: nothing of kvtrace is used.
//
//     ./producer out/ && kvtrace info out/
//
// It is built as reader.cpp is (docs/conformance.md). A launcher of kernels would call `Launch` around
// each launch; here two kernels are launched in turn, and their device times made up.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <parquet/arrow/writer.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using Fields = arrow::FieldVector;
using arrow::field, arrow::int32, arrow::int64, arrow::list, arrow::struct_, arrow::utf8;

const auto kTime = arrow::timestamp(arrow::TimeUnit::NANO, "UTC");

template <typename T>
T Checked(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).ValueUnsafe();
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The start in UTC to the millisecond, with 32 random bits.
std::string NewRunId() {
  const int64_t now = Now();
  const std::time_t seconds = now / 1000000000;
  std::ostringstream id;
  id << std::put_time(std::gmtime(&seconds), "%Y%m%d-%H%M%S-") << std::setfill('0') << std::setw(3)
     << now / 1000000 % 1000 << "-" << std::hex << std::setw(8) << std::random_device()();
  return id.str();
}

// Rows of tables as JSON, which Arrow reads by the fields of a table.
class Recorder {
 public:
  explicit Recorder(fs::path out) : out_(std::move(out)), run_(NewRunId()), started_(Now()) {}

  void Kernel(const std::string& name, const std::string& signature) {
    kernels_.push_back(R"({"kernel_id": )" + std::to_string(kernels_.size()) + R"(, "name": ")" + name +
                       R"(", "function": ")" + name + R"(", "origin": "cute", "signature": )" + signature + "}");
  }

  void Call(size_t kernel, int grid, const std::string& args) {
    calls_.push_back(R"({"call_id": )" + std::to_string(calls_.size()) + R"(, "kernel_id": )" +
                     std::to_string(kernel) + R"(, "grid_x": )" + std::to_string(grid) +
                     R"(, "grid_y": 1, "grid_z": 1, "args": )" + args + "}");
  }

  void Launch(size_t call, int64_t enter, int64_t exit, int64_t start, int64_t end) {
    const auto seq = std::to_string(launches_.size());
    const auto ids = R"(": )" + seq + R"(, "call_id": )" + std::to_string(call) + R"(, "device": 0, )";
    launches_.push_back(R"({"seq)" + ids + Range("enter", enter, "exit", exit));
    executions_.push_back(R"({"record)" + ids + R"("launch_seq": )" + seq + ", " + Range("start", start, "end", end));
  }

  void Write() {
    const auto argument = struct_({field("name", utf8()), field("kind", utf8()), field("dtype", utf8()),
                                   field("shape", list(int64())), field("strides", list(int64())),
                                   field("alias_group", int32()), field("scalar", utf8())});
    const auto parameter = struct_({field("name", utf8()), field("type", utf8())});
    WriteTable("kernels", kernels_, {field("kernel_id", int64(), false), field("name", utf8()),
                                     field("signature", list(parameter)), field("origin", utf8()),
                                     field("function", utf8())});
    WriteTable("calls", calls_, {field("call_id", int64(), false), field("kernel_id", int64()),
                                 field("grid_x", int64()), field("grid_y", int64()), field("grid_z", int64()),
                                 field("args", list(argument))});
    WriteTable("launches", launches_, {field("seq", int64(), false), field("call_id", int64(), false),
                                       field("enter", kTime), field("exit", kTime), field("device", int32())});
    WriteTable("gpu_kernels", executions_, {field("record", int64(), false), field("launch_seq", int64()),
                                            field("call_id", int64()), field("start", kTime), field("end", kTime),
                                            field("device", int32())});
    const auto run = R"({"run_id": ")" + run_ + R"(", "producer": "producer.cpp", "producer_version": "1", )" +
                     R"("required_features": [], )" + Range("started", started_, "ended", Now());
    WriteTable("runs", {run}, {field("run_id", utf8(), false), field("started", kTime), field("ended", kTime),
                               field("producer", utf8()), field("producer_version", utf8()),
                               field("required_features", list(utf8()))});
  }

 private:
  static std::string Range(const std::string& first, int64_t begin, const std::string& last, int64_t end) {
    return "\"" + first + "\": " + std::to_string(begin) + ", \"" + last + "\": " + std::to_string(end) + "}";
  }

  void WriteTable(const std::string& name, const std::vector<std::string>& rows, const Fields& fields) {
    std::string json;
    for (const auto& row : rows) json += (json.empty() ? "[" : ", ") + row;
    const auto made = Checked(arrow::json::ArrayFromJSONString(struct_(fields), json + "]"));
    const auto facts = arrow::KeyValueMetadata::Make({"kvtrace.format_version", "kvtrace.table", "kvtrace.run_id"},
                                                     {"1.13", name, run_});
    const auto batch = Checked(arrow::RecordBatch::FromStructArray(made));
    const auto table = Checked(arrow::Table::FromRecordBatches({batch->ReplaceSchemaMetadata(facts)}));
    const auto folder = out_ / name / ("run=" + run_);
    fs::create_directories(folder);
    const auto file = Checked(arrow::io::FileOutputStream::Open((folder / "part-00000.parquet").string()));
    const auto zstd = parquet::WriterProperties::Builder().compression(arrow::Compression::ZSTD)->build();
    // With it, the metadata of the schema becomes that of the file.
    const auto stored = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    const auto done = parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 1 << 16, zstd, stored);
    if (!done.ok() || !file->Close().ok()) throw std::runtime_error(name + ": " + done.ToString());
  }

  fs::path out_;
  std::string run_;
  int64_t started_;
  std::vector<std::string> kernels_, calls_, launches_, executions_;
};

int main(int, char** words) {
  Recorder recorder(words[1]);
  recorder.Kernel("gemm", R"([{"name": "a"}, {"name": "n"}])");
  recorder.Kernel("bias", R"([{"name": "x"}])");
  const std::string tensor =
      R"(", "kind": "tensor", "dtype": "bf16", "shape": [64, 32], "strides": [32, 1], "alias_group": 0})";
  recorder.Call(0, 64, R"([{"name": "a)" + tensor + R"(, {"name": "n", "kind": "scalar", "scalar": "32"}])");
  recorder.Call(1, 8, R"([{"name": "x)" + tensor + "]");
  for (int step = 0; step < 10; ++step) {
    for (size_t call = 0; call < 2; ++call) {
      const int64_t enter = Now(), exit = Now();
      recorder.Launch(call, enter, exit, exit, exit + (call == 0 ? 700 : 300));
    }
  }
  recorder.Write();
}
