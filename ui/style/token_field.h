// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/token_candidates.h"

#include <QLabel>
#include <QLineEdit>

class QCompleter;
class QStandardItemModel;

namespace headlight::ui {

/// A field for a token, or for several with | between them: offers the likeliest ones with their probabilities, and says at once
/// which token a text is, what it is with or without a space before it, and which tokens a longer text has. A middle dot at the
/// beginning is a space, as figures write it. A target may be "next", the token that the text has there.
class TokenField : public QWidget {
    Q_OBJECT
public:
    enum class Holds { one, several, target };
    TokenField(const TokenCandidates&, const QString& value, Holds = Holds::one, QWidget* parent = nullptr);
    QLineEdit& line() { return *line_; }
    QLabel& note() { return *note_; }

Q_SIGNALS:
    /// Empty, or what names one token.
    void chosen(const QString& token);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void offer();
    void read();
    void commit();

    TokenReading reading(const QString& typed) const;
    QStringList parts() const;

    const TokenCandidates& candidates_;
    Holds holds_;
    QLineEdit* line_;
    QLabel* note_;
    QCompleter* completer_;
    QStandardItemModel* offered_;
    QString committed_;
};

}  // namespace headlight::ui
