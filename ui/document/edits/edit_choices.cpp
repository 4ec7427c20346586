// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/edits/edit_choices.h"

#include "headlight/intervention/recipe/recipe.h"
#include "headlight/model/outline.h"

#include <cmath>

namespace headlight::ui {

namespace {

/// Of the attention that is shown, before a place: "encoder.", or nothing.
QString stack_word(const Document& document) {
    const bool other = document.has_parts() && document.attention() != model::Stack::decoder;
    return other ? QString::fromUtf8(enum_word(document.attention())) + u'.' : QString();
}

/// " from …": the window's second text or, without one, its own, to be changed; of a picture its file.
QString donor_words(const Document& document) {
    const OtherInput& other = document.options().other;
    const PromptText& own = document.prompt();
    const bool pictures = model::reads_pictures(document.trace()->config());
    const auto of = [&](QString PromptText::*field) {
        return other.on && !(other.prompt.*field).isEmpty() ? other.prompt.*field : own.*field;
    };
    QString words = QStringLiteral(" from ") + in_quotes(of(pictures ? &PromptText::image : &PromptText::text));
    if (document.has_parts() && !of(&PromptText::pair).isEmpty())
        words += QStringLiteral(" to ") + in_quotes(of(&PromptText::pair));
    return words;
}

/// Builds the choices for one hit.
class Choices {
public:
    Choices(const Document& document, const figure::Hit& hit)
        : trace_(*document.trace()),
          hit_(hit),
          s_(document.selection().get()),
          head_(hit.head.value_or(s_.focus)),
          stack_(stack_word(document)),
          donor_(donor_words(document)) {
        // A cross attention reads the decoder's stream.
        if (document.attention() == model::Stack::encoder) stream_ = stack_;
    }

    std::vector<EditChoice> all() {
        if (hit_.neuron) add_neuron(*hit_.neuron);
        if (hit_.query && hit_.key) add_edge(*hit_.query, *hit_.key);
        if (hit_.head || (hit_.query && hit_.key)) add_head();
        if (hit_.query.has_value() != hit_.key.has_value()) add_token(hit_.query ? *hit_.query : *hit_.key, hit_.key.has_value());
        add_layer();
        return std::move(choices_);
    }

private:
    void add(const QString& text, const QString& words, bool number = false, bool main = true) {
        choices_.push_back({text, words, number, main});
    }
    QString head() const { return stack_ + figure::head_name(head_); }
    QString layer() const { return stack_ + QStringLiteral("L%1").arg(head_.layer.value); }
    QString stream_layer() const { return stream_ + QStringLiteral("L%1").arg(head_.layer.value); }
    QString named(Position p, bool key) const {
        const auto& labels = key ? trace_.key_labels() : trace_.labels();
        const auto i = static_cast<std::size_t>(p.value);
        return i < labels.size() ? QStringLiteral("%1 (%2)").arg(QString::fromStdString(labels[i].text)).arg(p.value)
                                 : QString::number(p.value);
    }

    void add_edge(Position query, Position key) {
        const bool masked = trace_.config().causal && !trace_.across_texts() && key > query;
        if (masked) return;  // it has no weight
        const QString edge = QStringLiteral(" %1<-%2").arg(query.value).arg(key.value);
        const QString name = QStringLiteral("%1 → %2").arg(named(query, false), named(key, true));
        const bool weight = hit_.value && *hit_.value > 0 && *hit_.value < 1;
        const QString now = QString::number(weight ? std::round(*hit_.value * 1000) / 1000 : 0.5);
        add(QStringLiteral("Knock out %1 in %2").arg(name, figure::head_name(head_)),
            QStringLiteral("knockout ") + head() + edge);
        add(QStringLiteral("Set its weight …"), QStringLiteral("set ") + head() + edge + u' ' + now, true);
        add(QStringLiteral("Write its weight, the others stay …"),
            QStringLiteral("write ") + head() + edge + QStringLiteral(" 0"), true, false);
        add(QStringLiteral("Knock it out in every head of layer %1").arg(head_.layer.value),
            QStringLiteral("knockout ") + layer() + edge, false, false);
    }

    void add_head() {
        const QString name = figure::head_name(head_);
        add(QStringLiteral("Switch %1 off").arg(name), QStringLiteral("zero ") + head());
        add(QStringLiteral("Scale %1 …").arg(name), QStringLiteral("scale ") + head() + QStringLiteral(" 2"), true);
        add_patch(QStringLiteral("Patch %1").arg(name), head() + QStringLiteral(".z"), {}, true);
        add_patch(QStringLiteral("Patch the pattern of %1").arg(name), head() + QStringLiteral(".pattern"), {}, false);
        if (stack_.isEmpty())  // an OV circuit is named without a stack
            add_direction(QStringLiteral("what %1 writes most").arg(name), QStringLiteral("ov %1.0").arg(head()));
        add(QStringLiteral("Mean of %1 over the text").arg(name), QStringLiteral("mean ") + head(), false, false);
        add(QStringLiteral("Temperature of %1 …").arg(name), QStringLiteral("temperature ") + head() + QStringLiteral(" 0.5"),
            true, false);
        using intervention::Operation;
        for (const auto& row : intervention::operations) {
            const Operation o = row.value;
            const bool of_text = o == Operation::previous || o == Operation::first || o == Operation::diagonal;
            if (o != Operation::uniform && (!of_text || trace_.across_texts())) continue;
            add(QStringLiteral("%1 for %2").arg(QString::fromUtf8(row.title), name), QString::fromUtf8(row.word) + u' ' + head(),
                false, false);
        }
    }

    void add_token(Position at, bool key) {
        const QString layers = QStringLiteral("layer %1").arg(head_.layer.value);
        if (key || !trace_.across_texts())
            add(QStringLiteral("Knock out attention to %1 in %2").arg(named(at, true), layers),
                QStringLiteral("knockout %1 *<-%2").arg(layer()).arg(at.value));
        if (key && trace_.across_texts()) return;  // the stream of the other text
        const QString there = QStringLiteral(" @%1").arg(at.value);
        add_patch(QStringLiteral("Patch the stream behind %1 at %2").arg(layers, named(at, false)),
                  stream_layer() + QStringLiteral(".resid_post"), there, true);
        if (trace_.config().has_unembedding && !trace_.config().class_head.any() && trace_.tokenizer())
            add_direction(QStringLiteral("a token's direction"), QStringLiteral("token ") + in_quotes(token_text(at)), there,
                          QStringLiteral(" at ") + named(at, false), true);
        add(QStringLiteral("Switch the MLP of %1 off at %2").arg(layers, named(at, false)),
            QStringLiteral("zero %1.mlp_out @%2").arg(stream_layer()).arg(at.value));
        add(QStringLiteral("Mean stream behind %1 at %2").arg(layers, named(at, false)),
            QStringLiteral("mean %1.resid_post @%2").arg(stream_layer()).arg(at.value), false, false);
    }

    void add_neuron(const analyze::NeuronId& neuron) {
        const QString name = QStringLiteral("L%1N%2").arg(neuron.layer.value).arg(neuron.neuron.value);
        const QString at = hit_.query ? QStringLiteral(" @%1").arg(hit_.query->value) : QString();
        add(QStringLiteral("Set neuron %1 to 0").arg(name), QStringLiteral("zero ") + stream_ + name);
        add(QStringLiteral("Hold neuron %1 at …").arg(name), QStringLiteral("clamp ") + stream_ + name + QStringLiteral(" 4"),
            true);
        add(QStringLiteral("Scale neuron %1 …").arg(name), QStringLiteral("scale ") + stream_ + name + QStringLiteral(" 2"), true,
            false);
        add_patch(QStringLiteral("Patch neuron %1").arg(name), stream_ + name, {}, false);
        if (stream_.isEmpty()) add_direction(QStringLiteral("what neuron %1 writes").arg(name), QStringLiteral("neuron ") + name);
        if (!at.isEmpty())
            add(QStringLiteral("Set it to 0 at %1 alone").arg(named(*hit_.query, false)),
                QStringLiteral("zero ") + stream_ + name + at, false, false);
    }

    void add_layer() {
        const std::int64_t l = head_.layer.value;
        add(QStringLiteral("Switch the MLP of layer %1 off").arg(l),
            QStringLiteral("zero ") + stream_layer() + QStringLiteral(".mlp_out"), false, choices_.empty());
        add(QStringLiteral("Switch the attention of layer %1 off").arg(l),
            QStringLiteral("zero ") + layer() + QStringLiteral(".attn_out"), false, choices_.size() < 2);
        add_patch(QStringLiteral("Patch the stream behind layer %1").arg(l), stream_layer() + QStringLiteral(".resid_post"), {},
                  false);
        add_patch(QStringLiteral("Patch the MLP of layer %1").arg(l), stream_layer() + QStringLiteral(".mlp_out"), {}, false);
        if (hit_.query && hit_.key && *hit_.query != *hit_.key && !trace_.across_texts())
            add_direction(QStringLiteral("%1 minus %2").arg(named(*hit_.query, false), named(*hit_.key, true)),
                          QStringLiteral("difference @%1 @%2").arg(hit_.query->value).arg(hit_.key->value));
        add_direction(QStringLiteral("the direction of a file"), QStringLiteral("FILE"));
    }

    /// What becomes of the site in the run of another text.
    void add_patch(const QString& text, const QString& where, const QString& at, bool main) {
        const QString from = model::reads_pictures(trace_.config()) ? QStringLiteral(" from the other picture …")
                                                                    : QStringLiteral(" from the other text …");
        add(text + from, QStringLiteral("patch ") + where + donor_ + at, true, main);
    }
    /// The stream behind the layer: half its length added, the direction taken out, its part along it set.
    void add_direction(const QString& what, const QString& source, const QString& at = {}, const QString& there = {},
                       bool main = false) {
        const QString where = QStringLiteral(" %1.resid_post %2").arg(stream_layer(), source);
        const auto put = [&](const QString& text, const QString& words, bool number, bool first) {
            add(text + (number ? QStringLiteral(" …") : QString()), words + at, number, first);
            choices_.back().of_file = source == QLatin1String("FILE");
        };
        put(QStringLiteral("Add %1").arg(what) + there, QStringLiteral("add") + where + QStringLiteral(" 0.5 norm"), true, main);
        put(QStringLiteral("Project %1 out").arg(what) + there, QStringLiteral("project") + where, source.contains(u'"'), false);
        put(QStringLiteral("Set along %1").arg(what) + there, QStringLiteral("direct") + where + QStringLiteral(" 4"), true,
            false);
    }
    QString token_text(Position at) const {
        const auto i = static_cast<std::size_t>(at.value);
        const auto& ids = trace_.encoding().ids;
        return i < ids.size() ? QString::fromStdString(trace_.tokenizer()->bytes_of(ids[i])) : QString();
    }

    const trace::Trace& trace_;
    const figure::Hit& hit_;
    const figure::Selection& s_;
    HeadId head_;
    QString stack_, stream_;  ///< of the attention, of MLPs and the stream: "encoder.", or empty
    QString donor_;           ///< " from …"
    std::vector<EditChoice> choices_;
};

}  // namespace

QString in_quotes(QString text) {
    text.replace(u'\\', QStringLiteral("\\\\")).replace(u'"', QStringLiteral("\\\""));
    return u'"' + text + u'"';
}

QString set_words(const Document& document, HeadId head, Position query, Position key) {
    return QStringLiteral("set %1%2 %3<-%4 ").arg(stack_word(document), figure::head_name(head)).arg(query.value).arg(key.value);
}

QString why_no_edits(const Document& document) {
    if (!document.trace()) return QStringLiteral("There is no text yet");
    if (!model::has_weights(*document.trace()->model())) return QStringLiteral("A saved trace has no model to run edits with");
    return {};
}

std::vector<EditChoice> edit_choices(const Document& document, const figure::Hit& hit) {
    if (!why_no_edits(document).isEmpty()) return {};
    if (model::has_implied_maps(document.trace()->config())) return {};  // marks are of weights that no softmax made
    return Choices(document, hit).all();
}

}  // namespace headlight::ui
