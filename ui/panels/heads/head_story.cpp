// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_story.h"

#include "headlight/base/numbers.h"

#include <cmath>

namespace headlight::ui {

namespace {

using analyze::HeadTable;

/// The measures of one head.
class Facts {
public:
    Facts(const HeadTable& table, HeadId head) : table_(table), head_(head) {}
    double operator()(const char* measure) const {
        const auto* values = table_.find(measure);
        return values ? (*values)(head_.layer.value, head_.head.value) : std::nan("");
    }
    bool has(const char* measure) const { return !std::isnan((*this)(measure)); }
    bool from(const char* measure, double least) const { return (*this)(measure) >= least; }
    QString text(const char* measure) const { return QString::fromStdString(significant((*this)(measure))); }
    std::int64_t queries(const char* measure) const {
        const auto found = table_.queries.find(measure);
        return found == table_.queries.end() ? 0 : found->second;
    }
    QString repeats(const char* measure) const { return QString::fromStdString(analyze::repeats_text(table_, measure)); }
    bool enough(const char* measure) const { return queries(measure) >= analyze::queries_for_a_kind; }
    const HeadTable& table() const { return table_; }

private:
    const HeadTable& table_;
    HeadId head_;
};

/// What the random-token probe says, which holds for the head and not for a text.
QString by_probe(const Facts& f) {
    if (f.from("probe_induction", analyze::induction_from)) {
        const QString score = f.text("probe_induction");
        if (!f.table().causal)
            return QStringLiteral(
                       "On repeated random tokens %1 of its weight goes to what stands behind the same token's first copy. "
                       "In a model that reads both ways that is no induction: the answer itself is in sight.")
                .arg(score);
        QString story = QStringLiteral(
                            "An induction head: %1 on repeated random tokens. Where the same token occurred before, it "
                            "attends to what followed it. Elhage 2021; Olsson 2022.")
                            .arg(score);
        if (f.has("induction"))
            story += QStringLiteral(" On this text: %1, %2.").arg(f.text("induction"), f.repeats("induction"));
        return story;
    }
    if (f.from("probe_duplicate", analyze::duplicate_from))
        return QStringLiteral(
                   "A duplicate-token head: %1 on repeated random tokens. It attends to earlier occurrences of the same "
                   "token. Wang 2022.")
            .arg(f.text("probe_duplicate"));
    if (f.from("probe_previous", analyze::previous_from))
        return QStringLiteral(
                   "A previous-token head: %1 on random tokens. It attends to the token just before. Clark 2019; Vig and "
                   "Belinkov 2019.")
            .arg(f.text("probe_previous"));
    return {};
}

/// A kind that the text alone speaks for: never more than that.
QString on_text(const Facts& f) {
    struct Kind {
        const char *excess, *probe, *name, *what, *paper;
        double from;
        bool only_causal;
    };
    static constexpr Kind kinds[] = {
        {"induction_excess", "probe_induction", "an induction head", "attends to what followed the earlier token",
         "Elhage 2021; Olsson 2022", analyze::induction_from, true},
        {"duplicate_excess", "probe_duplicate", "a duplicate-token head", "attends to the earlier token", "Wang 2022",
         analyze::duplicate_from, false},
    };
    for (const Kind& kind : kinds) {
        if (!f.from(kind.excess, kind.from) || (kind.only_causal && !f.table().causal)) continue;
        const QString said = QStringLiteral("%1 more than those keys and distances get anyway, n = %2")
                                 .arg(f.text(kind.excess))
                                 .arg(f.queries(kind.excess));
        if (f.has(kind.probe))
            return QStringLiteral(
                       "On this text it %1 where a token repeats (%2), but hardly on repeated random tokens (%3): not %4 in "
                       "general.")
                .arg(QLatin1String(kind.what), said, f.text(kind.probe), QLatin1String(kind.name));
        if (!f.enough(kind.excess))
            return QStringLiteral("Where a token repeats it %1 (%2). That is too little to call it %3: at least %4 are needed.")
                .arg(QLatin1String(kind.what), said, QLatin1String(kind.name))
                .arg(analyze::queries_for_a_kind);
        return QStringLiteral("On this text it behaves like %1: where a token repeats, it %2 (%3). %4.")
            .arg(QLatin1String(kind.name), QLatin1String(kind.what), said, QLatin1String(kind.paper));
    }
    if (f.from("previous_excess", analyze::previous_from) && f.enough("previous_excess"))
        return QStringLiteral(
                   "On this text it behaves like a previous-token head: %1 of its weight, beyond what those keys get anyway, "
                   "goes to the token just before (n = %2). Clark 2019; Vig and Belinkov 2019.")
            .arg(f.text("previous_excess"))
            .arg(f.queries("previous_excess"));
    return {};
}

/// Where most of the weight rests on this text.
QString by_share(const Facts& f) {
    if (f.table().rows < analyze::queries_for_a_kind) return {};
    const QString n = QStringLiteral("n = %1").arg(f.table().rows);
    if (f.from("share_next", 0.5))
        return QStringLiteral("On this text it mostly attends to the token just after: %1 of its weight, %2. Clark 2019.")
            .arg(f.text("share_next"), n);
    const auto rests = [&](const char* share, const char* weighted, const char* where, const char* paper) {
        QString story = QStringLiteral(
                            "On this text %1 of its weight rests on %2 (%3), where heads often attend when they have "
                            "nothing to write.")
                            .arg(f.text(share), QLatin1String(where), n);
        if (f.has(weighted))
            story += f(weighted) < f(share) / 2
                         ? QStringLiteral(" Of what it writes only %1 comes from there.").arg(f.text(weighted))
                         : QStringLiteral(" Here it does write: %1 of its output comes from there.").arg(f.text(weighted));
        return story + u' ' + QLatin1String(paper);
    };
    if (f.from("share_first", 0.6))
        return rests("share_first", "vw_share_first", "the first token", "Attention sinks: Xiao 2023.");
    if (f.from("share_special", 0.6)) return rests("share_special", "vw_share_special", "special tokens", "Clark 2019.");
    if (f.from("share_self", 0.6))
        return QStringLiteral("On this text it mostly attends to the token itself: %1 of its weight, %2. Clark 2019.")
            .arg(f.text("share_self"), n);
    return {};
}

}  // namespace

QString head_story(const HeadTable& table, HeadId head) {
    const Facts facts(table, head);
    for (const auto story : {by_probe, on_text, by_share})
        if (const QString told = story(facts); !told.isEmpty()) return told;
    return {};
}

}  // namespace headlight::ui
