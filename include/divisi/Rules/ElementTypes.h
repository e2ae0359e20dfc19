//===- ElementTypes.h - The element types of rules --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule may name a type, as f32, or a family: `float`, `int`, `number`, `any`.
// All tensors of one family have the same type in one match, so a rule about
// `float` is one about f16, and one about f64.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_ELEMENTTYPES_H
#define DIVISI_RULES_ELEMENTTYPES_H

#include "divisi/Rules/Rule.h"
#include "divisi/runtime/kernels/Element.h"

#include <map>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// The types that `element` may be in a match, of a family those in which rules
/// are tried: the field for floats, integers of both kinds. Empty if it is no
/// word of the language.
std::vector<rt::DType> typesOf(const std::string &element);

/// A type for each word that a rule has for elements.
using TypeChoice = std::map<std::string, rt::DType>;

/// All choices for the words of `rule`, one for each if they name types.
std::vector<TypeChoice> typeChoices(const Rule &rule);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_ELEMENTTYPES_H
