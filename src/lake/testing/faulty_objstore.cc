#include "lake/testing/faulty_objstore.h"

#include <utility>

namespace lake::testing {
namespace {

using objstore::ObjectInfo;
using objstore::ObjectPage;
using objstore::ObjectWriter;

bool ChangesWhatIsVisible(FaultyObjectStore::Operation operation) {
  using enum FaultyObjectStore::Operation;
  return operation == kPut || operation == kFinish || operation == kDelete;
}

}  // namespace

class FaultyObjectStore::Writer final : public ObjectWriter {
 public:
  Writer(FaultyObjectStore& owner, std::unique_ptr<ObjectWriter> writer, std::string_view path)
      : owner_(owner), writer_(std::move(writer)), path_(path) {}

  Status Append(std::string_view bytes) override {
    return owner_.Pass<void>(Operation::kAppend, path_, [&] { return writer_->Append(bytes); });
  }

  Status Finish() override {
    return owner_.Pass<void>(Operation::kFinish, path_, [&] { return writer_->Finish(); });
  }

 private:
  FaultyObjectStore& owner_;
  const std::unique_ptr<ObjectWriter> writer_;
  const std::string path_;
};

void FaultyObjectStore::SetRule(Rule rule) {
  const MutexLock lock(mutex_);
  rule_ = std::move(rule);
}

void FaultyObjectStore::FailNth(std::size_t n, Fault fault) {
  const MutexLock lock(mutex_);
  rule_ = [number = requests_.size() + n, fault](const Request& request) {
    return request.number == number ? fault : Fault::kNone;
  };
}

void FaultyObjectStore::RefuseFrom(std::size_t n) {
  const MutexLock lock(mutex_);
  rule_ = [number = requests_.size() + n](const Request& request) {
    return request.number >= number ? Fault::kRefuse : Fault::kNone;
  };
}

void FaultyObjectStore::InterruptNth(std::size_t n, std::function<void()> before,
                                     std::function<void()> after) {
  const MutexLock lock(mutex_);
  interruption_ = {
      .number = requests_.size() + n, .before = std::move(before), .after = std::move(after)};
}

void FaultyObjectStore::WaitForHeld(std::size_t count) {
  const MutexLock lock(mutex_);
  while (held_ < count) {
    changed_.Wait(mutex_);
  }
}

void FaultyObjectStore::Release() {
  const MutexLock lock(mutex_);
  held_ = 0;
  ++releases_;
  changed_.NotifyAll();
}

std::vector<FaultyObjectStore::Request> FaultyObjectStore::requests() const {
  const MutexLock lock(mutex_);
  return requests_;
}

Result<std::string> FaultyObjectStore::Get(std::string_view path, std::uint64_t size_max,
                                           Deadline deadline) {
  return Pass<std::string>(Operation::kGet, path,
                           [&] { return store_.Get(path, size_max, deadline); });
}

Result<std::string> FaultyObjectStore::GetRange(std::string_view path, std::uint64_t offset,
                                                std::uint64_t length, Deadline deadline) {
  return Pass<std::string>(Operation::kGetRange, path,
                           [&] { return store_.GetRange(path, offset, length, deadline); });
}

Result<ObjectInfo> FaultyObjectStore::Stat(std::string_view path, Deadline deadline) {
  return Pass<ObjectInfo>(Operation::kStat, path, [&] { return store_.Stat(path, deadline); });
}

Status FaultyObjectStore::PutIfAbsent(std::string_view path, std::string_view bytes,
                                      Deadline deadline) {
  return Pass<void>(Operation::kPut, path,
                    [&] { return store_.PutIfAbsent(path, bytes, deadline); });
}

Result<std::unique_ptr<ObjectWriter>> FaultyObjectStore::StartWrite(std::string_view path,
                                                                    Deadline deadline) {
  LAKE_TRY(auto writer, Pass<std::unique_ptr<ObjectWriter>>(Operation::kStartWrite, path, [&] {
             return store_.StartWrite(path, deadline);
           }));
  return std::make_unique<Writer>(*this, std::move(writer), path);
}

Result<ObjectPage> FaultyObjectStore::List(std::string_view prefix, std::string_view after,
                                           std::size_t limit, Deadline deadline) {
  return Pass<ObjectPage>(Operation::kList, prefix,
                          [&] { return store_.List(prefix, after, limit, deadline); });
}

Status FaultyObjectStore::Delete(const std::vector<std::string>& paths, Deadline deadline) {
  return Pass<void>(Operation::kDelete, paths.empty() ? "" : paths.front(),
                    [&] { return store_.Delete(paths, deadline); });
}

template <typename T>
Result<T> FaultyObjectStore::Pass(Operation operation, std::string_view path,
                                  const std::function<Result<T>()>& call) {
  const Begun begun = Begin(operation, path);
  if (begun.interruption.before) {
    begun.interruption.before();
  }
  Result<T> result = Act(begun.fault, operation, path, call);
  if (begun.interruption.after) {
    begun.interruption.after();
  }
  return result;
}

template <typename T>
Result<T> FaultyObjectStore::Act(Fault fault, Operation operation, std::string_view path,
                                 const std::function<Result<T>()>& call) {
  const auto lost = [&](const char* what) -> Result<T> {
    std::string message = std::string(what) + " of " + std::string(path) + " was lost by a test";
    return ChangesWhatIsVisible(operation) ? OutcomeUnknown(std::move(message))
                                           : Unavailable(std::move(message));
  };
  switch (fault) {
    case Fault::kNone:
      return call();
    case Fault::kRefuse:
      return Unavailable("request for " + std::string(path) + " was refused by a test");
    case Fault::kLoseRequest:
      return lost("request");
    case Fault::kLoseAnswer:
      static_cast<void>(call());
      return lost("answer");
    case Fault::kHoldRequest:
      Hold();
      return call();
    case Fault::kHoldAnswer: {
      Result<T> result = call();
      Hold();
      return result;
    }
  }
  return Internal("no such fault");
}

FaultyObjectStore::Begun FaultyObjectStore::Begin(Operation operation, std::string_view path) {
  const MutexLock lock(mutex_);
  requests_.push_back(
      {.operation = operation, .path = std::string(path), .number = requests_.size() + 1});
  Begun begun{.fault = rule_ == nullptr ? Fault::kNone : rule_(requests_.back())};
  if (interruption_.number == requests_.size()) {
    begun.interruption = std::exchange(interruption_, {});
  }
  return begun;
}

void FaultyObjectStore::Hold() {
  const MutexLock lock(mutex_);
  ++held_;
  changed_.NotifyAll();
  const std::size_t released_by = releases_ + 1;
  while (releases_ < released_by) {
    changed_.Wait(mutex_);
  }
}

}  // namespace lake::testing
