// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"

namespace headlight::text {
namespace {

class NormalizerSequence final : public Normalizer {
public:
    explicit NormalizerSequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}
    void normalize(Section& s) const override {
        for (const auto& part : parts_) part->normalize(s);
    }

private:
    std::vector<NormalizerPtr> parts_;
};

}  // namespace

NormalizerPtr make_normalizer_sequence(const Field& f) {
    std::vector<NormalizerPtr> parts;
    for (const Field& item : f.at("normalizers").items()) parts.push_back(make_normalizer(item));
    return std::make_unique<NormalizerSequence>(std::move(parts));
}

}  // namespace headlight::text
