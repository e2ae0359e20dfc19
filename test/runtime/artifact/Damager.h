//===- Damager.h - Messages with a number changed ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_ARTIFACT_DAMAGER_H
#define DIVISI_TEST_RUNTIME_ARTIFACT_DAMAGER_H

#include "test/runtime/core/TestSession.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace divisi::rt {

/// Changes numbers of messages.
class Damager {
public:
  explicit Damager(uint32_t seed) : random_(seed) {}

  /// Changes one number in `message` or what it holds; false if it has none.
  bool damage(google::protobuf::Message &message);

private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  /// Near to what it was, or far from it.
  int64_t other(int64_t value) {
    const int64_t values[] = {value + 1, value - 1, 0, 1, 64, -1, INT64_MAX};
    return values[pick(std::size(values))];
  }

  std::mt19937_64 random_;
};

inline bool Damager::damage(google::protobuf::Message &message) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection &of = *message.GetReflection();
  std::vector<const Field *> fields;
  of.ListFields(message, &fields);
  std::shuffle(fields.begin(), fields.end(), random_);
  for (const Field *field : fields) {
    int size = field->is_repeated() ? of.FieldSize(message, field) : 0;
    int at = size == 0 ? 0 : int(pick(size));
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      if (damage(field->is_repeated()
                     ? *of.MutableRepeatedMessage(&message, field, at)
                     : *of.MutableMessage(&message, field))) {
        return true;
      }
    } else if (field->cpp_type() == Field::CPPTYPE_INT64) {
      if (field->is_repeated()) {
        of.SetRepeatedInt64(&message, field, at,
                            other(of.GetRepeatedInt64(message, field, at)));
      } else {
        of.SetInt64(&message, field, other(of.GetInt64(message, field)));
      }
      return true;
    } else if (field->cpp_type() == Field::CPPTYPE_UINT32) {
      if (field->is_repeated()) {
        of.SetRepeatedUInt32(
            &message, field, at,
            uint32_t(other(of.GetRepeatedUInt32(message, field, at))));
      } else {
        of.SetUInt32(&message, field,
                     uint32_t(other(of.GetUInt32(message, field))));
      }
      return true;
    } else if (field->cpp_type() == Field::CPPTYPE_BOOL) {
      of.SetBool(&message, field, !of.GetBool(message, field));
      return true;
    }
  }
  return false;
}

/// Opens manifests that `make` makes and that are damaged, each in up to three
/// numbers of what `victimOf` returns, one for each seed. What is not refused
/// runs: to an end, or to an error. Returns how many are refused.
template <typename Make, typename VictimOf, typename Run>
int countRefused(const char *what, uint32_t seeds,
                 const SessionOptions &options, Make make, VictimOf victimOf,
                 Run run) {
  int refused = 0, ran = 0;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    Damager damager(seed);
    pb::Manifest manifest = make();
    google::protobuf::Message &victim = victimOf(manifest, seed);
    for (uint32_t i = 0; i <= seed % 3; ++i) {
      EXPECT_TRUE(damager.damage(victim));
    }
    auto session = openSession(manifest, {}, options);
    if (!session) {
      ++refused;
      EXPECT_NE(session.status().code(), ExitCode::Internal);
      continue;
    }
    ++ran;
    if (const EntryInfo *entry = (*session)->findEntry("f")) {
      Status status = run(**session, *entry);
      EXPECT_TRUE(status.isOk() || status.code() == ExitCode::Invalid)
          << seed << ": " << status.message();
    }
  }
  std::cout << "counted: damaged " << what << ": " << refused << " refused, "
            << ran << " ran\n";
  return refused;
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_ARTIFACT_DAMAGER_H
