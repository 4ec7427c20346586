// SPDX-License-Identifier: GPL-3.0-or-later
// Heads that classify texts, tokens or pictures, or mark answers: one table for all families. What a family says of its language
// head does not count for such a model.
#pragma once

#include "model/families/family.h"

#include <string>
#include <vector>

namespace headlight::io {
class TensorStore;
}

namespace headlight::model {

/// The family's configuration, with the head that the architecture names.
ModelConfig config_of(const Family&, const ConfigReader&);
/// The family's rows, with those of the class head in place of the language head's.
WeightMap rows_of(const Family&, const ModelConfig&);
/// The family's blocks, likewise.
Spec spec_of(const Family&, const ModelConfig&);

/// A model whose class name is not a language model's, with a head in its files that no row reads ("score.weight"), has no
/// language head, even if that would be tied: sets ModelConfig::other_head.
void find_other_head(ModelConfig&, const io::TensorStore&);

/// id2label, or num_labels names "LABEL_0" … as transformers has them (2 where nothing is said).
std::vector<std::string> read_labels(const ConfigReader&);

}  // namespace headlight::model
