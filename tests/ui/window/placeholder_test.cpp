// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens that look like the placeholders of QString::arg() are words like others.
#include "tests/ui/window_fixture.h"

#include <QHelpEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QRegularExpression>
#include <QToolTip>

#include <set>

namespace headlight::ui {
namespace placeholder_test {

/// A copy of a small model in which an entry of the vocabulary is "%1".
void write_model(const QString& name, const QString& folder) {
    const QString from = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/") + name;
    for (const char* file : {"/config.json", "/model.safetensors"})
        ASSERT_TRUE(QFile::copy(from + QLatin1String(file), folder + QLatin1String(file)));
    QFile read(from + QStringLiteral("/tokenizer.json"));
    ASSERT_TRUE(read.open(QIODevice::ReadOnly));
    QJsonObject tokenizer = QJsonDocument::fromJson(read.readAll()).object();
    QJsonObject model = tokenizer[QStringLiteral("model")].toObject(), vocab = model[QStringLiteral("vocab")].toObject();
    QJsonArray merges = model[QStringLiteral("merges")].toArray(), added = tokenizer[QStringLiteral("added_tokens")].toArray();
    const QJsonValue last = vocab.take(QStringLiteral("Ġh"));  // the last merge
    ASSERT_TRUE(last.isDouble());
    merges.removeLast();
    vocab[QStringLiteral("%1")] = last;
    QJsonObject token = added.last().toObject();
    token[QStringLiteral("id")] = last;
    token[QStringLiteral("content")] = QStringLiteral("%1");
    token[QStringLiteral("special")] = false;
    added.append(token);
    model[QStringLiteral("vocab")] = vocab;
    model[QStringLiteral("merges")] = merges;
    tokenizer[QStringLiteral("model")] = model;
    tokenizer[QStringLiteral("added_tokens")] = added;
    ASSERT_TRUE(write_file(folder + QStringLiteral("/tokenizer.json"), QJsonDocument(tokenizer).toJson()));
}

/// Where a token took the place of a placeholder, the last placeholder is left over.
bool is_whole(const QString& text) {
    static const QRegularExpression left_over(QStringLiteral("%[2-9]"));
    return !text.contains(left_over);
}

TEST_F(WindowTest, TokensThatLookLikePlaceholdersAreWordsLikeOthers) {
    for (const char* name : {"gpt2", "mixtral"}) {
        QTemporaryDir folder;
        write_model(QLatin1String(name), folder.path());
        set_text(QStringLiteral("%1 a%1b %1"));
        window.open(folder.path());
        ASSERT_TRUE(wait_for([&] {
            return window.jobs().idle() && window.document().up_to_date() && window.document().model().reference == folder.path();
        }));
        const auto& tokens = window.document().trace()->encoding().tokens;
        ASSERT_GE(std::ranges::count(tokens, "%1"), 2) << "proves nothing";
        const auto at = Position(std::ranges::find(tokens, "%1") - tokens.begin());
        std::set<std::string> with_token;
        for (const figure::ViewSpec& spec : figure::view_specs()) {
            window.document().selection().pin_pair({Layer(1), Head(0)}, Position(at.value + 1), at);
            window.document().selection().pin_query(at, true);
            ASSERT_TRUE(show_view(spec.id)) << spec.id;
            if (!canvas().shown()) continue;
            EXPECT_TRUE(is_whole(canvas().shown()->title())) << canvas().shown()->title().toStdString();
            for (int y = 2; y < canvas().viewport()->height(); y += 5)
                for (int x = 2; x < canvas().viewport()->width(); x += 7) {
                    const auto hit =
                        canvas().shown()->hit_test(canvas().to_figure(QPointF(x, y)), canvas().style_in_use(), selected());
                    ASSERT_TRUE(is_whole(hit.tip)) << spec.id << ": " << hit.tip.toStdString();
                    if (hit.tip.contains(QStringLiteral("%1"))) with_token.insert(spec.id);
                }
        }
        for (const char* view : {"head", "matrix", "neuron", "lens", "mlp"})
            EXPECT_TRUE(with_token.contains(view)) << view << " shows no such token: proves nothing";
        TokenStrip& strip = window.prompt_bar().tokens();
        const QPoint place = strip.chip_rect(at).center();
        QHelpEvent help(QEvent::ToolTip, place, strip.viewport()->mapToGlobal(place));
        QApplication::sendEvent(strip.viewport(), &help);
        EXPECT_TRUE(QToolTip::text().contains(QStringLiteral("%1"))) << QToolTip::text().toStdString();
        EXPECT_TRUE(is_whole(QToolTip::text())) << QToolTip::text().toStdString();
        for (const QLabel* label : window.findChildren<QLabel*>())
            EXPECT_TRUE(is_whole(label->text())) << label->text().toStdString();
    }
}

}  // namespace placeholder_test
}  // namespace headlight::ui
