// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/command_words.h"

#include "headlight/base/version.h"
#include "headlight/model/locate.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace headlight::figure {

std::string number_word(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

std::string shell_word(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string model_reference(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const std::filesystem::path& parent : model::built_in_model_folders())
        if (std::filesystem::equivalent(parent / folder.filename(), folder, ignored)) return folder.filename().string();
    return full_path(folder.string());
}

std::string full_path(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::absolute(path, ignored).lexically_normal().string();
}

Provenance provenance_of(const model::Model& model, const std::string& dtype) {
    Provenance made;
    made.model = model.config().name;
    made.model_hash = model.hash();
    made.dtype = dtype;
    made.version = version();
    return made;
}

std::string command_of(const std::string& verb, const model::Model& model, CommandOptions options, const std::string& dtype,
                       const ExportOptions& output, const std::string& format) {
    if (dtype != "float32") options.emplace_back("dtype", dtype);
    const ExportOptions counted = counted_in(output, format);
    put_theme(options, counted.style);
    put_size(options, counted);
    return "headlight " + verb + " " + shell_word(model_reference(model.folder())) + command_words(options) + " --out figure." +
           format;
}

std::string attention_word(model::Stack stack) {
    return stack == model::Stack::whole || stack == model::Stack::decoder ? "" : std::string(enum_word(stack));
}

void put_theme(CommandOptions& out, const Style& style) {
    if (style.theme->dark) out.emplace_back("theme", "dark");
}

void put_size(CommandOptions& out, const ExportOptions& o) {
    const ExportOptions defaults;
    if (o.size_px.width() != defaults.size_px.width()) out.emplace_back("width", number_word(o.size_px.width()));
    if (o.size_px.height() != defaults.size_px.height()) out.emplace_back("height", number_word(o.size_px.height()));
    if (o.width_mm) out.emplace_back("size-mm", number_word(*o.width_mm));
    if (o.list_rows) out.emplace_back("list-rows", std::to_string(*o.list_rows));
    if (o.scale != defaults.scale) out.emplace_back("scale", number_word(o.scale));
    if (o.transparent) out.emplace_back("transparent", "");
    if (!o.footer) out.emplace_back("no-footer", "");
}

ExportOptions counted_in(const ExportOptions& o, const std::string& format) {
    if (is_picture("figure." + format)) return o;
    ExportOptions tables;
    tables.style = o.style;
    tables.style.theme = tables.style.theme->dark ? &Theme::light() : tables.style.theme;
    return tables;
}

std::string command_words(const CommandOptions& options) {
    std::string line;
    for (const auto& [name, value] : options) line += " --" + name + (value.empty() ? "" : " " + shell_word(value));
    return line;
}

}  // namespace headlight::figure
