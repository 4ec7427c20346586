// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/heads/corpus_heads.h"
#include "ui/document/open_model.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <memory>

namespace headlight::ui {

/// The store whose measures and words the views of the text take beside their own: read in a job, and used while the model that
/// made it is open.
class CorpusInUse : public QObject {
    Q_OBJECT
public:
    explicit CorpusInUse(Jobs&);

    /// Reads the store, also when it is the same one: a run may have gone on. Empty: none.
    void look(const QString& folder, const OpenModel&);
    /// Null: none, or not yet, or of another model.
    const std::shared_ptr<const corpus::CorpusHeads>& found() const { return found_; }
    /// "ewt-dev"; empty: none was asked for.
    QString name() const;
    bool reading() const { return reading_; }
    /// Why the store that was asked for is not used; empty: it is, or it is being read.
    const QString& why_not() const { return why_not_; }

Q_SIGNALS:
    /// The store was read, or why_not() says why it is not used.
    void changed();

private:
    void set(std::shared_ptr<const corpus::CorpusHeads>, const QString& why_not);

    Jobs& jobs_;
    QString folder_, why_not_;
    std::shared_ptr<const corpus::CorpusHeads> found_;
    bool reading_ = false;
};

}  // namespace headlight::ui
