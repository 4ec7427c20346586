// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/map/map_colors.h"

#include "figure/core/draw.h"
#include "figure/map/map_plane.h"
#include "figure/map/point_cloud.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace headlight::figure {
namespace {

constexpr int hues = 5;            ///< of positions modulo 5
constexpr std::uint8_t texts = 8;  ///< hues of texts, used modulo

/// Seventeen colours cannot be told apart: parts of speech that do alike work have one.
struct WordClass {
    const char* name;
    std::initializer_list<std::string_view> tags;
};
const WordClass word_classes[] = {{"noun", {"NOUN", "PROPN"}},
                                  {"verb", {"VERB", "AUX"}},
                                  {"pronoun", {"PRON"}},
                                  {"adjective, number", {"ADJ", "NUM"}},
                                  {"adverb, particle", {"ADV", "PART", "INTJ"}},
                                  {"adposition, conjunction", {"ADP", "CCONJ", "SCONJ"}},
                                  {"determiner", {"DET"}},
                                  {"punctuation, other", {}}};
constexpr int class_count = std::size(word_classes);

std::uint8_t class_of(std::string_view tag) {
    for (std::uint8_t c = 0; c < class_count; ++c)
        if (std::ranges::find(word_classes[c].tags, tag) != word_classes[c].tags.end()) return c;
    return class_count - 1;
}

/// Light to dark on paper, dark to light on a dark canvas; the middle is the colour itself.
QColor role_ramp(const Theme& theme, const QColor& color, double t) {
    return t < 0.5 ? draw::blended(theme.canvas, color, 0.32 + 1.36 * t) : draw::blended(color, theme.text, 1.2 * (t - 0.5));
}

QColor trust_color(const Theme& theme, double t) {
    return ramp_color(Ramp::viridis, theme, theme.dark ? 0.15 + 0.85 * t : 0.92 * t);
}

std::uint8_t step_of(double t) { return static_cast<std::uint8_t>(std::lround(std::clamp(t, 0.0, 1.0) * (map_ramp_steps - 1))); }

bool is_ramp(MapColor color) {
    return color == MapColor::position || color == MapColor::norm || color == MapColor::length || color == MapColor::frequency ||
           color == MapColor::trust;
}

QString bare(const QString& token) {
    QString text = token;
    while (text.startsWith(u'·')) text.remove(0, 1);
    if (text.startsWith(QLatin1String("##"))) text.remove(0, 2);
    return text;
}

}  // namespace

MapPointFacts map_point_facts(const map::QueryKeyMap& map) {
    MapPointFacts facts;
    const std::size_t n = map::point_count(map);
    facts.queries = map::query_count(map);
    std::unordered_map<std::int64_t, std::int32_t> counts;
    std::unordered_map<std::string, QString> texts;
    for (std::size_t i = 0; i < n; ++i) {
        const MapToken token = map_token(map, static_cast<std::int32_t>(i));
        const std::string& spelled = token.of.tokens[token.at];
        QString& text = texts[spelled];
        if (text.isEmpty()) text = map_token_text(spelled);
        facts.text.push_back(text);
        const QString word = bare(text);
        facts.length.push_back(static_cast<std::int32_t>(word.size()));
        facts.punctuation.push_back(!word.isEmpty() &&
                                    std::ranges::all_of(word, [](QChar c) { return c.isPunct() || c.isSymbol(); }));
        facts.apart.push_back(token.of.apart[token.at]);
        if (!map.tokens.tags.empty())
            facts.word_class.push_back(class_of(token.at < token.of.tags.size() ? token.of.tags[token.at] : ""));
        facts.position.push_back(token.of.position[token.at]);
        facts.of_text.push_back(token.text());
        facts.longest = std::max(facts.longest, facts.length.back());
        facts.last_position = std::max(facts.last_position, facts.position.back());
        // A token is counted once, although it has a query and a key.
        if (!token.key || !map.source.tokens.empty()) facts.most = std::max(facts.most, ++counts[token.of.token_ids[token.at]]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const MapToken token = map_token(map, static_cast<std::int32_t>(i));
        facts.count.push_back(counts[token.of.token_ids[token.at]]);
    }
    return facts;
}

std::pair<float, float> map_norm_range(const MapPointFacts& facts, const map::HeadMap& head) {
    std::vector<float> norms;
    for (std::size_t i = 0; i < head.norms.size(); ++i)
        if (!facts.apart[i] && std::isfinite(head.norms[i])) norms.push_back(head.norms[i]);
    if (norms.empty()) return {0.0F, 1.0F};
    const float low = quantile(norms, 0.01), high = quantile(norms, 0.99);
    return {low, std::max(high, low)};
}

std::vector<std::uint8_t> map_classes(const MapPointFacts& facts, const map::HeadMap& head, const MapLook& look) {
    std::vector<std::uint8_t> classes(facts.size(), cloud_hidden);
    const auto [low, high] = look.color == MapColor::norm ? map_norm_range(facts, head) : std::pair(0.0F, 1.0F);
    const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0.0; };
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const bool key = facts.key(i);
        if (!(key ? look.keys : look.queries)) continue;
        if (facts.apart[i]) {
            if (look.apart) classes[i] = map_apart;
            continue;
        }
        const auto along = [&](double t) { return static_cast<std::uint8_t>(step_of(t) + (key ? map_ramp_steps : 0)); };
        const auto hue = [&](std::int32_t of, int count) { return static_cast<std::uint8_t>(of % count + (key ? count : 0)); };
        switch (look.color) {
            case MapColor::role: classes[i] = key; break;
            case MapColor::position: classes[i] = along(share(facts.position[i], facts.last_position)); break;
            case MapColor::position_mod5: classes[i] = hue(facts.position[i], hues); break;
            case MapColor::norm:
                classes[i] = along(i < head.norms.size() ? share(double(head.norms[i] - low), double(high - low)) : 0);
                break;
            case MapColor::length: classes[i] = along(share(facts.length[i] - 1, facts.longest - 1)); break;
            case MapColor::punctuation: classes[i] = static_cast<std::uint8_t>(facts.punctuation[i] * 2 + key); break;
            case MapColor::frequency: classes[i] = along(share(std::log(facts.count[i]), std::log(facts.most))); break;
            case MapColor::part_of_speech:
                classes[i] = hue(facts.word_class.empty() ? class_count - 1 : facts.word_class[i], class_count);
                break;
            case MapColor::text: classes[i] = hue(facts.of_text[i], texts); break;
            case MapColor::trust: classes[i] = step_of(i < head.trust.size() ? double(head.trust[i]) : 0); break;
        }
    }
    return classes;
}

QColor map_role_color(const Theme& theme, bool key) { return key ? theme.negative : theme.positive; }

std::vector<QRgb> map_palette(MapColor color, const Theme& theme) {
    std::vector<QRgb> palette(map_apart + 1, theme.text.rgb());
    const QColor query = map_role_color(theme, false), key = map_role_color(theme, true);
    const auto paler = [&](const QColor& c) { return draw::blended(theme.canvas, c, 0.5); };
    const auto hue = [&](std::int64_t i) { return head_color(theme, HeadPalette::okabe_ito, i); };
    if (is_ramp(color)) {
        for (std::uint8_t i = 0; i < map_ramp_steps; ++i) {
            const double t = i / (map_ramp_steps - 1.0);
            palette[i] = (color == MapColor::trust ? trust_color(theme, t) : role_ramp(theme, query, t)).rgb();
            palette[std::size_t{i} + map_ramp_steps] = role_ramp(theme, key, t).rgb();
        }
    } else if (color == MapColor::role) {
        palette[0] = query.rgb(), palette[1] = key.rgb();
    } else if (color == MapColor::punctuation) {
        palette[0] = paler(query).rgb(), palette[1] = paler(key).rgb();
        palette[2] = hue(2).rgb(), palette[3] = hue(4).rgb();
    } else {
        const int n = color == MapColor::text ? texts : color == MapColor::part_of_speech ? class_count : hues;
        for (int i = 0; i < n; ++i) {
            palette[static_cast<std::size_t>(i)] = hue(i).rgb();
            palette[static_cast<std::size_t>(i + n)] = paler(hue(i)).rgb();
        }
    }
    palette[map_grey] = theme.faint.rgb();
    palette[map_apart] = theme.muted.rgb();
    return palette;
}

MapLegend map_legend(MapColor color, const map::QueryKeyMap& map, const MapPointFacts& facts, const map::HeadMap* single) {
    MapLegend legend;
    legend.roles_apart = color != MapColor::trust;
    const auto ramp = [&](const QString& name, const QString& low, const QString& high) {
        legend.name = name, legend.low = low, legend.high = high;
    };
    const auto entry = [&](int index, const QString& words) {
        legend.entries.push_back({static_cast<std::uint8_t>(index), words});
    };
    switch (color) {
        case MapColor::role:
            entry(0, QStringLiteral("queries"));
            entry(1, QStringLiteral("keys"));
            break;
        case MapColor::position:
            ramp(QStringLiteral("position"), QStringLiteral("0"), QString::number(facts.last_position));
            break;
        case MapColor::position_mod5:
            for (int i = 0; i < hues; ++i) entry(i, QString::number(i));
            legend.note = QStringLiteral("position modulo 5; keys are paler");
            break;
        case MapColor::norm: {
            const auto [low, high] = single ? map_norm_range(facts, *single) : std::pair(0.0F, 0.0F);
            ramp(QStringLiteral("length of the vector"), single ? draw::value_text(double(low), 2) : QStringLiteral("shortest"),
                 single ? draw::value_text(double(high), 2) : QStringLiteral("longest of the head"));
            break;
        }
        case MapColor::length: ramp(QStringLiteral("characters"), QStringLiteral("1"), QString::number(facts.longest)); break;
        case MapColor::punctuation:
            entry(0, QStringLiteral("queries of words"));
            entry(1, QStringLiteral("keys of words"));
            entry(2, QStringLiteral("queries of punctuation"));
            entry(3, QStringLiteral("keys of punctuation"));
            break;
        case MapColor::frequency:
            ramp(QStringLiteral("times in the texts"), QStringLiteral("1"), draw::count_text(facts.most));
            break;
        case MapColor::part_of_speech:
            for (int i = 0; i < class_count && !facts.word_class.empty(); ++i) entry(i, QLatin1String(word_classes[i].name));
            legend.note =
                facts.word_class.empty() ? QStringLiteral("the texts have no parts of speech") : QStringLiteral("keys are paler");
            break;
        case MapColor::text:
            for (int i = 0; i < std::min<int>(texts, static_cast<int>(map.tokens.names.size())); ++i)
                entry(i, QString::number(i));
            legend.note = map.tokens.names.size() > texts ? QStringLiteral("text, modulo 8; keys are paler")
                                                          : QStringLiteral("text; keys are paler");
            break;
        case MapColor::trust: ramp(QStringLiteral("neighbours kept"), QStringLiteral("0"), QStringLiteral("1")); break;
    }
    return legend;
}

}  // namespace headlight::figure
