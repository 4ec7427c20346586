// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "corpus/reading/line_reader.h"
#include "headlight/corpus/reading/read_texts.h"

namespace headlight::corpus {

/// Receives a text that was read, or lists it; false: stop reading.
class TextTaker {
public:
    TextTaker(const TakeText& take, const std::function<void(LeftOut)>& left_out) : take_(take), left_out_(left_out) {}
    /// Texts that are empty, not UTF-8 or too long are listed.
    bool operator()(Text&&) const;
    void leave_out(std::string id, std::string reason) const {
        if (left_out_) left_out_({std::move(id), std::move(reason)});
    }

private:
    const TakeText& take_;
    const std::function<void(LeftOut)>& left_out_;
};

/// `name`: the file's name in ids. False: stop reading.
bool read_jsonl(const std::filesystem::path&, const std::string& name, const std::string& field, const TextTaker&,
                const CancelToken&);
bool read_csv(const std::filesystem::path&, const std::string& name, const std::string& field, char separator, const TextTaker&,
              const CancelToken&);

}  // namespace headlight::corpus
