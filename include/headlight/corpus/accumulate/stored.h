// SPDX-License-Identifier: GPL-3.0-or-later
// An accumulator lists its content once, and fresh(), merge(), save() and load() walk that list, with every check of a file.
#pragma once

#include "headlight/corpus/accumulate/accumulator.h"

#include <memory>

namespace headlight::corpus {

class Archive;  // src/corpus/accumulate/archive.h

class StoredAccumulator : public Accumulator {
public:
    std::unique_ptr<Accumulator> fresh() const override;
    void merge(const Accumulator&) override;
    void save(Arrays&) const final;
    /// Errors: those of Arrays::get(), numbers that no run gives or that do not fit each other, heads of another model. An
    /// accumulator without heads takes those of the file.
    void load(const Arrays&) final;

private:
    virtual std::unique_ptr<StoredAccumulator> copy() const = 0;
    /// Lists each part, and the arrays that it has in a file.
    virtual void stored(Archive&) = 0;
};

/// Base of `Kind`.
template <class Kind>
class Stored : public StoredAccumulator {
    std::unique_ptr<StoredAccumulator> copy() const final { return std::make_unique<Kind>(static_cast<const Kind&>(*this)); }
};

}  // namespace headlight::corpus
