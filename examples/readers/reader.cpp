// A reader of traces in C++ with Apache Arrow, by docs/format.md alone: nothing of kvtrace is used.
//
//     ./reader schema/conformance/simple/trace
//
// docs/conformance.md has the questions that it answers as JSON, and how it is built. It exits with 1
// to reject a trace, and says why on standard error.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using Integer = std::optional<int64_t>;
using Text = std::optional<std::string>;
using Kind = arrow::Type;

// The features that this reader knows, of `required_features`.
const std::set<std::string> kFeatures = {"weights", "trials", "graph-replays", "partial", "total-times"};
const std::set<std::string> kTrials = {"autotune", "warmup"};

template <typename T>
T Checked(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).ValueUnsafe();
}

void Require(bool condition, const std::string& problem) {
  if (!condition) throw std::runtime_error(problem);
}

// One value of a row. The type is the format's, or the trace is rejected.
Integer IntegerAt(const arrow::Array& values, int64_t row) {
  if (values.type_id() == Kind::NA || values.IsNull(row)) return {};
  if (values.type_id() == Kind::INT64) return static_cast<const arrow::Int64Array&>(values).Value(row);
  if (values.type_id() == Kind::INT32) return static_cast<const arrow::Int32Array&>(values).Value(row);
  Require(values.type()->Equals(arrow::timestamp(arrow::TimeUnit::NANO, "UTC")),
          "an integer or a time has the type " + values.type()->ToString());
  return static_cast<const arrow::TimestampArray&>(values).Value(row);
}

Text TextAt(const arrow::Array& values, int64_t row) {
  if (values.type_id() == Kind::NA || values.IsNull(row)) return {};
  if (values.type_id() == Kind::DICTIONARY) {
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(values);
    return TextAt(*encoded.dictionary(), encoded.GetValueIndex(row));
  }
  if (values.type_id() == Kind::LARGE_STRING) return static_cast<const arrow::LargeStringArray&>(values).GetString(row);
  Require(values.type_id() == Kind::STRING, "a text has the type " + values.type()->ToString());
  return static_cast<const arrow::StringArray&>(values).GetString(row);
}

// The entries of a list; absent or null lists have none.
std::pair<std::shared_ptr<arrow::Array>, int64_t> ListAt(const arrow::Array& values, int64_t row) {
  if (values.type_id() == Kind::NA || values.IsNull(row)) return {nullptr, 0};
  const bool large = values.type_id() == Kind::LARGE_LIST;
  Require(large || values.type_id() == Kind::LIST, "a list has the type " + values.type()->ToString());
  auto entries = large ? static_cast<const arrow::LargeListArray&>(values).value_slice(row)
                       : static_cast<const arrow::ListArray&>(values).value_slice(row);
  return {entries, entries->length()};
}

std::shared_ptr<arrow::Array> Field(const arrow::Array& entries, const std::string& name) {
  Require(entries.type_id() == Kind::STRUCT, "an entry has no fields");
  auto field = static_cast<const arrow::StructArray&>(entries).GetFieldByName(name);
  return field ? field : Checked(arrow::MakeArrayOfNull(arrow::null(), entries.length()));
}

// Calls `visit` with the columns and number of each row of a table, in all parts of a run. Columns that
// a file lacks are null, unless they are `required`; columns that nobody asked for are not read.
struct Row {
  const std::map<std::string, std::shared_ptr<arrow::Array>>& columns;
  int64_t number;
  Integer integer(const std::string& name) const { return IntegerAt(*columns.at(name), number); }
  Text text(const std::string& name) const { return TextAt(*columns.at(name), number); }
  auto list(const std::string& name) const { return ListAt(*columns.at(name), number); }
};

void EachRow(const fs::path& out, const std::string& table, const std::string& run,
             const std::vector<std::string>& required, const std::vector<std::string>& optional,
             const std::function<void(const Row&)>& visit) {
  static const std::regex part("part-([a-z][a-z0-9_-]*-)?[0-9]{5,}\\.parquet");
  const fs::path folder = out / table / ("run=" + run);
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (std::regex_match(entry.path().filename().string(), part)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    auto file = Checked(arrow::io::ReadableFile::Open(path.string()));
    auto reader = Checked(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
    const auto metadata = reader->parquet_reader()->metadata()->key_value_metadata();
    const auto fact = [&](const std::string& key) {
      return metadata ? metadata->Get("kvtrace." + key).ValueOr("") : "";
    };
    Require(fact("format_version").starts_with("1."),
            path.string() + " has format version '" + fact("format_version") + "', not 1.x");
    Require(fact("table") == table, path.string() + " is in a wrong folder");
    auto rows = Checked(reader->ReadTable());
    for (const auto& name : required)
      Require(rows->schema()->GetFieldIndex(name) >= 0, path.string() + " has no column " + name);
    arrow::TableBatchReader batches(*rows);
    while (auto batch = Checked(batches.Next())) {
      std::map<std::string, std::shared_ptr<arrow::Array>> columns;
      for (const auto* names : {&required, &optional})
        for (const auto& name : *names) {
          auto column = batch->GetColumnByName(name);
          columns[name] = column ? column : Checked(arrow::MakeArrayOfNull(arrow::null(), batch->num_rows()));
        }
      for (int64_t row = 0; row < batch->num_rows(); ++row) visit(Row{columns, row});
    }
  }
}

// JSON.
std::string Json(const Integer& value) { return value ? std::to_string(*value) : "null"; }
std::string Json(const Text& value) {
  if (!value) return "null";
  std::string json = "\"";
  for (const unsigned char letter : *value) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, letter < 32 || letter == '"' || letter == '\\' ? "\\u%04x" : "%c", letter);
    json += escaped;
  }
  return json + '"';
}
std::string Json(const std::vector<std::string>& entries) {
  std::string json;
  for (const auto& entry : entries) json += (json.empty() ? "" : ", ") + entry;
  return "[" + json + "]";
}

// What the launches and executions of a run or a kernel add up to.
struct Figures {
  int64_t launches = 0, trials = 0, executions = 0, trial_executions = 0;
  Integer device_ns;
  void launched(bool trial, int64_t weight) { (trial ? trials : launches) += weight; }
  void executed(bool trial, int64_t weight, const Integer& ns) {
    (trial ? trial_executions : executions) += weight;
    if (ns && !trial) device_ns = device_ns.value_or(0) + *ns * weight;
  }
  std::string json() const {
    return "\"launches\": " + Json(Integer(launches)) + ", \"trials\": " + Json(Integer(trials)) +
           ", \"executions\": " + Json(Integer(executions)) + ", \"trial_executions\": " +
           Json(Integer(trial_executions)) + ", \"device_ns\": " + Json(device_ns);
  }
};

struct Launch {
  Integer call;
  bool trial;
};

std::string RunAnswer(const fs::path& out, const std::string& run) {
  std::string json = "{\"run_id\": " + Json(Text(run));
  bool complete = false;
  EachRow(out, "runs", run, {"run_id"}, {"group_id", "source", "rank", "world_size", "required_features"},
          [&](const Row& row) {
            const auto [features, count] = row.list("required_features");
            for (int64_t at = 0; at < count; ++at)
              Require(kFeatures.contains(TextAt(*features, at).value_or("")),
                      "run " + run + " requires the feature " + Json(TextAt(*features, at)));
            for (const std::string name : {"group_id", "source"}) json += ", \"" + name + "\": " + Json(row.text(name));
            for (const std::string name : {"rank", "world_size"}) json += ", \"" + name + "\": " + Json(row.integer(name));
            complete = true;
          });
  if (!complete) return "";

  std::map<int64_t, Figures> by_kernel;
  std::map<int64_t, std::string> kernels, calls;
  EachRow(out, "kernels", run, {"kernel_id", "name"}, {"stages"}, [&](const Row& row) {
    std::vector<std::string> stages;
    const auto [entries, count] = row.list("stages");
    for (int64_t at = 0; at < count; ++at) stages.push_back(Json(TextAt(*Field(*entries, "stage"), at)));
    kernels[row.integer("kernel_id").value()] = Json(row.text("name")) + ", \"stages\": " + Json(stages);
  });

  std::map<int64_t, Integer> kernel_of_call;
  EachRow(out, "calls", run, {"call_id", "kernel_id"}, {"grid_x", "grid_y", "grid_z", "args"}, [&](const Row& row) {
    std::vector<std::string> grid, tensors;
    for (const auto* axis : {"grid_x", "grid_y", "grid_z"}) grid.push_back(Json(row.integer(axis)));
    const auto [args, count] = row.list("args");
    for (int64_t at = 0; at < count; ++at) {
      if (TextAt(*Field(*args, "kind"), at) != "tensor") continue;
      std::vector<std::string> sizes;
      const auto [shape, axes] = ListAt(*Field(*args, "shape"), at);
      for (int64_t axis = 0; axis < axes; ++axis) sizes.push_back(Json(IntegerAt(*shape, axis)));
      tensors.push_back(shape ? Json(sizes) : "null");
    }
    const int64_t call = row.integer("call_id").value();
    kernel_of_call[call] = row.integer("kernel_id");
    calls[call] = Json(row.integer("kernel_id")) + ", \"grid\": " + Json(grid) + ", \"tensors\": " + Json(tensors);
  });

  Figures total;
  Integer first, last;  // the span of all times
  const auto timed = [&](const Integer& begin, const Integer& end) -> Integer {
    if (!begin || !end) return {};
    first = std::min(first.value_or(*begin), *begin);
    last = std::max({last.value_or(*begin), *begin, *end});
    return std::max<int64_t>(*end - *begin, 0);
  };
  const auto figures_of = [&](const Integer& call) -> Figures* {
    const auto known = call ? kernel_of_call.find(*call) : kernel_of_call.end();
    return known == kernel_of_call.end() || !known->second ? nullptr : &by_kernel[*known->second];
  };
  const auto weight_of = [](const Row& row) { return std::max<int64_t>(row.integer("weight").value_or(1), 1); };

  std::map<int64_t, Launch> launches;
  EachRow(out, "launches", run, {"seq", "call_id"}, {"enter", "exit", "phase", "weight"}, [&](const Row& row) {
    const Launch launch{row.integer("call_id"), kTrials.contains(row.text("phase").value_or(""))};
    launches[row.integer("seq").value()] = launch;
    timed(row.integer("enter"), row.integer("exit"));
    total.launched(launch.trial, weight_of(row));
    if (auto* figures = figures_of(launch.call)) figures->launched(launch.trial, weight_of(row));
  });

  std::map<Text, Figures> others;
  std::map<std::string, std::pair<int64_t, Integer>> memory;
  EachRow(out, "gpu_kernels", run, {"record"}, {"launch_seq", "call_id", "start", "end", "kind", "bytes", "name", "weight"},
          [&](const Row& row) {
            const int64_t weight = weight_of(row);
            const Integer ns = timed(row.integer("start"), row.integer("end")), seq = row.integer("launch_seq");
            if (const Text kind = row.text("kind")) {
              auto& [operations, bytes] = memory[*kind];
              operations += weight;
              if (const Integer size = row.integer("bytes")) bytes = bytes.value_or(0) + *size * weight;
              return;
            }
            const auto launch = seq ? launches.find(*seq) : launches.end();
            const bool known = launch != launches.end(), trial = known && launch->second.trial;
            Integer call = row.integer("call_id");
            if (!call && known) call = launch->second.call;
            (call ? total : others[row.text("name")]).executed(trial, weight, ns);
            if (auto* figures = figures_of(call)) figures->executed(trial, weight, ns);
          });
  std::vector<std::string> kernel_rows, call_rows, other_rows, memory_rows;
  for (const auto& [id, text] : kernels)
    kernel_rows.push_back("{\"kernel_id\": " + Json(Integer(id)) + ", \"name\": " + text + ", " + by_kernel[id].json() + "}");
  for (const auto& [id, text] : calls) call_rows.push_back("{\"call_id\": " + Json(Integer(id)) + ", \"kernel_id\": " + text + "}");
  for (const auto& [name, figures] : others) other_rows.push_back("{\"name\": " + Json(name) + ", " + figures.json() + "}");
  if (others.contains(Text())) std::rotate(other_rows.begin(), other_rows.begin() + 1, other_rows.end());
  for (const auto& [kind, sums] : memory)
    memory_rows.push_back("{\"kind\": " + Json(Text(kind)) + ", \"operations\": " + Json(Integer(sums.first)) +
                          ", \"bytes\": " + Json(sums.second) + "}");
  return json + ", " + total.json() + ", \"span_ns\": " + Json(first ? Integer(*last - *first) : Integer()) +
         ", \"kernels\": " + Json(kernel_rows) + ", \"calls\": " + Json(call_rows) +
         ", \"other_executions\": " + Json(other_rows) + ", \"memory_operations\": " + Json(memory_rows) + "}";
}

int main(int count, char** words) {
  try {
    Require(count == 2, "usage: reader TRACE");
    const fs::path out = words[1];
    std::set<std::string> runs;
    for (const auto& entry : fs::directory_iterator(out / "runs")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("run=")) runs.insert(name.substr(4));
    }
    std::vector<std::string> answers;
    for (const auto& run : runs)
      if (const auto answer = RunAnswer(out, run); !answer.empty()) answers.push_back(answer);
    std::cout << "{\"runs\": " << Json(answers) << "}\n";
  } catch (const std::exception& error) {
    std::cerr << "rejected: " << error.what() << "\n";
    return 1;
  }
}
