// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>

namespace headlight::ui {

/// Sentences to start with; the first is what a first start shows (resources/examples.txt).
const QStringList& example_sentences();
/// Pairs to compare, A and B with a tab between them: one that differs in gender, and a paraphrase (resources/comparisons.txt).
const QStringList& comparison_examples();

}  // namespace headlight::ui
