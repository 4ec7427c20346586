// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"
#include "text/section.h"

#include <memory>
#include <string>
#include <utility>

namespace headlight::text {

/// Changes a section's text and keeps its alignment to what was typed. Const and free of state.
class Normalizer {
public:
    virtual ~Normalizer() = default;
    virtual void normalize(Section&) const = 0;
    /// The string of an added token that is looked for in normalized text.
    virtual void normalize_token(Section& token) const { normalize(token); }
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

/// A normalizer that does what the function does.
template <class F>
NormalizerPtr normalizer_of(F function) {
    class Of final : public Normalizer {
    public:
        explicit Of(F f) : function_(std::move(f)) {}
        void normalize(Section& s) const override { function_(s); }

    private:
        F function_;
    };
    return std::make_unique<Of>(std::move(function));
}

/// Builds what a value of the key "normalizer" describes; Error for a type that is not known.
NormalizerPtr make_normalizer(const Field&);

NormalizerPtr make_bert_normalizer(const Field&);
NormalizerPtr make_replace(const Field&);
NormalizerPtr make_unicode_form(const std::string& type);
NormalizerPtr make_lowercase();
NormalizerPtr make_strip(const Field&);
NormalizerPtr make_strip_accents();
NormalizerPtr make_prepend(const Field&);
NormalizerPtr make_precompiled(const Field&);
NormalizerPtr make_nmt();
NormalizerPtr make_byte_level_normalizer();
NormalizerPtr make_sentence_piece(const Field&);
NormalizerPtr make_normalizer_sequence(const Field&);

/// ASCII letters to lower case in place, others through Unicode.
void lowercase(Section&);
/// Drops each character that `drop` names; the others keep their alignment.
void drop_characters(Section&, bool (*drop)(char32_t) noexcept);

}  // namespace headlight::text
